package fault

import (
	"slices"
	"testing"

	"brunt/internal/plan"
)

// The process that coordinates a load and those that send it inject each fault once, except for faults of the load's
// own connections.
func TestFaultsAreSharedOut(t *testing.T) {
	p := &plan.Plan{
		Target:  plan.Target{Addresses: []string{"a:1", "b:1"}},
		Proxies: []plan.Proxy{{Name: "between", From: "a:1", Node: "b:1"}},
		Faults: []plan.Fault{
			{Name: "stop", Kind: plan.FaultProcess},
			{Name: "slow", Kind: plan.FaultNetwork, Network: plan.NetworkFault{Do: plan.NetLatency}},
			{Name: "far", Kind: plan.FaultNetwork, Network: plan.NetworkFault{Do: plan.NetLatency,
				Addresses: []string{"between", "a:1"}}},
			{Name: "flood", Kind: plan.FaultFlood},
		},
	}
	for name, c := range map[string]struct {
		does   Does
		faults []string
		places []string // addresses of the fault "far"
	}{
		"all":     {All, []string{"stop", "slow", "far", "flood"}, []string{"between", "a:1"}},
		"part":    {NetworkOnly, []string{"slow", "far"}, []string{"between", "a:1"}},
		"load":    {OfLoad, []string{"slow", "far"}, []string{"a:1"}},
		"servers": {OfServers, []string{"stop", "far", "flood"}, []string{"between"}},
	} {
		t.Run(name, func(t *testing.T) {
			executor := &Executor{o: Options{Plan: p, Does: c.does}}
			var mine []string
			for i := range p.Faults {
				if executor.mine(&p.Faults[i]) {
					mine = append(mine, p.Faults[i].Name)
				}
			}
			if !slices.Equal(mine, c.faults) {
				t.Errorf("does %q, want %q", mine, c.faults)
			}
			if own := executor.own(p.Faults[2].Network.Addresses); !slices.Equal(own, c.places) {
				t.Errorf("has the proxies %q, want %q", own, c.places)
			}
		})
	}
}
