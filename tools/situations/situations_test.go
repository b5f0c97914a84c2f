//go:build linux

package main

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const testLoad = 3 * time.Second

func TestSituationsAreMany(t *testing.T) {
	all := situations(1, 0, testLoad)
	if len(all) < 200 {
		t.Errorf("there are %d situations, want 200 or more", len(all))
	}
	names, count := map[string]bool{}, map[string]int{}
	for i := range all {
		s := &all[i]
		if names[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		names[s.Name] = true
		if s.Why == "" || strings.Contains(s.Why, "%!") {
			t.Errorf("%s: the argument for its truth is %q", s.Name, s.Why)
		}
		count[string(s.Truth)]++
		count[s.ask.tier]++
		count[string(s.server)]++
		if s.ask.open {
			count["open"]++
		} else {
			count["closed"]++
		}
	}
	for what, least := range map[string]int{
		"pass": 80, "fail": 80, "invalid": 20, "codec": 80, "library": 80, "open": 80, "closed": 60,
		"postgres": 20, "redis": 20, "tarantool": 20, "nginx": 20, "web": 20, "echo": 10,
	} {
		if count[what] < least {
			t.Errorf("%s: %d situations, want %d or more", what, count[what], least)
		}
	}
}

func TestSituationsFollowFromTheSeed(t *testing.T) {
	plans := func(seed uint64, count int) (out []string) {
		for _, s := range situations(seed, count, testLoad) {
			out = append(out, s.Name+s.Why+s.plan())
		}
		return out
	}
	if !reflect.DeepEqual(plans(7, 0), plans(7, 0)) {
		t.Error("the same seed gives other situations")
	}
	if reflect.DeepEqual(plans(7, 0), plans(8, 0)) {
		t.Error("another seed gives the same situations")
	}
	for _, n := range []int{1, 50, 200, 1000} {
		if got := len(plans(7, n)); got != n {
			t.Errorf("asked for %d, got %d", n, got)
		}
	}
	few := plans(7, 200)
	for _, f := range families() {
		if !slices.ContainsFunc(few, func(p string) bool { return strings.HasPrefix(p, f.name+"/") }) {
			t.Errorf("200 situations have none of %s", f.name)
		}
	}
}

func TestMatrixCounts(t *testing.T) {
	var out bytes.Buffer
	of := func(family string, tr truth, verdict, void string) *finished {
		return &finished{Name: family + "/x", Family: family, Truth: tr, Verdict: verdict, Void: void,
			Right: tr.allows(verdict)}
	}
	all := []*finished{
		of(healthyApart, truthPass, "pass", ""), of(healthyApart, truthPass, "pass", ""),
		of(healthyTogether, truthPass, "invalid", "somebody else"),
		of("server-killed", truthFail, "invalid", ""), of("throttled", truthInvalid, "invalid", ""),
		of("rate-too-high", truthNotPass, "fail", ""), of("server-absent", truthDown, verdictDown, ""),
	}
	if err := report(&out, all); err != nil {
		t.Errorf("the goals hold, but: %v", err)
	}
	for _, line := range []string{
		"| pass | 2 | 0 | 0 | 0 | 0 | 0 |", "| fail | 0 | 0 | **1** | 0 | 0 | 0 |",
		"| fail or invalid | 0 | 1 | 0 | 0 | 0 | 0 |",
		"| healthy-together | pass | 1 | 0 | 0 | 1 |", "goal holds: no false PASS: 0",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("no line %q in:\n%s", line, out.String())
		}
	}
}

func TestGoals(t *testing.T) {
	times := func(n int, family string, tr truth, verdict, void string) (out []*finished) {
		for range n {
			out = append(out, &finished{Family: family, Truth: tr, Verdict: verdict, Void: void, Right: tr.allows(verdict)})
		}
		return out
	}
	healthy := func(n int, verdict string) []*finished { return times(n, healthyApart, truthPass, verdict, "") }
	together := func(n int, verdict string) []*finished {
		return times(n, healthyTogether, truthPass, verdict, "")
	}
	for _, c := range []struct {
		name   string
		runs   []*finished
		broken string
	}{
		{"all right", slices.Concat(healthy(49, "pass"), healthy(1, "invalid"), together(9, "pass"), together(1, "invalid")),
			""},
		{"invalid with a free core", slices.Concat(healthy(48, "pass"), healthy(1, "invalid")), "with a free core"},
		{"invalid on one core", slices.Concat(together(9, "pass"), together(2, "invalid")), "share a core"},
		{"healthy failed", healthy(1, "fail"), "false FAIL"},
		{"false pass", times(1, "throttled", truthInvalid, "pass", ""), "false PASS"},
		{"a false pass while disturbed is one", times(1, "server-killed", truthFail, "pass", "busy"), "false PASS"},
		{"pass of what can't be", times(1, "rate-too-high", truthNotPass, "pass", ""), "false PASS"},
	} {
		err := report(&bytes.Buffer{}, c.runs)
		if c.broken == "" && err != nil || c.broken != "" && (err == nil || !strings.Contains(err.Error(), c.broken)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.broken)
		}
	}
}

func TestLimiter(t *testing.T) {
	var l limiter
	now := time.UnixMilli(1_000_000)
	allowed := 0
	for range 1000 {
		if l.allow(100, now) {
			allowed++
		}
		now = now.Add(time.Millisecond)
	}
	if allowed != 100 {
		t.Errorf("%d of a second's requests were allowed, want 100", allowed)
	}
}
