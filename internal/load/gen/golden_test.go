package gen

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// goldenFile fixes the streams, because plans generate the same data in all versions. GOLDEN=write in the environment
// writes it again, for a change that breaks this on purpose.
const goldenFile = "testdata/values.golden"

// TestGoldenValues compares the first values of each type and distribution with seed 42 with the file. Doubles are
// rounded to 12 digits, on which all processors agree.
func TestGoldenValues(t *testing.T) {
	var b strings.Builder
	for _, spec := range everySpec() {
		name := string(spec.Type) + " " + string(spec.Distribution)
		if spec.Unique {
			name += "unique"
		}
		g := newGenerator(t, spec, 2)
		for i := uint64(0); i < 5; i++ {
			var v Value
			g.Value(&v, i)
			text := string(v.AppendText(nil))
			if v.Kind == Float {
				text = strconv.FormatFloat(v.F, 'g', 12, 64)
			}
			b.WriteString(name + " " + strconv.FormatUint(i, 10) + " " + strconv.Quote(text) + "\n")
		}
	}
	if os.Getenv("GOLDEN") == "write" {
		if err := os.WriteFile(goldenFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	got, pinned := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	if len(got) != len(pinned) {
		t.Fatalf("%d lines, pinned are %d", len(got), len(pinned))
	}
	for i := range got {
		if got[i] != pinned[i] {
			t.Errorf("line %d is %s, pinned is %s", i+1, got[i], pinned[i])
		}
	}
}
