package record

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// The part of a load that one of many workers sends: four operations at four addresses, 10 000 a second.
func workersRun() *Run {
	run := startedRun()
	run.Operations = []Operation{{Name: "read"}, {Name: "write"}, {Name: "scan"}, {Name: "delete"}}
	run.Targets = append(run.Targets, Target{Address: "c:1", Protocol: "pg"}, Target{Address: "d:1", Protocol: "pg"})
	return run
}

// workersLines are lines of a worker's intervals, one a second.
func workersLines(seed uint64, n int) (lines [][]byte) {
	r := rand.New(rand.NewPCG(seed, 1))
	e := &lineEncoder{}
	for k := range n {
		iv := newInterval(k)
		iv.Phase, iv.WarmUp = "hold", false
		iv.Operations, iv.Addresses = append(iv.Operations, newInterval(k).Operations...),
			append(iv.Addresses, newInterval(k).Addresses...)
		for i := range 10_000 {
			service := int64(400_000 * math.Exp(r.NormFloat64()*0.6))
			late := int64(15_000 * math.Exp(r.NormFloat64()))
			s := sample{operation: i % 4, address: r.IntN(4), service: service, response: service + late, lateBy: late}
			if i%200 == 0 {
				s.class = protocol.Server
			}
			record(iv, s)
		}
		iv.Settle()
		line, err := e.encode(iv)
		if err != nil {
			panic(err)
		}
		lines = append(lines, bytes.Clone(line))
	}
	return lines
}

// BenchmarkAlign is the cost of one interval of a thousand workers.
func BenchmarkAlign(b *testing.B) {
	const workers, kinds = 1000, 16
	run := workersRun()
	lines := make([][][]byte, kinds)
	for i := range lines {
		lines[i] = workersLines(uint64(i), b.N)
	}
	b.ReportMetric(float64(len(lines[0][0])), "B/line")
	sources := make([]Source, workers)
	for k := range sources {
		sources[k] = Source{Run: run, Lines: func(f func([]byte) error) error {
			for i := range b.N {
				if err := f(lines[k%kinds][i]); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := Align(run, sources, func(*measure.Interval) error { return nil }); err != nil {
		b.Fatal(err)
	}
}
