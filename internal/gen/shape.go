package gen

import (
	"math"
	"math/bits"
)

// normalUnit returns a fraction of a range in [0, 1): a standard normal number cut to ±sigmas,
// the range's ends.
func normalUnit(r *Rand, sigmas float64) float64 {
	for {
		var z float64
		if sigmas >= 1 {
			z = r.NormFloat64()
			if !(z >= -sigmas && z < sigmas) {
				continue
			}
		} else { // nearly flat: rejection from the uniform accepts at least 60 %
			z = float64(2*r.Float64()-1) * sigmas
			if r.Float64() > math.Exp(-z*z/2) {
				continue
			}
		}
		if u := z/(2*sigmas) + 0.5; u < 1 {
			return u
		}
	}
}

// exponentialUnit returns a fraction of a range in [0, 1) with density ∝ e^(-rate·x), by
// inversion. mass is 1 - e^-rate.
func exponentialUnit(r *Rand, rate, mass float64) float64 {
	t := float64(r.Float64() * mass)
	x := 0.0
	if rate > 1e-3 {
		x = -math.Log(1-t) / rate // quicker, and as exact as a fraction needs
	} else {
		x = -math.Log1p(-t) / rate
	}
	return min(x, 1-0x1p-53)
}

// spreadUnit maps a fraction in [0, 1) to a rank in [0, top]. Ranges wider than 2^32 take the
// bits that a double lacks from r.
func spreadUnit(u float64, top uint64, r *Rand) uint64 {
	if top < 1<<32 {
		return min(uint64(u*float64(top+1)), top)
	}
	w := uint64(u*0x1p52)<<12 | r.Uint64()>>52
	if top == math.MaxUint64 {
		return w
	}
	rank, _ := bits.Mul64(w, top+1)
	return rank
}
