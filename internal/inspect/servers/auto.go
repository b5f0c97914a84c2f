package servers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/inspect"
	"brunt/internal/plan"
	"brunt/internal/record"
)

// Auto stands for the servers that the load goes to, in the place of KIND=URL.
const Auto = "auto"

// Target returns the inspectors of the servers that a load goes to: t is the plan's target, with its credentials, and
// servers are those that were found at its addresses. An error is one line that says which of them can't be inspected;
// there may be inspectors of others.
func Target(t *plan.Target, servers []record.Target) (list []inspect.Inspector, err error) {
	type group struct {
		kind      Kind
		addresses []string
	}
	var groups []group
	var unknown []string
	for i := range servers {
		s := &servers[i]
		k, ok := Of(s.Protocol, s.Product)
		if !ok {
			if name := strings.TrimSpace(s.Product + " over " + s.Protocol); !slices.Contains(unknown, name) {
				unknown = append(unknown, name)
			}
			continue
		}
		at := slices.IndexFunc(groups, func(g group) bool { return g.kind.Name == k.Name && k.Cluster })
		if at < 0 {
			groups = append(groups, group{kind: k})
			at = len(groups) - 1
		}
		groups[at].addresses = append(groups[at].addresses, s.Address)
	}
	for _, g := range groups {
		i, failed := g.kind.New(g.kind.URL.Format(t, g.addresses))
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		list = append(list, i)
	}
	if len(unknown) > 0 {
		err = errors.Join(err, fmt.Errorf("%s can't be inspected; name the servers behind it by --inspect KIND=URL (%s)",
			strings.Join(unknown, ", "), strings.Join(Names(), ", ")))
	}
	return list, err
}
