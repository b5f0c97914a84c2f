package target

import (
	"context"
	"errors"
	"slices"
	"testing"

	"brunt/internal/protocol"
)

// clustered is a protocol whose servers know each other.
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

func (clustered) Open(context.Context, protocol.Target, *protocol.Program) (protocol.CodecConn, error) {
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
