package redis

import (
	"fmt"
	"testing"

	"brunt/internal/inspect"
	"brunt/test/testserver"
)

// A low limit of memory with noeviction evicts nothing, neither when it is set nor when it is withdrawn, in whichever
// order the settings are named.
func TestSettingsEvictNothing(t *testing.T) {
	testserver.SkipQuick(t)
	r := testserver.Redis(t)
	s, err := Settings(t.Context(), fmt.Sprintf("redis://%s:%s@%s", r.User, r.Password, r.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	both := func(limit, policy string) [2]inspect.Setting {
		return [2]inspect.Setting{{Name: "maxmemory", Value: limit}, {Name: "maxmemory-policy", Value: policy}}
	}
	c := s.(*tuner).clients[0]
	for _, first := range []int{0, 1} {
		if _, err := c.ask(t.Context(), "SET", "kept", "x"); err != nil {
			t.Fatal(err)
		}
		for _, to := range [][2]inspect.Setting{both("0", "allkeys-lru"), both("100kb", "noeviction"),
			both("0", "allkeys-lru")} {
			if err := s.Set(t.Context(), []inspect.Setting{to[first], to[1-first]}); err != nil {
				t.Fatal(err)
			}
		}
		if kept, err := c.ask(t.Context(), "GET", "kept"); err != nil || kept != "x" {
			t.Errorf("order %d: %v, %v", first, kept, err)
		}
	}
}
