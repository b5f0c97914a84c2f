package observe

import (
	"fmt"
	"os"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
)

// This machine is sampled once a second from the start of the load, even if intervals are shorter. The record can be
// read back.
func TestThisMachineIsWatched(t *testing.T) {
	source, err := NewHost()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/"+record.RunFile, []byte(`{"schema": 2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w := NewWatcher([]Source{source}, time.Now)
	if err := w.Start(record.OS{}, dir); err != nil {
		t.Fatal(err)
	}
	const tenth = int64(100 * time.Millisecond)
	seen := func() uint64 {
		s := w.watched[0]
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.samples
	}
	waitFor := func(n uint64) {
		for end := time.Now().Add(5 * time.Minute); seen() < n; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d samples, want %d", seen(), n)
			}
		}
	}
	waitFor(1)
	for n := range int64(30) {
		iv := &measure.Interval{Index: int(n), Phase: "load",
			Account: measure.Account{StartNs: n * tenth, EndNs: (n + 1) * tenth}}
		if err := w.Interval(iv); err != nil {
			t.Fatal(err)
		}
		if (n+1)%10 == 0 {
			waitFor(uint64(n+1)/10 + 1)
		}
	}
	all, warnings := w.Finish()
	if len(warnings) > 0 || len(all) != 1 || all[0].Source != record.WatchedHost || all[0].Samples != 4 {
		t.Fatalf("%+v, %v", all, warnings)
	}
	if m := all[0].Metric("memory_total_bytes"); m.Unit != Bytes || m.Min < 1<<24 || m.Trend != nil {
		t.Errorf("memory: %+v", m)
	}
	if m := all[0].Metric("cores"); m.Min < 1 {
		t.Errorf("cores: %+v", m)
	}
	r := recordtest.Open(t, dir)
	var times []int64
	err = r.WatchedSamples(func(source string) bool { return source == record.WatchedHost },
		func(source string, s *record.WatchedSample) error {
			times = append(times, s.TNs/tenth)
			if s.Values["cpu_idle_seconds"]+s.Values["cpu_busy_seconds"]+s.Values["cpu_nice_seconds"] == 0 ||
				source != record.WatchedHost {
				t.Errorf("%s: %+v", source, s)
			}
			return nil
		})
	if err != nil || fmt.Sprint(times) != "[0 10 20 30]" {
		t.Errorf("samples at %v, %v", times, err)
	}
	if err := r.WatchedSamples(func(string) bool { return false },
		func(string, *record.WatchedSample) error { return fmt.Errorf("unwanted") }); err != nil {
		t.Error(err)
	}
}
