package stats

import (
	"cmp"
	"math"
	"slices"

	"github.com/aclements/go-moremath/mathx"
)

// ranksExactLimit is the greatest total number of values for which the exact distribution is computed.
const ranksExactLimit = 100

// Ranks is the result of a Mann–Whitney test.
type Ranks struct {
	U     float64 // pairs in which the second sample's value is greater; ties count half
	P     float64 // two-sided
	Exact bool    // P is from the exact permutation distribution, not an approximation
	Delta float64 // Cliff's delta: P(second greater) − P(first greater), −1 to 1
}

// MannWhitney tests whether the values of one sample tend to be greater than those of the other (Mann and Whitney
// 1947). Up to 100 values in total, P is exact, also with ties: the fraction of all assignments of the pooled values to
// the samples for which the rank sum is at least as far from its mean. Above, P is the normal approximation with
// corrections for ties and continuity. Values may be infinite. If a sample is empty, P is 1.
func MannWhitney(first, second []float64) Ranks {
	n, m := len(first), len(second)
	if n == 0 || m == 0 {
		return Ranks{P: 1, Exact: true}
	}
	pooled := slices.Concat(first, second)
	ties := tieGroups(pooled)
	u := greater(first, second)
	r := Ranks{U: u, Delta: 2*u/float64(n*m) - 1}
	if n+m <= ranksExactLimit {
		r.P, r.Exact = dealtP(ties, m, u), true
	} else {
		r.P = rankNormalP(ties, n, m, u)
	}
	return r
}

// greater returns the number of pairs in which the second value is greater; ties count half.
func greater(first, second []float64) (u float64) {
	for _, b := range second {
		for _, a := range first {
			switch cmp.Compare(b, a) {
			case 1:
				u++
			case 0:
				u += 0.5
			}
		}
	}
	return u
}

// dealtP returns the fraction of the ways to choose m of the values for which U is at least as far from its mean as u.
// ties are the sizes of the groups of equal values. Twice the rank sum is an integer and serves as an index of the
// counts.
func dealtP(ties []int, m int, u float64) float64 {
	total := 0
	for _, t := range ties {
		total += t
	}
	most := 0
	for i := range m {
		most += 2 * (total - i)
	}
	ways := make([][]float64, m+1) // by the number of chosen values and twice their rank sum
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	before := 0
	for _, t := range ties {
		rank2 := 2*before + t + 1 // twice the mean rank of the group
		for k := min(m, before+t); k > 0; k-- {
			for j := 1; j <= min(k, t); j++ {
				choose := math.Exp(mathx.Lchoose(t, j))
				for w, x := range ways[k-j] {
					if x > 0 && w+j*rank2 <= most {
						ways[k][w+j*rank2] += choose * x
					}
				}
			}
		}
		before += t
	}
	base := float64(m * (m + 1)) // twice the least rank sum
	middle := float64(m*(total-m)) / 2
	far := math.Abs(u-middle) - 1e-9
	var all, beyond float64
	for w, x := range ways[m] {
		all += x
		if math.Abs((float64(w)-base)/2-middle) >= far {
			beyond += x
		}
	}
	return min(beyond/all, 1)
}

func rankNormalP(ties []int, n, m int, u float64) float64 {
	var tied float64
	for _, t := range ties {
		tied += float64(t) * (float64(t)*float64(t) - 1)
	}
	all := float64(n + m)
	variance := float64(n) * float64(m) / 12 * (all + 1 - tied/(all*(all-1)))
	distance := math.Abs(u-float64(n)*float64(m)/2) - 0.5
	if variance <= 0 || distance <= 0 {
		return 1
	}
	return math.Erfc(distance / math.Sqrt(variance) / math.Sqrt2)
}
