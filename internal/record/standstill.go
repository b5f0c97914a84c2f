package record

import (
	"fmt"
	"math"

	"brunt/internal/measure"
)

// Standstill sums up the times in which nothing succeeded although something should have; see
// measure.Standstill. Warm-up is excluded.
type Standstill struct {
	TotalNs   int64  `json:"total_ns"`
	Count     uint64 `json:"count"`
	LongestNs int64  `json:"longest_ns"`
	LeastNs   int64  `json:"least_ns"` // shorter ones are not counted
}

// rareSpacings is how many times the mean time between two successes a standstill must last. With
// successes at random a gap of 20 times their mean distance comes once in 500 million.
const rareSpacings = 20

// standstillOf counts the standstills of a load that are long beside the time between its ok
// successes, those times in which nothing stood still taken.
func standstillOf(a *measure.Account, ok uint64) Standstill {
	var s Standstill
	lengths, loadNs := a.StandstillLengths, a.LoadNs
	for {
		s.LeastNs = measure.StandstillNs
		if ok > 0 {
			s.LeastNs = max(s.LeastNs, rareSpacings*(max(loadNs-s.TotalNs, 0)/int64(ok)))
		}
		if lengths == nil {
			return s
		}
		before := s.Count
		s.Count = 0
		total := 0.0
		lengths.Each(func(lo, hi int64, n uint64) bool {
			if hi >= s.LeastNs {
				s.Count += n
				total += float64(n) * (float64(lo) + float64(hi)) / 2
			}
			return true
		})
		if s.Count > 0 {
			s.LongestNs = lengths.Max()
		}
		if s.Count == lengths.Count() {
			total = lengths.Sum()
		}
		s.TotalNs = int64(min(math.Round(total), float64(maxNs)))
		if s.Count == before {
			return s
		}
	}
}

type standstillLine struct {
	StartNs int64 `json:"start_ns"`
	EndNs   int64 `json:"end_ns"`
}

func standstillLines(all []measure.Standstill) (lines []standstillLine) {
	for _, s := range all {
		lines = append(lines, standstillLine(s))
	}
	return lines
}

func decodeStandstills(lines []standstillLine) (all []measure.Standstill, err error) {
	for _, l := range lines {
		if l.StartNs < 0 || l.EndNs < l.StartNs || l.EndNs > maxNs {
			return nil, fmt.Errorf("a standstill from %d to %d ns makes no sense", l.StartNs, l.EndNs)
		}
		all = append(all, measure.Standstill(l))
	}
	return all, nil
}
