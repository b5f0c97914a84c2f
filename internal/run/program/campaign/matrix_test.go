package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/judge/verdict"
	"brunt/internal/render/units"
	"brunt/internal/run/program"
)

// Each address of a matrix is one address of its campaign.
func TestMatrixKeepsAddressesApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.yml")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f := &Matrix{Reconfigure: "true", Addresses: []string{"127.0.0.1:1", "127.0.0.1:2"}}
	text, err := f.Text(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := `addresses: ["127.0.0.1:1", "127.0.0.1:2"]`; !strings.Contains(string(text), want) {
		t.Errorf("got\n%s\nwant %s in it", text, want)
	}
}

// A matrix asks the server that is named, and no password comes into its file.
func TestMatrixInspects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.yml")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for server, want := range map[string]string{"auto": `inspect: "auto"`, "pg=${DSN}": `inspect: "pg=${DSN}"`,
		"pg=postgres://me:s3cretword@h/d": ""} {
		m := &Matrix{Reconfigure: "true", Inspect: server}
		text, err := m.Text(path)
		if want == "" {
			if err == nil || strings.Contains(err.Error(), "s3cretword") || !strings.Contains(err.Error(), "${NAME}") {
				t.Errorf("%s: %v", server, err)
			}
			continue
		}
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("got\n%s, %v\nwant %s in it", text, err, want)
		}
	}
}

// Settings smaller than the best ones are advised if the difference may be due to chance.
func TestSmallerSettingsThatMayBeAsGood(t *testing.T) {
	cellOf := func(pool string, differs bool) program.CellLog {
		return program.CellLog{Settings: program.Cell{{Name: "POOL", Value: pool}}, Differs: differs,
			Values: []program.Value{1, 2}, Verdicts: []string{verdict.Pass, verdict.Pass}}
	}
	for _, c := range []struct {
		name  string
		cells []program.CellLog
		want  string
	}{
		{"one may be", []program.CellLog{cellOf("9", false), cellOf("12", false), cellOf("6", false), cellOf("3", true)},
			"Best: POOL=9. Smaller ones that can't be told apart from it: POOL=6."},
		{"none is", []program.CellLog{cellOf("9", false), cellOf("12", false), cellOf("3", true)},
			"Best, and none smaller is as good: POOL=9."},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Result{Matrix: &program.MatrixLog{Cells: c.cells}}
			if got := r.Sentence(units.English); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
