package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brunt/internal/plan/workload"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// tracedSteps reads a trace: for each operation number, its steps in order.
func tracedSteps(t *testing.T, dir string) map[uint64][]traceLine {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, record.TraceFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[uint64][]traceLine{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var line traceLine
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", s.Text(), err)
		}
		all[line.Index] = append(all[line.Index], line)
	}
	return all
}

// Both tiers trace the same operations; the codec tier shows what was sent, too. A secret of the plan is in no line.
func TestOperationsAreTracedInBothTiers(t *testing.T) {
	redis := testserver.Redis(t)
	for tier, want := range map[string][]workload.TraceStep{
		"codec":   {workload.TraceDrawn, workload.TraceEncoded, workload.TraceAnswered, workload.TraceRecorded},
		"library": {workload.TraceDrawn, workload.TraceAnswered, workload.TraceRecorded},
	} {
		t.Run(tier, func(t *testing.T) {
			p := read(t, `seed: 7
queries: [{name: put, command: [SET, "key-$1", T0psecret], params: [{type: Integer, range: [1, 50]}]}]
load: [{closed: {operations: 20}}]
`)
			p.Target.Protocol, p.Target.Addresses, p.Target.Password = "redis", []string{redis.Addr}, ""
			p.Settings.Tier, p.Settings.Sessions = tier, 2
			dir := filepath.Join(t.TempDir(), "bundle")
			r, err := Open(context.Background(), p, Options{Recording: Recording{Dir: dir, Trace: 3}})
			if err != nil {
				t.Fatal(err)
			}
			r.secrets = append(r.secrets, "T0psecret")
			if err := r.SetUp(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := r.Drive(context.Background(), nil, nil); err != nil {
				t.Fatal(err)
			}
			if err := r.Finish(); err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			traced := tracedSteps(t, dir)
			if len(traced) != 3 {
				t.Errorf("%d operations were traced, want 3", len(traced))
			}
			for i := range uint64(3) {
				var got []workload.TraceStep
				for _, line := range traced[i] {
					got = append(got, line.Step)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("operation %d: steps %q, want %q", i, got, want)
				}
				if encoded := traced[i][1].Encoded; tier == "codec" &&
					!strings.Contains(encoded, "key-"+traced[i][0].Args[0]) {
					t.Errorf("operation %d: %s doesn't hold the argument %q", i, encoded, traced[i][0].Args)
				}
				last := traced[i][len(traced[i])-1]
				if last.Address != redis.Addr || last.Sent < last.Intended || last.End < last.Sent || last.Class != "ok" {
					t.Errorf("operation %d ended as %+v", i, last)
				}
			}
			text, err := os.ReadFile(filepath.Join(dir, record.TraceFile))
			if err != nil || strings.Contains(string(text), "T0psecret") {
				t.Errorf("the trace holds a secret (%v):\n%s", err, text)
			}
		})
	}
}
