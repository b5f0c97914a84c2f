package loadtest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/record"
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
	beyond := slices.Concat(l.Process.Beyond, l.outside(), l.Beyond)
	if bytes.Contains(text, []byte(secret.Hidden)) {
		beyond = append(beyond, "values shown as "+secret.Hidden+": secrets are not written; brunt run says how to give them")
	}
	for i, b := range beyond {
		if i == 0 {
			out.WriteString("# Not in this plan:\n")
		}
		fmt.Fprintf(&out, "# - %s\n", secret.Text(oneLine(b)))
	}
	if l.unlimited() {
		out.WriteString("# Times of a day and more stand for no limit.\n")
	}
	out.Write(text)
	_, err = w.Write(out.Bytes())
	return err
}

// unlimited reports whether the plan has times that a tool doesn't limit.
func (l *Test) unlimited() bool {
	const day = 24 * time.Hour
	endless := func(ph plan.Phase) bool { return ph.Duration >= 365*day }
	return l.Plan.Settings.OperationTimeout >= day || slices.ContainsFunc(l.Plan.Load, endless)
}

// outside returns what the command asks for that concerns a run and not its load, and that Process.Beyond doesn't have.
// Commands whose flags another tool's parser reads know of no flags that were given.
func (l *Test) outside() (lines []string) {
	add := func(name string, values ...string) {
		for _, value := range values {
			line := "--" + name + "=" + value + ": a flag of the run, not of the load"
			listed := func(b string) bool { return strings.HasPrefix(b, "--"+name+"=") }
			if value != "" && !slices.ContainsFunc(l.Process.Beyond, listed) {
				lines = append(lines, line)
			}
		}
	}
	r, v := &l.Record, &l.Live
	if r.Root != record.DefaultRoot {
		add("results", r.Root)
	}
	add("bundle", r.Dir)
	if r.None {
		add("no-record", "true")
	}
	add("hlog", r.HDRLog)
	add("cpu-profile", r.Profile)
	add("upload", r.Upload)
	if n := l.Workers.Number; n > 0 {
		add("workers", strconv.Itoa(n))
	}
	add("metrics-addr", v.MetricsAddr)
	add("export", v.Destinations...)
	add("watch", v.Watched...)
	add("inspect", v.Inspected...)
	add("ui", v.Page)
	if l.Options.Wait > 0 {
		add("wait", l.Options.Wait.String())
	}
	if l.Options.StartDown {
		lines = append(lines, "the start of a load while its service is down: brunt run needs an answer before it")
	}
	return lines
}

// oneLine returns a text as the rest of a comment.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
