package observe

// mostPoints bounds the memory of a series, which has to last for days.
const mostPoints = 4096

// point is one or more samples in a row.
type point struct {
	n        uint64
	sum      float64
	min, max float64
}

func (p point) mean() float64 { return p.sum / float64(p.n) }

func (p point) with(o point) point {
	return point{p.n + o.n, p.sum + o.sum, min(p.min, o.min), max(p.max, o.max)}
}

// series is a figure over time in fixed memory: when it is full, neighbours are joined, keeping
// sums and extremes, and each further point covers twice as many samples.
type series struct {
	points      []point
	per         uint64 // samples in a complete point
	all         point
	first, last float64
}

// note counts a value without a place in time.
func (s *series) note(v float64) {
	one := point{1, v, v, v}
	if s.all.n == 0 {
		s.first, s.all, s.per = v, one, 1
	} else {
		s.all = s.all.with(one)
	}
	s.last = v
}

func (s *series) add(v float64) {
	s.note(v)
	one := point{1, v, v, v}
	if n := len(s.points); n > 0 && s.points[n-1].n < s.per {
		s.points[n-1] = s.points[n-1].with(one)
		return
	}
	if len(s.points) == mostPoints {
		for i := range mostPoints / 2 {
			s.points[i] = s.points[2*i].with(s.points[2*i+1])
		}
		s.points = s.points[:mostPoints/2]
		s.per *= 2
	}
	s.points = append(s.points, one)
}

func (s *series) means() []float64 {
	return s.each(func(p point) float64 { return p.mean() })
}

func (s *series) minima() []float64 {
	return s.each(func(p point) float64 { return p.min })
}

func (s *series) each(f func(point) float64) []float64 {
	out := make([]float64, len(s.points))
	for i, p := range s.points {
		out[i] = f(p)
	}
	return out
}
