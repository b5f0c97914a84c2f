package fill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// sumOf returns the expected Report.Checksum.
func sumOf(t Table) string {
	values := make([]gen.Value, len(t.Columns))
	var sum uint64
	for row := range t.Rows {
		t.Row(values, row)
		sum += gen.ChecksumRow(values)
	}
	return fmt.Sprintf("%016x", sum)
}

func TestLoadsAndProves(t *testing.T) {
	for _, check := range []Check{"", CheckNone, CheckCount, CheckSample, CheckFull} {
		s := newServer()
		big, small, keyed := numbered("big", 12_345), numbered("small", 3), named("keyed", 7001)
		c := config(s, big, small, numbered("empty", 0), keyed)
		c.Check = check
		r := mustRun(t, c)
		want := cmp.Or(check, CheckCount)
		for i, table := range c.Tables {
			got := r.Tables[i]
			if got.Name != table.Name || got.Rows != table.Rows || len(s.tables[table.Name]) != int(table.Rows) ||
				got.Checksum != sumOf(table) {
				t.Errorf("%s: %+v, checksum should be %s; the server holds %d rows", check, got, sumOf(table),
					len(s.tables[table.Name]))
			}
			compared := map[Check]uint64{CheckSample: min(100, table.Rows), CheckFull: table.Rows}[want]
			if want != CheckNone && got.Checked != want || got.Compared != compared {
				t.Errorf("%s: %+v", check, got)
			}
		}
		if len(s.loads) != 3 {
			t.Errorf("%s: addresses used: %v", check, s.loads)
		}
		if check == CheckFull && (!has(s.queries, "range|big|5000|9999") || !has(s.queries, "all|keyed")) {
			t.Errorf("queries: %q", s.queries)
		}
	}
}

// If the server limits the size of answers, no query of a full check exceeds the limit, for any keys.
func TestProofWithinBounds(t *testing.T) {
	s := newServer()
	big, keyed := numbered("big", 2_345), named("keyed", 1_234)
	keyed.Unique = "id"
	c := config(s, big, keyed)
	c.Check, c.SQL = CheckFull, flavor{most: 600}
	r := mustRun(t, c)
	if r.Tables[0].Compared != 2345 || r.Tables[1].Compared != 1234 {
		t.Errorf("%+v", r.Tables)
	}
	lists := 0
	for _, q := range s.queries {
		words := strings.Split(q, "|")
		switch words[0] {
		case "all":
			t.Errorf("the whole table was asked for: %s", q)
		case "in":
			if lists++; strings.Count(words[3], ",") >= listedRows {
				t.Errorf("too many keys: %d", strings.Count(words[3], ",")+1)
			}
		}
	}
	if !has(s.queries, "range|big|600|1199") || lists != 3 {
		t.Errorf("%d lists; %.300q", lists, s.queries)
	}
	// A changed row is found.
	for _, row := range s.tables["keyed"] {
		text := "4711"
		row[1] = &text
		break
	}
	c.Tables[0].Filled, c.Tables[1].Filled = true, true
	var wrong *MismatchError
	r, err := Run(context.Background(), c)
	if !errors.As(err, &wrong) || wrong.Table != "keyed" || r.Tables[0].Checksum != "" || r.Tables[0].Compared != 2345 {
		t.Errorf("%v; %+v", err, r.Tables)
	}
}

