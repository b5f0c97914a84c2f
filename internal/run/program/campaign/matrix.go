package campaign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/secret"
)

// Matrix is a comparison of settings, as given on the command line.
type Matrix struct {
	Set         []string // settings, of which all combinations are tried: NAME=VALUE,VALUE…
	Cells       []string // or the combinations: NAME=VALUE,NAME=VALUE…
	Addresses   []string // instead of the plan's
	Run         string   // command that runs permanently, and is restarted for other settings
	Reconfigure string   // or: command that applies them and returns
	Ready       string   // URL that answers when the service is ready
	Within      time.Duration
	WarmUp      time.Duration
	Duration    time.Duration
	At          float64 // factor on the plan's rates
	Tolerance   float64 // how much worse than the best still counts as equal, as a share
	Repetitions int
	By          string // the figure to compare by
	// Inspect is the server that is asked what it did: KIND=URL, in which ${NAME} is a variable of the environment, or
	// auto; "" for none.
	Inspect string
}

// Text returns the file of a campaign with one step for a plan: a matrix is executed, stored and resumed as a campaign.
// Errors are about the flags.
func (m *Matrix) Text(plan string) ([]byte, error) {
	q := strconv.Quote
	if (m.Run == "") == (m.Reconfigure == "") {
		return nil, errors.New("say how settings are applied: --reconfigure COMMAND, or --run COMMAND")
	}
	if _, err := os.Stat(plan); err != nil {
		return nil, fmt.Errorf("plan: %w; check the path", err)
	}
	name := strings.TrimSuffix(filepath.Base(plan), filepath.Ext(plan))
	var b strings.Builder
	fmt.Fprintf(&b, "campaign: %s\nplan: %s\n", q(name+"-matrix"), q(filepath.Base(plan)))
	if len(m.Addresses) > 0 {
		var quoted []string
		for _, address := range m.Addresses {
			quoted = append(quoted, q(address))
		}
		fmt.Fprintf(&b, "addresses: [%s]\n", strings.Join(quoted, ", "))
	}
	if m.Inspect != "" {
		if secret.Text(m.Inspect) != m.Inspect {
			return nil, errors.New("--inspect: the campaign's file would have the password; put the URL into a variable of " +
				"the environment, and write --inspect '${NAME}'")
		}
		fmt.Fprintf(&b, "inspect: %s\n", q(m.Inspect))
	}
	how, command := "reconfigure", m.Reconfigure
	if m.Run != "" {
		how, command = "run", m.Run
	}
	fmt.Fprintf(&b, "service:\n  %s: %s\n  within: %s\n", how, q(command), m.Within)
	if m.Ready != "" {
		fmt.Fprintf(&b, "  ready: [{url: %s}]\n", q(m.Ready))
	}
	fmt.Fprintf(
		&b, "steps:\n  - matrix:\n      at: %g\n      warm_up: %s\n      duration: %s\n      repetitions: %d\n      tolerance: %g\n      by: %s\n",
		m.At, m.WarmUp, m.Duration, m.Repetitions, m.Tolerance, q(m.By))
	for i, one := range m.Set {
		name, values, ok := strings.Cut(one, "=")
		if !ok || name == "" || values == "" {
			return nil, fmt.Errorf("--set %s: write NAME=VALUE,VALUE…", one)
		}
		if i == 0 {
			b.WriteString("      grid:\n")
		}
		var quoted []string
		for v := range strings.SplitSeq(values, ",") {
			quoted = append(quoted, q(v))
		}
		fmt.Fprintf(&b, "        %s: [%s]\n", q(name), strings.Join(quoted, ", "))
	}
	for i, one := range m.Cells {
		if i == 0 {
			b.WriteString("      cells:\n")
		}
		var quoted []string
		for pair := range strings.SplitSeq(one, ",") {
			name, value, ok := strings.Cut(pair, "=")
			if !ok || name == "" {
				return nil, fmt.Errorf("--cell %s: write NAME=VALUE,NAME=VALUE…", one)
			}
			quoted = append(quoted, q(name)+": "+q(value))
		}
		fmt.Fprintf(&b, "        - {%s}\n", strings.Join(quoted, ", "))
	}
	return []byte(b.String()), nil
}
