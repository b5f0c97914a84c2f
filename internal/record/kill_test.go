package record

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"brunt/internal/measure"
)

const victimFolder = "BRUNT_TEST_VICTIM"

// TestVictim is the process that TestKilledProcess kills. It records until it is killed. When run by itself, it does
// nothing.
func TestVictim(t *testing.T) {
	dir := os.Getenv(victimFolder)
	if dir == "" {
		return
	}
	b, err := CreateIn(OS{}, dir, Options{SyncEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(nil, startedRun()); err != nil {
		t.Fatal(err)
	}
	iv := intervalsOf(samples(100), everything)[1]
	for k := range 100_000 {
		iv.Index, iv.StartNs, iv.EndNs = k, int64(k)*1e9, int64(k+1)*1e9
		if err := b.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKilledProcess(t *testing.T) {
	dir := t.TempDir()
	victim := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	victim.Env = append(os.Environ(), victimFolder+"="+dir)
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer victim.Wait()
	defer victim.Process.Kill()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		data, _ := os.ReadFile(filepath.Join(dir, IntervalsFile))
		if bytes.Count(data, []byte("\n")) >= 10 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the process wrote no ten intervals in five minutes")
		}
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()
	r, err := Open(OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	intervals := 0
	if err := r.Intervals(func(*measure.Interval) error { intervals++; return nil }); err != nil {
		t.Fatal(err)
	}
	run, _, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	if run.Complete || intervals < 10 || run.Total.Done != uint64(intervals)*100 {
		t.Errorf("complete %v, %d intervals, %d done", run.Complete, intervals, run.Total.Done)
	}
}
