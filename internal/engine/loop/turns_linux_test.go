package loop_test

import (
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/protocol"
)

// Of three servers, one is gone for good, another one hangs for a while, so that all of its sessions are free again at
// the same time, and then the third one hangs. Its sessions must not follow each other: the arrivals between theirs go
// to the server that is back.
func TestAddressesTakeTurns(t *testing.T) {
	const each, back, gone, hangs = 8, 0, 1, 2
	onBothTiers(t, func(t *testing.T, codec bool) {
		var h *balancedFleet
		var before uint64 // requests of the first server when it returned
		var hung uint64   // the operation at whose end the third server stopped
		o := &outcomes{class: map[uint64]protocol.Class{}}
		o.then = func(index uint64, _ protocol.Class) {
			switch {
			case index == 40:
				h.servers[gone].Kill()
				h.servers[back].Pause()
			case index == 64 && hung == 0:
				before = h.servers[back].Requests()
				h.servers[back].Resume()
			case before > 0 && hung == 0 && h.servers[back].Requests() >= before+2*each:
				h.servers[hangs].Pause()
				hung = index
			}
		}
		h = newBalancedFleet(t, codec, 3, 3, single(), nil, func(cfg *engine.FleetConfig) {
			cfg.Sessions, cfg.OperationTimeout, cfg.Workload.Done = 3*each, 500*time.Millisecond, o.done
		})
		stage := openStage(t, 200, 2*time.Second)
		stage.StartNs = h.cfg.Clock.Now()
		if _, err := h.fleet.Run(t.Context(), nil, stage); err != nil {
			t.Fatal(err)
		}
		h.servers[hangs].Resume()
		row, longest, failed := 0, 0, 0
		for i := hung + 1; i < 400; i++ {
			row++
			if o.class[i] == protocol.OK {
				row = 0
			} else {
				failed++
			}
			longest = max(longest, row)
		}
		if hung == 0 || failed == 0 || longest > each/2 {
			t.Errorf("the server hung at operation %d; then %d failed, %d of them in a row, want at most %d", hung,
				failed, longest, each/2)
		}
	})
}
