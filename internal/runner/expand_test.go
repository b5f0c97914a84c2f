package runner

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"testing"

	"brunt/internal/protocol"
)

// clustered is a protocol whose servers know of each other.
type clustered struct {
	members map[string][]string
	takes   bool
}

func (clustered) Name() string { return "clustered" }

func (clustered) Dial(context.Context, protocol.Target, *protocol.Program) (protocol.Conn, error) {
	return nil, errors.New("no")
}

func (clustered) Describe(context.Context, protocol.Target) (protocol.ServerInfo, error) {
	return protocol.ServerInfo{}, nil
}

func (c clustered) Takes(protocol.Target, *protocol.Program) (string, bool) {
	return "no codec", c.takes
}

func (clustered) Takeover(context.Context, protocol.Target, *protocol.Program) (protocol.CodecConn, error) {
	return protocol.CodecConn{}, errors.New("no")
}

func (c clustered) Expand(_ context.Context, t protocol.Target) ([]protocol.Target, error) {
	members, ok := c.members[t.Address]
	if !ok {
		return nil, errors.New("unreachable")
	}
	var out []protocol.Target
	for _, m := range members {
		member := t
		member.Address = m
		out = append(out, member)
	}
	return out, nil
}

func TestExpand(t *testing.T) {
	members := map[string][]string{"a": {"a", "b", "c"}, "b": {"c", "b", "d"}}
	for _, c := range []struct {
		given []string
		tier  string
		takes bool
		want  []string
	}{
		{[]string{"a"}, "", true, []string{"a", "b", "c"}},
		{[]string{"b", "a"}, "codec", true, []string{"b", "a", "c", "d"}},
		{[]string{"dead", "a"}, "auto", true, []string{"dead", "a", "b", "c"}},
		{[]string{"dead"}, "", true, []string{"dead"}},
		{[]string{"a"}, "library", true, []string{"a"}},
		{[]string{"a"}, "", false, []string{"a"}},
	} {
		var targets []protocol.Target
		for _, a := range c.given {
			targets = append(targets, protocol.Target{Address: a, User: "u"})
		}
		var got []string
		for _, target := range expand(t.Context(), clustered{members, c.takes}, targets, c.tier) {
			if got = append(got, target.Address); target.User != "u" {
				t.Errorf("%s: user %q", target.Address, target.User)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v, tier %q: %v, want %v", c.given, c.tier, got, c.want)
		}
	}
}

func TestCollectorIsPutBack(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	percent := func() int {
		p := debug.SetGCPercent(77)
		debug.SetGCPercent(p)
		return p
	}
	for tier, want := range map[string]int{"library": loadGCPercent, "codec": loopGCPercent} {
		restore := calmCollector(tier)
		if got := percent(); got != want {
			t.Errorf("%s: %d %%, want %d", tier, got, want)
		}
		restore()
		if got := percent(); got != 77 {
			t.Errorf("after %s: %d %%", tier, got)
		}
	}
	t.Setenv("GOGC", "50")
	restore := calmCollector("library")
	defer restore()
	if got := percent(); got != 77 {
		t.Errorf("set by the user: %d %%", got)
	}
}
