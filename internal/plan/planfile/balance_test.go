package planfile

import (
	"regexp"
	"strings"
	"testing"

	"brunt/internal/plan"
)

// A setting that is only a word is written as this word, and as a mapping as soon as it has more.
func TestWordOrMapping(t *testing.T) {
	const head, tail = "config_name: x\ntarget:\n  protocol: picodata\n  addresses: [\"h:1\"]\n", `
queries: [{name: a, sql: SELECT $1, params: [{name: id, type: Integer, range: [1, 9]}]}]
load: [{constant: {rate: 1, duration: 1s}}]
`
	for _, c := range []struct{ name, text, written string }{
		{"balance, a word", "  balance: least-outstanding", "balance: least-outstanding"},
		{"balance, a mapping of a word", "  balance: {mode: nearest}", "balance: nearest"},
		{"balance, a mapping", "  balance: {mode: nearest, window: 2ms}", `balance: mode: nearest window: "2ms"`},
		{"topology, a word", "  topology: dns", "topology: dns"},
		{"topology, a mapping of a word", "  topology: {source: dns}", "topology: dns"},
		{"topology, a mapping", "  topology: {source: dns, every: 2s}", `topology: source: dns every: "2s"`},
		{"map, a word", "  balance: {mode: bucket, by: [id], buckets: 9, hash_function: murmur3, map: picodata}", "map: picodata"},
		{"map, a mapping of a word", "  balance: {mode: bucket, by: [id], buckets: 9, hash_function: murmur3, map: {source: picodata}}",
			"map: picodata"},
		{"map, a mapping", "  balance: {mode: bucket, by: [id], buckets: 9, hash_function: murmur3, map: {source: picodata, tier: hot}}",
			"map: source: picodata tier: hot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Read("x.yml", []byte(head+c.text+tail))
			if err != nil {
				t.Fatal(err)
			}
			out, err := Write(p)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(strings.Fields(string(out)), " "), c.written+" ") {
				t.Fatalf("written without %q:\n%s", c.written, out)
			}
			again, err := Read("x.yml", out)
			if err != nil {
				t.Fatal(err)
			}
			if b := again.Target.Balance; strings.Contains(c.text, "balance") && (b.At == plan.Position{}) {
				t.Error("the position of balance is unknown")
			}
		})
	}
}

// Problems in such a setting have the line of its key, in both forms.
func TestWordOrMappingNamesTheLine(t *testing.T) {
	for name, text := range map[string]string{
		"a word":    "  topology: zookeeper\n",
		"a mapping": "  topology: {source: zookeeper}\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read("x.yml", []byte("config_name: x\ntarget:\n  protocol: postgres\n"+text))
			if err == nil || !regexp.MustCompile(`x\.yml:4:\d+: .*zookeeper`).MatchString(err.Error()) {
				t.Errorf("error %v", err)
			}
		})
	}
}
