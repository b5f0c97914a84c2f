package program

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/base/linefile"
)

// openTest opens a journal, which is closed at the end of the test.
func openTest(t *testing.T, dir string) *Journal {
	t.Helper()
	j, err := OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() }) // usually the test has closed it already
	return j
}

func TestAProgramIsResumed(t *testing.T) {
	dir := t.TempDir()
	h := Header{Kind: "repeat", Name: "orders", Hash: Hash([]byte("text")), Files: map[string]string{"plan.yml": "1"}}
	j := openTest(t, dir)
	if err := j.Resume(h); err == nil || !strings.Contains(err.Error(), "holds no repeat to resume") {
		t.Errorf("resumed an empty folder: %v", err)
	}
	if err := j.Begin(h); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(dir); err == nil || !strings.Contains(err.Error(), "a program is running in") {
		t.Errorf("opened twice: %v", err)
	}
	failure := errors.New("no address answered at postgres://me:geheim@127.0.0.1/shop")
	if err := j.Do(context.Background(), "repeat", func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("the step's error is %v", err)
	}
	if text := j.Failures()["repeat"]; !strings.Contains(text, "no address answered") || strings.Contains(text, "geheim") {
		t.Errorf("the journal says of the failure %q", text)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if err := j.Do(ended, "repeat", func() error { return ended.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted step returned %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}

	j = openTest(t, dir)
	if state := j.State("repeat"); state != begun {
		t.Errorf("the interrupted step is %q", state)
	}
	for name, row := range map[string]struct {
		change func(*Header)
		want   string
	}{
		"another text": {func(h *Header) { h.Hash = Hash([]byte("another")) }, ErrOther.Error()},
		"another file": {func(h *Header) { h.Files = map[string]string{"plan.yml": "2"} }, "plan.yml isn't the file"},
		"no file":      {func(h *Header) { h.Files = nil }, "plan.yml isn't the file"},
		"another kind": {func(h *Header) { h.Kind = "search" }, "is a folder of brunt repeat; name one of brunt search"},
	} {
		t.Run(name, func(t *testing.T) {
			other := h
			row.change(&other)
			if err := j.Resume(other); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
	if err := j.Resume(h); err != nil {
		t.Fatal(err)
	}
	if err := j.Do(context.Background(), "repeat", func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if !j.Done("repeat") {
		t.Error("the step isn't done")
	}
}

// The folder of a series by an earlier version contains a hash of the request and no journal.
func TestASeriesOfAnEarlierVersionIsResumed(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/series")); err != nil {
		t.Fatal(err)
	}
	plan, err := os.ReadFile(filepath.Join(dir, "plan.yml"))
	if err != nil {
		t.Fatal(err)
	}
	h := Header{Kind: "repeat", Name: "plan", Hash: Hash(append([]byte("repeat\n2\n"), plan...))}
	other := h
	other.Hash = Hash(append([]byte("repeat\n3\n"), plan...))
	j := openTest(t, dir)
	if err := j.Resume(other); !errors.Is(err, ErrOther) {
		t.Errorf("another number of runs: %v", err)
	}
	if err := j.Resume(h); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if now, _, err := ReadJournal(dir); err != nil || now == nil || now.Hash != h.Hash {
		t.Errorf("the journal is of %+v: %v", now, err)
	}
}

func TestADamagedJournalIsNamed(t *testing.T) {
	dir := t.TempDir()
	f, err := linefile.Open(filepath.Join(dir, JournalName))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.AppendJSON(map[string]int{"at": 1}), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(dir); err == nil || !strings.Contains(err.Error(), JournalName+":1: damaged") {
		t.Errorf("got %v", err)
	}
}
