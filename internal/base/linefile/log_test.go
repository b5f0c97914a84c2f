package linefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a full disk doesn't take waits in order, and nothing of a line is in the file twice or in part.
func TestLogSurvivesAFullDisk(t *testing.T) {
	for name, room := range map[string]int{"in the middle of a line": 9, "between lines": 6, "from the beginning": 0} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x")
			file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			disk := &full{file, room}
			log := NewLog(disk, 24)
			for _, line := range []string{"first\n", "second\n", "third\n"} {
				if !log.Room(len(line)) {
					t.Fatalf("no room for %q with %d bytes waiting", line, log.Waiting())
				}
				log.Add([]byte(line))
				if err := log.Flush(); err != nil && !errors.Is(err, errFull) {
					t.Fatal(err)
				}
			}
			if log.Waiting() == 0 {
				t.Error("nothing waits although the disk was full")
			}
			if log.Room(24) {
				t.Error("as much as the bound may wait in addition to what waits")
			}
			disk.room = 100
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			if data, err := os.ReadFile(path); err != nil || string(data) != "first\nsecond\nthird\n" {
				t.Errorf("%v: %q", err, data)
			}
		})
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	for name, row := range map[string]struct {
		text string
		want []string
		err  error
	}{
		"whole":         {"a\n\nb\n", []string{"a", "", "b"}, io.EOF},
		"torn":          {"a\nb", []string{"a"}, io.EOF},
		"empty":         {"", nil, io.EOF},
		"long":          {long + "\n", []string{long}, io.EOF},
		"longer than a": {"a\n" + long + long + "\n", []string{"a"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(strings.NewReader(row.text), 1<<17)
			for _, want := range row.want {
				line, err := r.Next()
				if err != nil || string(line) != want {
					t.Fatalf("%v: a line of %d bytes, want %d", err, len(line), len(want))
				}
			}
			if atEnd := !strings.Contains(strings.TrimPrefix(row.text, strings.Join(row.want, "\n")+"\n"), "b") &&
				row.err != nil; row.want != nil && r.AtEnd() != atEnd {
				t.Errorf("at the end: %v", r.AtEnd())
			}
			if _, err := r.Next(); err == nil || row.err != nil && err != row.err {
				t.Errorf("the end is %v, want %v", err, row.err)
			}
		})
	}
}
