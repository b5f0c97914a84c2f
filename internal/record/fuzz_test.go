package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"brunt/internal/measure"
)

// FuzzReader reads arbitrary bytes as a bundle. The reader must return an error or a run with consistent figures, and
// never panic.
func FuzzReader(f *testing.F) {
	iv := intervalsOf(samples(20), everything)[1]
	iv.Standstills = []measure.Standstill{still(800, 1250), still(1300, 1500)}
	line, err := new(lineEncoder).encode(iv)
	if err != nil {
		f.Fatal(err)
	}
	start := []byte(
		`{"schema":1,"operations":[{"name":"a"},{"name":"b"}],"targets":[{"address":"x"},{"address":"y"}],"phases":[{"name":"hold"}]}`)
	f.Add(start, line)
	f.Add(start, append(append([]byte(nil), line...), line[:40]...))
	f.Add(start, []byte("{}\n{}\n"))
	f.Add([]byte(`{"schema":2}`), []byte{})
	f.Add(start, []byte(`{"operations":[{"op":-1}]}`+"\n"))
	f.Add(start, bytes.Replace(line, []byte(`"end_ns":`), []byte(`"end_ns":9999`), 1))
	f.Fuzz(func(t *testing.T, run, intervals []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{RunFile: run, IntervalsFile: intervals, ErrorsFile: intervals} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Open(OS{}, dir)
		if err != nil || len(r.Run.Operations) > 1000 || len(r.Run.Targets) > 1000 {
			return
		}
		out, _, err := r.Rebuild()
		if err != nil {
			return
		}
		if l := out.Total.Response; l.Count > 0 && (l.MinNs > l.P50Ns || l.P50Ns > l.P99Ns || l.P99Ns > l.MaxNs) {
			t.Errorf("quantiles out of order: %+v", l)
		}
		if s := out.Standstill; s.TotalNs < 0 || s.LongestNs < 0 || s.LongestNs > 0 != (s.Count > 0) {
			t.Errorf("standstill %+v", s)
		}
		if out.DurationNs < 0 {
			t.Errorf("duration %d", out.DurationNs)
		}
	})
}
