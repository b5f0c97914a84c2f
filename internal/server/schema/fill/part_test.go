package fill

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"brunt/internal/protocol"
)

// For any number of parts, each chunk belongs to exactly one, and together they have the rows and checksums of one
// load.
func TestPartsAreTheWhole(t *testing.T) {
	for _, parts := range []int{1, 3, 7, 100} {
		t.Run(fmt.Sprint(parts), func(t *testing.T) {
			s := newServer()
			c := config(s, numbered("t", 20_000), named("k", 9_500), numbered("none", 0))
			loaded := map[string]int{}
			s.before = func(ch *protocol.Chunk, _ bool) error {
				loaded[fmt.Sprint(ch.Table, " ", ch.First)]++
				return nil
			}
			c.Part, c.Check = Part{Of: parts}, CheckFull
			c.Others = inParts(t, &c, parts)
			r := mustRun(t, c)
			for i, table := range c.Tables {
				if got := r.Tables[i]; got.Checksum != sumOf(table) || got.Rows != table.Rows || got.Compared != table.Rows {
					t.Errorf("%+v, checksum should be %s", got, sumOf(table))
				}
			}
			if len(loaded) != r.Tables[0].Chunks+r.Tables[1].Chunks {
				t.Errorf("%d chunks were loaded, there are %+v", len(loaded), r.Tables)
			}
			for name, times := range loaded {
				if times != 1 {
					t.Errorf("the chunk %s was loaded %d times", name, times)
				}
			}
		})
	}
}

// inParts loads all parts at the same time and adds up their reports.
func inParts(t *testing.T, whole *Config, parts int) func(context.Context, *Shared) ([]TableReport, error) {
	return func(ctx context.Context, s *Shared) (all []TableReport, err error) {
		var wg sync.WaitGroup
		reports, errs := make([]Report, parts), make([]error, parts)
		for k := range parts {
			c := *whole
			c.Others, c.Part, c.Check, c.Replace = nil, Part{Number: k, Of: parts}, CheckNone, s.Resumed
			if whole.Checkpoint != nil {
				c.Checkpoint = open(t, c.Part.File(whole.Checkpoint.Name()))
			}
			wg.Go(func() { reports[k], errs[k] = Run(ctx, c) })
		}
		wg.Wait()
		for _, r := range reports {
			all = append(all, r.Tables...)
		}
		return all, errors.Join(errs...)
	}
}

// If one part fails, the load can be resumed, and the completed parts load nothing again.
func TestPartsResume(t *testing.T) {
	s := newServer()
	path := filepath.Join(t.TempDir(), "whole")
	c := config(s, numbered("t", 20_000))
	c.Plan, c.Seed, c.Check, c.Part, c.Checkpoint = "p", 7, CheckFull, Part{Of: 3}, open(t, path)
	c.Workers = 1
	failing := errors.New("broken")
	s.after = func(ch *protocol.Chunk) error {
		if ch.First >= 5_000 && ch.First/1000%3 == 1 {
			return failing
		}
		return nil
	}
	c.Others = inParts(t, &c, 3)
	if _, err := Run(context.Background(), c); !errors.Is(err, failing) {
		t.Fatalf("got %v, want %v", err, failing)
	}
	s.after = nil
	again := map[uint64]bool{}
	s.before = func(ch *protocol.Chunk, replace bool) error {
		again[ch.First] = true
		if !replace || ch.First/1000%3 != 1 {
			t.Errorf("rows from %d are loaded again, replace is %v", ch.First, replace)
		}
		return nil
	}
	c.Checkpoint = open(t, path)
	r := mustRun(t, c)
	if len(again) != 5 {
		t.Errorf("%d chunks are loaded again, want 5: %v", len(again), again)
	}
	if got := r.Tables[0]; got.Checksum != sumOf(c.Tables[0]) || got.Resumed != 15_000 {
		t.Errorf("%+v, checksum should be %s", got, sumOf(c.Tables[0]))
	}
	for name, change := range map[string]func(*Config){
		"other parts": func(c *Config) { c.Part.Of = 4 },
		"one process": func(c *Config) { c.Part, c.Others = Part{}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			other := c
			other.Checkpoint = open(t, path)
			change(&other)
			if _, err := Run(context.Background(), other); err == nil || !strings.Contains(err.Error(), "--processes 3") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Parts that don't add up to the whole are an error, and an impossible part is refused.
func TestBadParts(t *testing.T) {
	c := config(newServer(), numbered("t", 20_000))
	c.Part = Part{Of: 2}
	c.Others = func(context.Context, *Shared) ([]TableReport, error) {
		return []TableReport{{Name: "t", Rows: 10_000, Checksum: "0000000000000001"}}, nil
	}
	_, err := Run(context.Background(), c)
	if err == nil || !strings.Contains(err.Error(), "have 10000 rows together, not 20000") {
		t.Errorf("got %v", err)
	}
	c.Part, c.Others = Part{Number: 2, Of: 2}, nil
	if _, err := Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), "no part 3 of 2") {
		t.Errorf("got %v", err)
	}
}
