package stats

import (
	"errors"
	"math"
)

// USL is the Universal Scalability Law (Gunther 2007, chapter 4). The throughput at a concurrency of n operations is
// X(n) = Lambda·n / (1 + Sigma·(n−1) + Kappa·n·(n−1)).
type USL struct {
	Lambda float64 `json:"lambda"` // throughput at a concurrency of 1, per second
	Sigma  float64 `json:"sigma"`  // contention: fraction of the work that is serialised
	Kappa  float64 `json:"kappa"`  // coherency: cost of each pair of concurrent operations
	R2     float64 `json:"r2"`     // fraction of the throughputs' variance that the law explains
}

// At returns the throughput at a concurrency of n.
func (u USL) At(n float64) float64 {
	return u.Lambda * n / (1 + u.Sigma*(n-1) + u.Kappa*n*(n-1))
}

// Peak returns the concurrency with the highest throughput, √((1−Sigma)/Kappa); +Inf if throughput has no maximum.
func (u USL) Peak() float64 {
	if u.Kappa <= 0 {
		return math.Inf(1)
	}
	return math.Sqrt(max(1-u.Sigma, 0) / u.Kappa)
}

// USLFewest is the least number of values that FitUSL needs.
const USLFewest = 4

const uslIterations = 500

// FitUSL fits the law to the throughputs x at concurrencies n, by least squares of the throughputs, with Sigma from 0
// to 1 and Kappa ≥ 0 (Levenberg 1944, Marquardt 1963; steps are truncated at the bounds). It fails for fewer than four
// values, for fewer than three different n, or for values that aren't above 0.
func FitUSL(n, x []float64) (USL, error) {
	if len(n) != len(x) || len(n) < USLFewest || distinct(n) < 3 {
		return USL{}, errors.New("the scalability law needs 4 trials at 3 different loads")
	}
	u := USL{}
	for i := range n {
		if !(n[i] > 0) || !(x[i] > 0) {
			return USL{}, errors.New("the scalability law is of throughputs above 0")
		}
		u.Lambda = max(u.Lambda, x[i]/n[i])
	}
	u.Sigma, u.Kappa = 0.05, 1e-4
	loss, damping := u.loss(n, x), 1e-3
	for range uslIterations {
		step, ok := u.step(n, x, damping)
		if !ok {
			break
		}
		next := USL{
			Lambda: max(u.Lambda*(1+step[0]), u.Lambda/10),
			Sigma:  min(max(u.Sigma+step[1], 0), 1), Kappa: max(u.Kappa+step[2], 0),
		}
		better := next.loss(n, x)
		if !(better < loss) {
			if damping *= 4; damping > 1e12 {
				break
			}
			continue
		}
		settled := math.Abs(step[0])+math.Abs(step[1])+math.Abs(step[2])/max(u.Kappa, 1e-12) < 1e-12
		u, loss, damping = next, better, max(damping/3, 1e-12)
		if settled {
			break
		}
	}
	mean, _ := meanDeviation(x)
	var spread float64
	for _, v := range x {
		spread += (v - mean) * (v - mean)
	}
	if spread > 0 {
		u.R2 = 1 - loss/spread
	}
	return u, nil
}

func distinct(v []float64) int {
	seen := map[float64]bool{}
	for _, x := range v {
		seen[x] = true
	}
	return len(seen)
}

func (u USL) loss(n, x []float64) (sum float64) {
	for i := range n {
		d := x[i] - u.At(n[i])
		sum += d * d
	}
	return sum
}

// step solves (JᵀJ + damping·diag)·δ = Jᵀr for the relative change of Lambda and the changes of Sigma and Kappa. A
// parameter at a bound is kept fixed if the step would move it beyond.
func (u USL) step(n, x []float64, damping float64) (delta [3]float64, ok bool) {
	var a [3][4]float64
	for i := range n {
		f := u.At(n[i])
		d := 1 + u.Sigma*(n[i]-1) + u.Kappa*n[i]*(n[i]-1)
		j := [3]float64{f, -f * (n[i] - 1) / d, -f * n[i] * (n[i] - 1) / d}
		for p := range 3 {
			for q := range 3 {
				a[p][q] += j[p] * j[q]
			}
			a[p][3] += j[p] * (x[i] - f)
		}
	}
	at := [3]float64{1, u.Sigma, u.Kappa}
	for p := range 3 {
		if p > 0 && (at[p] == 0 && a[p][3] < 0 || p == 1 && at[p] == 1 && a[p][3] > 0) {
			for q := range 3 {
				a[p][q], a[q][p] = 0, 0
			}
			a[p][p], a[p][3] = 1, 0
			continue
		}
		a[p][p] *= 1 + damping
	}
	return solve3(a)
}

// solve3 solves three linear equations by Gaussian elimination with pivoting; ok is false if there is no unique
// solution.
func solve3(a [3][4]float64) (v [3]float64, ok bool) {
	for p := range 3 {
		best := p
		for q := p + 1; q < 3; q++ {
			if math.Abs(a[q][p]) > math.Abs(a[best][p]) {
				best = q
			}
		}
		a[p], a[best] = a[best], a[p]
		if a[p][p] == 0 || math.IsNaN(a[p][p]) {
			return v, false
		}
		for q := p + 1; q < 3; q++ {
			f := a[q][p] / a[p][p]
			for c := p; c < 4; c++ {
				a[q][c] -= f * a[p][c]
			}
		}
	}
	for p := 2; p >= 0; p-- {
		v[p] = a[p][3]
		for q := p + 1; q < 3; q++ {
			v[p] -= a[p][q] * v[q]
		}
		v[p] /= a[p][p]
	}
	return v, true
}
