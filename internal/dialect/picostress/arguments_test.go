package picostress

import (
	"slices"
	"strings"
	"testing"
)

// Flags of Picostress become variables of k6's scripts; its own commands are not for k6.
func TestToK6(t *testing.T) {
	for name, row := range map[string]struct{ args, want string }{
		"a command":     {"rate plan.yml --rate 5", ""},
		"no command":    {"--help", ""},
		"nothing":       {"", ""},
		"k6's own":      {"run script.js -u 5", "run script.js -u 5"},
		"a flag":        {"run script.js --proto pg --vus 5", "run script.js -e proto=pg --vus 5"},
		"joined":        {"run --addr=h:1 script.js", "run -e addr=h:1 script.js"},
		"a switch":      {"run --no-setup script.js", "run -e no_setup=true script.js"},
		"without value": {"run script.js --seed", "run script.js -e seed="},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := ToK6(strings.Fields(row.args))
			if ok != (row.want != "") {
				t.Fatalf("for k6: %t", ok)
			}
			if !slices.Equal(got, strings.Fields(row.want)) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
