package record

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"brunt/internal/base/linefile"
	"brunt/internal/measure"
)

// plain is the file system without reading at an offset.
type plain struct{ OS }

func (plain) Open(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	return struct{ io.ReadCloser }{f}, err
}

// Parts that share a buffer and read one line at a time get the lines of their files.
func TestPartsReadTheirLines(t *testing.T) {
	long := strings.Repeat("x", 3*leastLine)
	for name, text := range map[string]string{
		"none":                  "",
		"one":                   "a\n",
		"not whole":             "a\nb",
		"nothing whole":         long,
		"empty lines":           "\n\na\n\n",
		"longer and longer":     "a\n" + long + "\n" + long + long + "\nb\n",
		"end at the least read": long[:leastLine-1] + "\n" + long[:leastLine] + "\nb\n",
	} {
		path := filepath.Join(t.TempDir(), IntervalsFile)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var want []string
		for in := linefile.NewReader(strings.NewReader(text), maxLineBytes); ; {
			line, err := in.Next()
			if err != nil {
				break
			}
			want = append(want, string(line))
		}
		for kind, fsys := range map[string]FS{"at any place": OS{}, "in order only": plain{}} {
			t.Run(name+", "+kind, func(t *testing.T) {
				r := &Recorded{Dir: filepath.Dir(path), fsys: fsys}
				var got []string
				buffer := []byte("of another part")
				err := r.intervalLines(&buffer, func(line []byte) error {
					got = append(got, string(line))
					clear(buffer[:cap(buffer)]) // another part may use the buffer
					return nil
				})
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%v: %d lines, want %d", err, len(got), len(want))
				}
			})
		}
	}
}

// For any number of intervals, joining holds one interval of each part in memory, even if one part has only the first
// and the last interval.
func TestTogetherHoldsOneIntervalOfEachPart(t *testing.T) {
	const count, intervals = 40, 30
	lines := workersLines(1, intervals)
	var list []*Recorded
	for k := range count {
		dir, mine := filepath.Join(t.TempDir(), strconv.Itoa(k)), lines
		if k == 0 {
			mine = [][]byte{lines[0], lines[intervals-1]}
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, IntervalsFile), bytes.Join(mine, nil), 0o644); err != nil {
			t.Fatal(err)
		}
		list = append(list, &Recorded{Dir: dir, Run: workersRun(), fsys: OS{}})
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, begin, n := heap(), int64(0), 0
	err := Together(workersRun(), list, func(iv *measure.Interval) error {
		switch n++; n {
		case 2:
			begin = heap()
		case intervals - 1:
			end := heap()
			if each := (end - before) / count; each > 3*int64(len(lines[0])) {
				t.Errorf("%d bytes are held of each part, whose lines have %d", each, len(lines[0]))
			}
			if end-begin > int64(len(lines[0])*count/2) {
				t.Errorf("%d bytes are held after %d intervals, %d after 2", end-before, n, begin-before)
			}
		}
		return nil
	})
	if err != nil || n != intervals {
		t.Errorf("%v: %d intervals, want %d", err, n, intervals)
	}
}

// Data that a merge doesn't need from its parts doesn't affect it.
func TestMergeNeedsNoDistributionsOfParts(t *testing.T) {
	all := samples(500)
	var dirs []string
	for k := range 2 {
		dirs = append(dirs, write(t, OS{}, intervalsOf(all, func(i int) bool { return i%2 == k }), true))
	}
	with, without := parts(openAll(t, dirs...)), parts(openAll(t, dirs...))
	for _, p := range without {
		p.Run.DropDistributions()
		if text, err := json.Marshal(p.Run); err != nil || strings.Contains(string(text), `"hdr"`) {
			t.Errorf("%v: distributions are left in %s", err, text)
		}
	}
	want, _, err := Merge(with...)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := Merge(without...)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
