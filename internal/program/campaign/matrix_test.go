package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each address that a matrix is given is one of its campaign's.
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
