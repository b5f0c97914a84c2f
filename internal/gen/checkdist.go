package gen

// checkDistribution checks a Spec's distribution and its parameters, all but what depends on
// the range.
func checkDistribution(spec *Spec) *FieldError {
	p := spec.Param
	if !isFinite(p) || p < 0 {
		return fault("distribution_param", "%v is not a number above 0", p)
	}
	switch spec.Distribution {
	case "", Uniform, Normal, Zipf, Exponential, Sequential:
	case Hotspot:
		if p > 1 {
			return fault("distribution_param", "hotspot's share of draws is %v: give a number from 0 to 1", p)
		}
		if h := spec.HotFraction; !(h >= 0 && h <= 1) {
			return fault("hot_fraction", "%v is not between 0 and 1", h)
		}
	case Histogram:
		return checkBuckets(spec.Buckets)
	default:
		return fault("distribution", "%q is unknown: use uniform, normal, zipf, exponential, hotspot, sequential or histogram", spec.Distribution)
	}
	return nil
}
