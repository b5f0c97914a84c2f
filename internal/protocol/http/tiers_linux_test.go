package http

import (
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/engine/pool"
	"brunt/internal/gen"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/schedule"
	"brunt/internal/workload"
)

// run carries a plan's first 300 operations out on one tier and tells what came of them.
func run(t *testing.T, p *plan.Plan, target protocol.Target, pipeline int, codec bool) (out []string) {
	t.Helper()
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	cfg := engine.FleetConfig{
		Workload: w, Driver: New(), Targets: []protocol.Target{target}, Sessions: 4, Pipeline: pipeline, Retries: 3,
		OperationTimeout: 30 * time.Second, ConnectTimeout: 10 * time.Second,
		Clock: engine.NewClock(time.Now()), Collector: measure.NewCollector(len(w.Operations), 1),
	}
	var fleet engine.Fleet
	if codec {
		if fleet, err = loop.NewFleet(cfg, New()); err != nil {
			t.Fatal(err)
		}
	} else {
		fleet = pool.NewPool(cfg)
	}
	defer fleet.Close()
	if err := fleet.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Run(t.Context(), nil, schedule.Stage{Operations: 300, StartNs: cfg.Clock.Now()}); err != nil {
		t.Fatal(err)
	}
	cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
	for i, o := range cfg.Collector.Total().Operations {
		out = append(out, fmt.Sprintf("%s: %d done, errors %v, statuses %v, %d with a wrong hash", p.Operations[i].Name,
			o.Done, o.Errors, o.Status, o.BadHash))
	}
	return out
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, text)
	return h.Sum64()
}

func operation(path string, hash uint64, capture ...protocol.Capture) plan.Operation {
	return plan.Operation{Name: path, Weight: 1, Steps: []plan.Step{{
		Request: protocol.Request{Verb: protocol.HTTP, Capture: capture,
			Web: &protocol.Web{Method: "GET", Path: path, Hash: hash, HashEvery: 1}},
	}}}
}

func TestTiersAgreeInTheEngine(t *testing.T) {
	target := protocol.Target{Address: nginx(t).Addr}
	follow := operation("/moved", 0, protocol.Capture{Name: "header:Location", Kind: gen.String})
	follow.Steps[0].Request.Web.HashEvery = 0
	follow.Steps = append(follow.Steps, plan.Step{
		Request: protocol.Request{Verb: protocol.HTTP, Web: &protocol.Web{Method: "POST", Path: "/who?q=$1",
			Body: []byte("$1")}},
		Params: []plan.Param{{Step: 0, Index: 0}},
	})
	for _, c := range []struct {
		name       string
		pipeline   int
		operations []plan.Operation
		want       []string
	}{
		{"pipelined", 4, []plan.Operation{operation("/no", hashOf("no")), operation("/broken", 1)}, nil},
		{"two steps", 1, []plan.Operation{follow},
			[]string{"/moved: 300 done, errors [0 0 0 0 0 0 0 0], statuses [0 0 300 0 0 0], 0 with a wrong hash"}},
		{"closing", 1, []plan.Operation{operation("/last", 0)},
			[]string{"/last: 300 done, errors [0 0 0 0 0 0 0 0], statuses [0 0 300 0 0 0], 300 with a wrong hash"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &plan.Plan{Seed: 3, Operations: c.operations}
			library, codec := run(t, p, target, 1, false), run(t, p, target, c.pipeline, true)
			if !slices.Equal(library, codec) {
				t.Errorf("library tier: %q\ncodec tier:   %q", library, codec)
			}
			if c.want == nil && (!strings.HasSuffix(codec[0], " 0 with a wrong hash") ||
				strings.HasSuffix(codec[1], " 0 with a wrong hash")) {
				t.Errorf("got %q; only the second has a wrong hash", codec)
			}
			if c.want != nil && !slices.Equal(codec, c.want) {
				t.Errorf("got %q, want %q", codec, c.want)
			}
		})
	}
}
