package keyspace

import "math"

// theta is the exponent of all zipfian distributions of YCSB.
const theta = 0.99

// alpha is 1/(1−theta).
const alpha = 1 / (1 - theta)

// Scrambled zipfian numbers are drawn from so many items whatever the table's size, with their
// zeta precomputed, and then hashed into the table's range.
const (
	scrambledItems = 10_000_000_001
	scrambledZeta  = 26.46902820178302
)

// zetaHead is how many terms zeta adds one by one before it goes on by the Euler–Maclaurin formula.
const zetaHead = 64

// Zeta is the sum of k^−0.99 for k from 1 to n, to 13 digits, in constant time (Euler–Maclaurin
// with terms up to the third derivative). n must be at least 1.
func Zeta(n int64) float64 {
	sum := 0.0
	for k := int64(1); k <= min(n, zetaHead); k++ {
		sum += math.Pow(float64(k), -theta)
	}
	if n <= zetaHead {
		return sum
	}
	a, b := float64(zetaHead), float64(n)
	fa, fb := math.Pow(a, -theta), math.Pow(b, -theta)
	sum += (b*fb - a*fa) / (1 - theta)
	sum += (fb - fa) / 2
	sum += theta / 12 * (fa/a - fb/b)
	sum -= theta * (theta + 1) * (theta + 2) / 720 * (fa/(a*a*a) - fb/(b*b*b))
	return sum
}

// Zipf gives ranks 0 … n−1, the lower the more frequent. It is immutable. (Gray, Sundaresan,
// Englert, Baclawski, Weinberger: "Quickly generating billion-record synthetic databases", SIGMOD
// 1994, which is exact for ranks 0 and 1 and an approximation beyond.)
type Zipf struct {
	n, zeta, eta float64
}

// half is 1 + 0.5^theta: where rank 1 ends.
const half = 1.5034777750283594

// NewZipf returns the distribution over n items, n ≥ 1.
func NewZipf(n int64) Zipf { return newZipf(n, Zeta(n)) }

func newZipf(n int64, zeta float64) Zipf {
	return Zipf{
		n: float64(n), zeta: zeta,
		eta: (1 - math.Pow(2/float64(n), 1-theta)) / (1 - half/zeta),
	}
}

// Rank is the rank of a uniform number u in [0, 1).
func (z *Zipf) Rank(u float64) int64 {
	uz := u * z.zeta
	switch {
	case uz < 1 || z.n < 2:
		return 0
	case uz < half || z.n < 3:
		return 1
	}
	return min(int64(z.n*math.Pow(z.eta*u-z.eta+1, alpha)), int64(z.n)-1)
}
