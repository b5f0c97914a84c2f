package runner

import (
	"context"
	"slices"

	"brunt/internal/driver"
	"brunt/internal/wire"
)

// expand adds the other addresses of clusters that the targets are members of, where event loops
// send each request to the address that serves it: all addresses must be known before the load, for
// the figures of each. What can't be asked now stays as it is.
func expand(ctx context.Context, d driver.Driver, targets []driver.Target, tier string) []driver.Target {
	e, expands := d.(driver.Expander)
	codec, ok := d.(wire.Protocol)
	if !expands || !ok || tier == "library" {
		return targets
	}
	out := slices.Clone(targets)
	for _, t := range targets {
		if _, takes := codec.Takes(t, &driver.Program{}); !takes {
			continue
		}
		members, err := e.Expand(ctx, t)
		if err != nil {
			continue
		}
		for _, m := range members {
			if !slices.ContainsFunc(out, func(have driver.Target) bool { return have.Address == m.Address }) {
				out = append(out, m)
			}
		}
	}
	return out
}
