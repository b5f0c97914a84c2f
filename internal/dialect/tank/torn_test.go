package tank

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A packed list that ends in the middle isn't sent in part.
func TestPackedListThatEndsInTheMiddle(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(strings.Repeat("/a/b/c tag\n", 1000)))
	_ = z.Close()
	path := filepath.Join(t.TempDir(), "ammo.gz")
	if err := os.WriteFile(path, b.Bytes()[:b.Len()/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readFile(path); err == nil || !strings.HasSuffix(err.Error(), "unexpected EOF") {
		t.Errorf("%v", err)
	}
}

func TestStpdThatEndsInTheMiddle(t *testing.T) {
	const whole = "6 0 tag\nGET /a\n6 100 tag\nGET /b\n"
	if _, at, err := stpd("f", []byte(whole)); err != nil || len(at) != 2 {
		t.Errorf("%d times, %v", len(at), err)
	}
	for text, want := range map[string]string{
		whole[:len(whole)-4]: "f:3:1: the list ends in the middle: 3 bytes follow instead of 6",
		whole[:16]:           `f:3:1: "6" isn't size, time in ms and tag`,
	} {
		if _, _, err := stpd("f", []byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
