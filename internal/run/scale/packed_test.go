package scale

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// second returns interval number i of a worker.
func second(i int) *measure.Interval {
	iv := &measure.Interval{Index: i, Phase: "hold", Kind: measure.KindOpen, Account: measure.Account{
		StartNs: int64(i) * 1e9, EndNs: int64(i+1) * 1e9, Operations: make([]measure.OperationAccount, 1),
		OwnLag: measure.NewHistogram()}}
	iv.OwnLag.RecordN(int64(i+1)*1000, 50)
	iv.Settle()
	return iv
}

// read is a line as the live view receives it.
type read struct {
	line, packed string
}

// readAll returns what the live view receives from a worker.
func readAll(t *testing.T, c *Coordinator, m *member) (all []read) {
	t.Helper()
	err := (view{c}).intervals(m)(func(line, packed []byte) error {
		all = append(all, read{string(line), string(packed)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// held fails unless the counted bytes are those that wait, and at most most.
func held(t testing.TB, c *Coordinator, most int) {
	t.Helper()
	sum := 0
	for _, m := range c.members {
		for i, p := range m.inbox.packed {
			sum += p.data.Len()
			if i > 0 && m.inbox.packed[i-1].line >= p.line {
				t.Errorf("line %d waits after line %d", p.line, m.inbox.packed[i-1].line)
			}
		}
	}
	if int64(sum) != c.packedB.Load() || sum > most {
		t.Errorf("%d bytes wait, counted %d, allowed %d", sum, c.packedB.Load(), most)
	}
}

// The live view receives packed histograms with the lines of the intervals for which a worker has sent them. A line
// that the coordinator receives after the worker has dropped them comes without, and so does a line that combines
// several intervals.
func TestIntervalsComePacked(t *testing.T) {
	c, ticket := coordinator(t, "run", 1, time.Minute)
	w, _ := connected(t, c, ticket)
	bundle, err := record.CreateIn(record.OS{}, t.TempDir(), record.Options{SyncEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bundle.Abandon)
	w.lines = tail{path: filepath.Join(bundle.Dir, record.IntervalsFile)}
	w.talk.state = Running
	if err := os.MkdirAll(c.folder(0), 0o755); err != nil {
		t.Fatal(err)
	}
	var want []string
	told := func(iv, said *measure.Interval, packed bool) {
		if err := bundle.Interval(iv); err != nil {
			t.Fatal(err)
		}
		if err := w.Interval(said); err != nil {
			t.Fatal(err)
		}
		text := ""
		if packed {
			text = string(new(record.Packer).AppendPacked(nil, iv))
		}
		want = append(want, text)
	}
	for i := range mostPacks + 2 { // the coordinator can't be reached
		told(second(i), second(i), i >= 2)
	}
	if len(w.packs.all) != mostPacks {
		t.Errorf("%d intervals are kept, want %d", len(w.packs.all), mostPacks)
	}
	if !w.report() {
		t.Fatal("the coordinator doesn't answer")
	}
	if len(w.packs.all) != 0 {
		t.Errorf("%d intervals are kept, but the coordinator has them", len(w.packs.all))
	}
	told(second(6), second(6), true)
	both := second(7)
	both.Intervals, both.EndNs = 2, both.EndNs+1e9
	told(both, second(7), false)
	told(second(9), second(9), true)
	if !w.report() {
		t.Fatal("the coordinator doesn't answer")
	}
	held(t, c, mostPacked)
	if _, err := w.reportAs(t, Ended, 0, ""); err != nil {
		t.Fatal(err)
	}
	got := readAll(t, c, c.members[0])
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].packed != want[i] {
			t.Errorf("line %d has %d packed bytes, want %d", i, len(got[i].packed), len(want[i]))
		}
	}
	held(t, c, 0)
}

// The packed histograms that wait are bounded, for any number that workers send and any time for which the live view
// doesn't read. No line is lost.
func TestPackedHistogramsThatWaitAreBounded(t *testing.T) {
	c, ticket := coordinator(t, "run", 1, time.Minute)
	w, _ := connected(t, c, ticket)
	if err := os.MkdirAll(c.folder(0), 0o755); err != nil {
		t.Fatal(err)
	}
	large := make([]byte, mostPacked/5)
	const lines = 12
	for i := range lines {
		var a Answer
		err := w.post(t.Context(), 0, "report", &Report{Run: "run", Process: w.hello.Process, State: Running, From: i,
			Lines: fmt.Appendf(nil, "%d\n", i), Packed: appendPacked(nil, 0, large)}, &a)
		if err != nil || a.Have != i+1 {
			t.Fatalf("the coordinator has %d lines after %d (%v)", a.Have, i+1, err)
		}
		held(t, c, mostPacked)
	}
	if _, err := w.reportAs(t, Ended, 0, ""); err != nil {
		t.Fatal(err)
	}
	packed := 0
	all := readAll(t, c, c.members[0])
	for _, r := range all {
		if len(r.packed) > 0 {
			packed++
		}
	}
	if len(all) != lines || packed != 5 {
		t.Errorf("%d lines, %d of them packed; want %d, 5", len(all), packed, lines)
	}
	held(t, c, 0)
}

// Invalid packed histograms in a report are ignored.
func TestPackedHistogramsOfNoLine(t *testing.T) {
	two := appendPacked(appendPacked(nil, 0, []byte("a")), 2, []byte("bc"))
	for _, row := range []struct {
		name   string
		packed []byte
		want   string
	}{
		{"whole", two, "0a 2bc "},
		{"none", nil, ""},
		{"cut off", two[:len(two)-1], "0a "},
		{"a line after the last", appendPacked(two, 3, nil), "0a 2bc "},
		{"a line twice", appendPacked(two, 2, []byte("d")), "0a 2bc "},
		{"no length", append(bytes.Clone(two), 2), "0a 2bc "},
		{"endless numbers", bytes.Repeat([]byte{0xff}, 40), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := ""
			eachPacked(row.packed, 3, func(i int, data []byte) { got += fmt.Sprintf("%d%s ", i, data) })
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
