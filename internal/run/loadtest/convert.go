package loadtest

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/plan/planfile"
	"brunt/internal/render/units"
)

// writePlan prints the plan of the load instead of sending it. A comment says where the plan comes from and what of the
// command isn't in it.
func (l *Test) writePlan(w io.Writer) error {
	text, err := planfile.Write(l.Plan)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# The load of: %s\n", secret.Text(units.CommandLine(l.Process.Command)))
	beyond := append(l.Process.Beyond, l.Beyond...)
	if bytes.Contains(text, []byte(secret.Hidden)) {
		beyond = append(beyond, "values shown as "+secret.Hidden+": secrets are not written; brunt run says how to give them")
	}
	for i, b := range beyond {
		if i == 0 {
			out.WriteString("# Not in this plan:\n")
		}
		fmt.Fprintf(&out, "# - %s\n", secret.Text(oneLine(b)))
	}
	out.Write(text)
	_, err = w.Write(out.Bytes())
	return err
}

// oneLine returns a text as the rest of a comment.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
