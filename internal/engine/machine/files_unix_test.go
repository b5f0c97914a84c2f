//go:build unix

package machine

import (
	"os"
	"testing"
)

func TestAnOpenFileIsCounted(t *testing.T) {
	before, most := Files()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if after, _ := Files(); before == 0 || after <= before-1 {
		t.Errorf("%d files were open, and with one more %d", before, after)
	}
	if most < before {
		t.Errorf("%d files are open, and at most %d may be", before, most)
	}
}