func has(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func TestChunksDependOnTheTableAlone(t *testing.T) {
	c := Config{ChunkRows: 50_000}
	for rows, want := range map[uint64]uint64{1: 1000, 16_000: 1000, 160_000: 10_000, 10_000_000: 50_000} {
		if got := c.chunkRows(rows); got != want {
			t.Errorf("%d rows: chunks of %d, want %d", rows, got, want)
		}
	}
}

func TestProofFindsFaults(t *testing.T) {
	damage := map[string]func(map[string][]*string){
		"a row is lost":   func(rows map[string][]*string) { delete(rows, "0\x00") },
		"a value changes": func(rows map[string][]*string) { other := "x"; rows["0\x00"][1] = &other },
		"a null appears":  func(rows map[string][]*string) { rows["0\x00"][2] = nil },
		"a row is swapped": func(rows map[string][]*string) {
			rows["0\x00"], rows["1\x00"] = rows["1\x00"], rows["0\x00"]
			*rows["0\x00"][0], *rows["1\x00"][0] = "0", "1"
		},
	}
	for what, hurt := range damage {
		for _, check := range []Check{CheckCount, CheckSample, CheckFull} {
			s := newServer()
			c := config(s, numbered("t", 5000))
			c.Check = check
			s.after = func(ch *protocol.Chunk) error {
				if ch.First == 0 {
					hurt(s.tables["t"])
				}
				return nil
			}
			r, err := Run(context.Background(), c)
			var mismatch *MismatchError
			found := errors.As(err, &mismatch)
			if want := check != CheckCount || what == "a row is lost"; found != want {
				t.Errorf("%s, check %s: %v", what, check, err)
			}
			if len(r.Tables) != 1 || found && strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, check %s: report %+v, error %v", what, check, r, err)
			}
		}
	}
}

// A server that reads from replicas returns rows late. They are lost only if its answers no longer change.
func TestProofWaitsForReplicas(t *testing.T) {
	for _, c := range []struct {
		name    string
		looks   int // number of queries until all rows are seen
		changes bool
		counted bool // the rows are counted on another replica, which has all of them
		lost    bool
	}{
		{"at once", 0, false, false, false},
		{"at the ninth pause", 9, false, false, false},
		{"at the ninth pause, counted before", 9, false, true, false},
		{"not at the tenth", 10, false, false, true},
		{"as long as more are seen", 40, true, false, false},
		{"not for ever", 1000, true, false, true},
	} {
		for _, check := range []Check{CheckCount, CheckSample, CheckFull} {
			t.Run(c.name+", check "+string(check), func(t *testing.T) {
				s := newServer()
				looks := 0
				s.seen = func(query, key string) bool {
					n, _ := strconv.Atoi(strings.TrimSuffix(key, "\x00"))
					return looks >= c.looks || c.counted && query == "count" || c.changes && n > 2000 && n < 2000+looks
				}
				config := config(s, numbered("t", 5000))
				config.Check, config.Workers = check, 1
				config.Pause = func(ctx context.Context, _ int) error { looks++; return ctx.Err() }
				_, err := Run(context.Background(), config)
				var wrong *MismatchError
				if lost := errors.As(err, &wrong); lost != c.lost {
					t.Errorf("after %d looks: %v", looks, err)
				}
				if c.lost && (looks != min(c.looks, looksMost)-1 ||
					!strings.Contains(err.Error(), fmt.Sprintf("(looked %d times)", looks+1))) {
					t.Errorf("after %d pauses: %v", looks, err)
				}
			})
		}
	}
}

