package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// turns returns rounds of turns of ours and of a peer that needs 10 µs per request.
func turns(group string, ours float64, quiet bool) []sample {
	var all []sample
	for round := 1; round <= 3; round++ {
		all = append(all,
			sample{Group: group, Client: "brunt", Round: round, CPUUs: ours, Quiet: quiet},
			sample{Group: group, Client: "pgbench -R", Round: round, CPUUs: 10, Quiet: quiet},
			sample{Group: group, Client: "brunt --timing-tolerance 200us", Round: round, CPUUs: 5, Quiet: quiet})
	}
	return all
}

// The best ratios are computed from all raw results except noisy rounds, and a slower row is an error.
func TestBest(t *testing.T) {
	dir := t.TempDir()
	for name, samples := range map[string][]sample{
		"wire-2026-01-01.ndjson": append(turns("pg-open", 9, true), turns("pg-open", 8, true)...), // two runs of a day
		"wire-2026-01-02.ndjson": turns("pg-open", 8.5, true),
		"wire-2026-01-03.ndjson": turns("pg-open", 6, false),
	} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		e := json.NewEncoder(f)
		e.Encode(map[string]string{"machine": "a test's"})
		for _, p := range samples {
			e.Encode(p)
		}
		f.Close()
	}
	if err := finding([]string{"-out", dir}); err != nil {
		t.Fatal(err)
	}
	best, err := readMarks(dir)
	if err != nil {
		t.Fatal(err)
	}
	g := postgresOpen()
	for _, row := range []struct {
		name  string
		ours  float64
		quiet bool
		says  string
		fails bool
	}{
		{"as fast", 8, true, "", false},
		{"faster", 7, true, "", false},
		{"within the limit", 8.2, true, "", false},
		{"slower", 8.4, true, "CPU a request 0.84 of the peer's, 0.80 at best (wire-2026-01-01.ndjson): +5 %", true},
		{"slower on noisy rounds", 8.4, false, "on noisy rounds", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			results := map[string][]sample{}
			for _, p := range turns("pg-open", row.ours, row.quiet) {
				results[p.Client] = append(results[p.Client], p)
			}
			var out strings.Builder
			err := best.compare(&out, judge(&g, results))
			if (err != nil) != row.fails {
				t.Errorf("error %v", err)
			}
			if !strings.Contains(out.String(), row.says) || row.says == "" && out.Len() > 0 {
				t.Errorf("said %q, wanted %q", out.String(), row.says)
			}
		})
	}
}

// The repository's file of best ratios is valid, and refers to existing measurements.
func TestMarks(t *testing.T) {
	best, err := readMarks("../../docs/bench")
	if err != nil || len(best) == 0 {
		t.Fatalf("%d marks, %v", len(best), err)
	}
	names := map[string]bool{}
	for _, g := range groups() {
		names[g.name] = true
	}
	for _, c := range contests("", 0) {
		names[c.name] = true
	}
	for _, m := range best {
		if !names[m.Group] || m.CPURatio <= 0 || !strings.HasPrefix(m.Ours, "brunt") {
			t.Errorf("%+v", m)
		}
	}
}
