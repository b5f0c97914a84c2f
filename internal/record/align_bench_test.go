package record

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// workersRun returns the run of one of many workers: four operations at four addresses, 10 000 per second.
func workersRun() *Run {
	run := startedRun()
	run.Operations = []Operation{{Name: "read"}, {Name: "write"}, {Name: "scan"}, {Name: "delete"}}
	run.Targets = append(run.Targets, Target{Address: "c:1", Protocol: "pg"}, Target{Address: "d:1", Protocol: "pg"})
	return run
}

// workersLines returns the lines of a worker's intervals, one per second.
func workersLines(seed uint64, n int) (lines [][]byte) {
	e := &lineEncoder{}
	for _, iv := range workersIntervals(seed, n) {
		line, err := e.encode(iv)
		if err != nil {
			panic(err)
		}
		lines = append(lines, bytes.Clone(line))
	}
	return lines
}

func workersIntervals(seed uint64, n int) (all []*measure.Interval) {
	r := rand.New(rand.NewPCG(seed, 1))
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
		all = append(all, iv)
	}
	return all
}

// BenchmarkAlign measures the cost of one interval of a thousand workers.
func BenchmarkAlign(b *testing.B) {
	for _, packs := range []bool{false, true} {
		b.Run(map[bool]string{false: "lines", true: "packed"}[packs], func(b *testing.B) { benchmarkAlign(b, packs) })
	}
}

func benchmarkAlign(b *testing.B, packs bool) {
	const workers, kinds = 1000, 16
	run, packer := workersRun(), &Packer{}
	lines, packed := make([][][]byte, kinds), make([][][]byte, kinds)
	for i := range lines {
		lines[i], packed[i] = workersLines(uint64(i), b.N), make([][]byte, b.N)
		if packs {
			for k, iv := range workersIntervals(uint64(i), b.N) {
				packed[i][k] = packer.AppendPacked(nil, iv)
			}
		}
	}
	sources := make([]Source, workers)
	for k := range sources {
		sources[k] = Source{Run: run, Lines: func(f func(line, packed []byte) error) error {
			for i := range b.N {
				if err := f(lines[k%kinds][i], packed[k%kinds][i]); err != nil {
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
	b.ReportMetric(float64(len(lines[0][0])), "B/line")
	b.ReportMetric(float64(len(packed[0][0])), "B/packed")
}