func TestWaitingForReplicasStopsWhenAsked(t *testing.T) {
	s := newServer()
	s.seen = func(_, _ string) bool { return false }
	ctx, cancel := context.WithCancel(context.Background())
	c := config(s, numbered("t", 10))
	c.Pause = func(ctx context.Context, _ int) error { cancel(); return ctx.Err() }
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestDeadAddress(t *testing.T) {
	s := newServer()
	s.dead["b:2"] = true
	s.after = func(*protocol.Chunk) error {
		if s.loads["c:3"] == 2 {
			s.dead["c:3"] = true
		}
		return nil
	}
	c := config(s, numbered("t", 20_000))
	c.Check = CheckFull
	r := mustRun(t, c)
	if len(s.tables["t"]) != 20_000 || s.loads["b:2"] != 0 || s.loads["c:3"] != 2 ||
		r.Tables[0].Checksum != sumOf(c.Tables[0]) {
		t.Errorf("%d rows, chunks by address %v, %+v", len(s.tables["t"]), s.loads, r.Tables[0])
	}
}

func TestAllAddressesDead(t *testing.T) {
	s := newServer()
	c := config(s, numbered("t", 10))
	for _, target := range c.Targets {
		s.dead[target.Address] = true
	}
	pauses := 0
	c.Workers = 1
	c.Pause = func(ctx context.Context, _ int) error { pauses++; return nil }
	_, err := Run(context.Background(), c)
	if err == nil || !strings.Contains(err.Error(), "given up after 9 tries") || pauses != 8 {
		t.Errorf("%v after %d pauses", err, pauses)
	}
}

// In TestUnknownOutcome the answer to a successful load is lost, so the next attempt must replace the rows.
func TestUnknownOutcome(t *testing.T) {
	s := newServer()
	lost := false
	s.after = func(ch *protocol.Chunk) error {
		if ch.First == 2000 && !lost {
			lost = true
			return &protocol.Error{Class: protocol.UnknownOutcome, Text: "no answer"}
		}
		return nil
	}
	c := config(s, numbered("t", 5000))
	c.Check = CheckFull
	var last Progress
	c.Progress = func(p Progress) { last = p }
	r := mustRun(t, c)
	if !lost || r.Tables[0].Checksum != sumOf(c.Tables[0]) || last.Done != 5000 {
		t.Errorf("%+v, %+v", r.Tables[0], last)
	}
}

func TestRefusalIsFinal(t *testing.T) {
	s := newServer()
	tries := 0
	s.before = func(ch *protocol.Chunk, _ bool) error {
		tries++
		return &protocol.Error{Class: protocol.Server, Code: "53100", Text: "disk full"}
	}
	c := config(s, numbered("t", 10))
	_, err := Run(context.Background(), c)
	if err == nil || tries != 1 || !strings.Contains(err.Error(), `table "t", rows 0 to 9: `) ||
		!strings.Contains(err.Error(), "disk full") {
		t.Errorf("%v after %d tries", err, tries)
	}
}

func TestProgress(t *testing.T) {
	s := newServer()
	c := config(s, numbered("a", 4000), numbered("b", 1000))
	c.Workers = 1
	clock := time.Unix(0, 0)
	c.Now = func() time.Time { clock = clock.Add(50 * time.Millisecond); return clock }
	var said []Progress
	c.Progress = func(p Progress) { said = append(said, p) }
	r := mustRun(t, c)
	if len(said) < 3 {
		t.Fatalf("told %d times", len(said))
	}
	for i, p := range said {
		if p.AllTotal != 5000 || i > 0 && p.AllDone < said[i-1].AllDone || p.Done > p.Total || p.RatePerS <= 0 {
			t.Errorf("%+v", p)
		}
		if left := float64(5000-p.AllDone) / p.RatePerS; p.Left.Seconds()-left > 0.001 || left-p.Left.Seconds() > 0.001 {
			t.Errorf("%+v: %g s are left", p, left)
		}
	}
	if last := said[len(said)-1]; last.Table != "b" || last.Done != 1000 || last.AllDone != 5000 || last.Left != 0 {
		t.Errorf("%+v", last)
	}
	if r.Tables[0].RatePerS <= 0 || r.Tables[0].Elapsed <= 0 {
		t.Errorf("%+v", r)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := config(newServer(), numbered("t", 1))
	for say, spoil := range map[string]func(*Config){
		"no driver":     func(c *Config) { c.Driver = nil },
		"no address":    func(c *Config) { c.Targets = nil },
		"SQL flavor":    func(c *Config) { c.SQL = nil },
		"unknown check": func(c *Config) { c.Check = "most" },
		"named twice":   func(c *Config) { c.Tables = append(c.Tables[:1:1], c.Tables[0]) },
		"no columns":    func(c *Config) { c.Tables = []Table{{Name: "x", Rows: 1}} },
		`no column "k"`: func(c *Config) { x := numbered("x", 1); x.Keys = []string{"k"}; c.Tables = []Table{x} },
	} {
		c := good
		spoil(&c)
		if _, err := Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%v, want %q", err, say)
		}
	}
}

func TestStopsWhenAsked(t *testing.T) {
	s := newServer()
	ctx, cancel := context.WithCancel(context.Background())
	chunks := 0
	s.after = func(*protocol.Chunk) error {
		if chunks++; chunks == 3 {
			cancel()
		}
		return nil
	}
	c := config(s, numbered("t", 100_000))
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n := len(s.tables["t"]); n < 3000 || n > 10_000 {
		t.Errorf("%d rows were loaded", n)
	}
}
