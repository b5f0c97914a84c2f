package fill

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/base/linefile"
	"brunt/internal/protocol"
)

func open(t testing.TB, path string) *linefile.File {
	t.Helper()
	f, err := linefile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestKilledLoadResumes kills a load repeatedly in the middle of chunks, at a different place each time. The last run
// must end with exactly the rows of an undisturbed run, without loading finished chunks again.
func TestKilledLoadResumes(t *testing.T) {
	s := newServer()
	path := filepath.Join(t.TempDir(), "checkpoint.ndjson")
	killed := errors.New("killed")
	var rows uint64
	done := map[uint64]bool{}
	kills := 0
	for budget := uint64(2500); ; budget += 1700 {
		c := config(s, numbered("t", 20_000), named("k", 9_000))
		c.Checkpoint, c.Plan, c.Seed, c.Check = open(t, path), "p", 7, CheckFull
		rows = 0
		s.before = func(ch *protocol.Chunk, _ bool) error {
			if ch.Table == "t" && done[ch.First] {
				t.Errorf("the chunk from row %d is loaded again", ch.First)
			}
			return nil
		}
		s.broken = func(*protocol.Chunk, uint64) error {
			if rows++; rows > budget {
				return killed
			}
			return nil
		}
		r, err := Run(context.Background(), c)
		for _, line := range open(t, path).Lines() {
			if text := string(line); strings.Contains(text, `"t"`) && strings.Contains(text, `"done":true`) {
				done[firstOf(t, line)] = true
			}
		}
		if err == nil {
			for i, table := range c.Tables {
				if r.Tables[i].Checksum != sumOf(table) || r.Tables[i].Compared != table.Rows {
					t.Errorf("%+v, checksum should be %s", r.Tables[i], sumOf(table))
				}
			}
			if r.Tables[0].Resumed == 0 || r.Tables[0].Resumed > 20_000 {
				t.Errorf("%+v", r.Tables[0])
			}
			break
		}
		if !errors.Is(err, killed) {
			t.Fatal(err)
		}
		kills++
	}
	if kills < 3 {
		t.Errorf("killed %d times only", kills)
	}
	// All rows are loaded: another run has nothing to load and checks them again.
	c := config(s, numbered("t", 20_000), named("k", 9_000))
	c.Checkpoint, c.Plan, c.Seed = open(t, path), "p", 7
	s.before = func(ch *protocol.Chunk, _ bool) error {
		t.Errorf("%s %d is loaded again", ch.Table, ch.First)
		return nil
	}
	if r := mustRun(t, c); r.Tables[0].Resumed != 20_000 || r.Tables[0].Checksum != sumOf(c.Tables[0]) ||
		r.Tables[0].RatePerS != 0 {
		t.Errorf("%+v", r.Tables[0])
	}
}

func firstOf(t *testing.T, line []byte) uint64 {
	t.Helper()
	var l checkpointLine
	if err := json.Unmarshal(line, &l); err != nil {
		t.Fatal(err)
	}
	return l.First
}

func TestForeignCheckpointIsRefused(t *testing.T) {
	for say, change := range map[string]func(*Config){
		"another plan":    func(c *Config) { c.Plan = "q" },
		"another seed":    func(c *Config) { c.Seed = 8 },
		"another target":  func(c *Config) { c.Targets = c.Targets[:2] },
		"other tables":    func(c *Config) { c.Tables[0].Rows++ },
		"rows or chunks:": func(c *Config) { c.ChunkRows = 999 },
	} {
		s := newServer()
		path := filepath.Join(t.TempDir(), "c")
		c := config(s, numbered("t", 3000))
		c.Plan, c.Seed, c.Checkpoint = "p", 7, open(t, path)
		mustRun(t, c)
		change(&c)
		c.Checkpoint = open(t, path)
		say = strings.TrimSuffix(say, ":")
		if _, err := Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), say) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, say)
		}
	}
}

func TestBrokenCheckpoints(t *testing.T) {
	good := `{"load":{"version":1,"plan":"","seed":0,"target":"T","chunks":"C"},"chunk":0}` + "\n"
	for _, c := range []struct{ text, say string }{
		{"{]\n", ":1: not a line"},
		{`{"table":"t","chunk":0}` + "\n", "not a checkpoint"},
		{good + "nonsense\n", ":2: not a line"},
		{good + `{"table":"t","chunk":7,"rows":10}` + "\n", `no chunk 7 of table "t"`},
		{good + `{"table":"t","chunk":-1,"rows":10}` + "\n", `no chunk -1`},
		{good + `{"table":"u","chunk":0,"rows":10}` + "\n", `no chunk 0 of table "u"`},
		{good + `{"table":"t","chunk":0,"rows":11}` + "\n", "other rows"},
		{good + `{"table":"t","chunk":0,"rows":10,"done":true,"checksum":"xyz"}` + "\n", "no 64-bit number"},
	} {
		cfg := config(newServer(), numbered("t", 10)).withDefaults()
		own := newJob(&cfg).header()
		text := strings.NewReplacer(`"T"`, `"`+own.Target+`"`, `"C"`, `"`+own.Chunks+`"`).Replace(c.text)
		path := filepath.Join(t.TempDir(), "c")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg.Checkpoint = open(t, path)
		if _, err := Run(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%q: %v, want %q", c.text, err, c.say)
		}
	}
}

func TestTornLineIsDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	if err := os.WriteFile(path, []byte("one\ntwo\nthr"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := open(t, path)
	if lines := f.Lines(); len(lines) != 2 || string(lines[1]) != "two" {
		t.Errorf("%q", lines)
	}
	if err := f.Append([]byte("four")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "one\ntwo\nfour\n" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := linefile.Open(filepath.Join(path, "x")); err == nil {
		t.Error("a path through a file was opened")
	}
}

// failing is a checkpoint that can't be written.
type failing struct{}

func (failing) Name() string        { return "nowhere" }
func (failing) Lines() [][]byte     { return nil }
func (failing) Append([]byte) error { return errors.New("disk full") }

func TestUnwritableCheckpoint(t *testing.T) {
	s := newServer()
	c := config(s, numbered("t", 10))
	c.Checkpoint = failing{}
	if _, err := Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), "disk full") ||
		len(s.tables) != 0 {
		t.Errorf("%v; tables %v", err, s.tables)
	}
}

func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte(`{"load":{"version":1},"chunk":0}`),
		[]byte(`{"table":"t","chunk":0,"rows":10,"done":true,"checksum":"ff"}`))
	f.Fuzz(func(t *testing.T, head, line []byte) {
		c := config(newServer(), numbered("t", 10)).withDefaults()
		own := newJob(&c).header()
		for _, lines := range [][][]byte{{head, line}, {marshal(checkpointLine{Load: &own}), line}} {
			j := newJob(&c)
			j.c.Checkpoint = memory{lines}
			if err := j.resume(); err == nil && (j.tables[0].Resumed > 10 || j.tables[0].left < 0) {
				t.Errorf("%q: %+v", lines, j.tables[0])
			}
		}
	})
}

// memory is a checkpoint in memory.
type memory struct{ lines [][]byte }

func (memory) Name() string        { return "memory" }
func (m memory) Lines() [][]byte   { return m.lines }
func (memory) Append([]byte) error { return nil }
