package history

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"brunt/internal/base/stats"
	"brunt/internal/plan/metric"
)

// Series is the history of one metric, by version, oldest first.
type Series struct {
	Name        string
	Environment string
	Metric      string
	Operation   string
	Unit        string
	Better      metric.Better
	Points      []Point
	// Noise is the relative standard deviation between runs of the same version, or 0 if no version was run more
	// than once.
	Noise float64
	// Autocorrelation is the lag-1 autocorrelation of the points. If it is high, the detected changes may be false.
	Autocorrelation float64
	Changes         []Change
}

// Point is the result of one version.
type Point struct {
	Version string
	Mean    float64 // mean over the version's runs; +Inf if a run contains an infinite time
	Runs    int
}

// Change is a version at which the level of a series changed.
type Change struct {
	stats.ChangePoint
	Version      string // first version on the new level
	Previous     string // last version on the old level
	Worse        bool
	Acknowledged string // reason given for acknowledging it; "" if not acknowledged
	Fresh        bool   // worse, not acknowledged, and not recovered since
}

// leastMagnitude is the smallest relative change that is reported by default; see Options.
const leastMagnitude = 0.03

// Options configure the search for changes. Zero values mean the defaults given below.
type Options struct {
	Window    int     // number of versions examined together; default 50
	P         float64 // highest p-value of a change; default 0.001
	Magnitude float64 // smallest relative change; default: 3 % or twice the series' Noise, whichever is greater
	// Permutations, if not 0, is the number of permutations of a permutation test that replaces the t test. It
	// suits series of any distribution.
	Permutations int
}

// Check returns an error if an option is outside its range. It names the flag that sets the option.
func (o Options) Check() error {
	switch {
	case o.Window < 4:
		return fmt.Errorf("--window %d: give at least 4 versions", o.Window)
	case !(o.P > 0 && o.P < 1):
		return fmt.Errorf("--max-p %g: give a number between 0 and 1", o.P)
	case o.Permutations < 0 || o.Permutations > 1e6:
		return fmt.Errorf("--permutations %d: give a number from 0 to 1000000", o.Permutations)
	case !(o.Magnitude >= 0 && o.Magnitude < 10):
		return fmt.Errorf("--magnitude %g: give a share such as 0.05", o.Magnitude)
	}
	return nil
}

// level returns the highest p-value of a change.
func (o Options) level() float64 { return cmp.Or(o.P, 0.001) }

// All builds the series of a history and finds their changes. Versions are in the order in which they were first
// added.
func All(entries []Entry, acknowledged []Acknowledged, o Options) []*Series {
	var all []*Series
	for _, e := range entries {
		for _, m := range e.Metrics {
			of := func(s *Series) bool {
				return s.Name == e.Series && s.Environment == e.Environment && s.Metric == m.Name && s.Operation == m.Operation
			}
			i := slices.IndexFunc(all, of)
			if i < 0 {
				i = len(all)
				all = append(all, &Series{
					Name: e.Series, Environment: e.Environment, Metric: m.Name, Operation: m.Operation, Unit: m.Unit, Better: m.Better,
				})
			}
			all[i].add(e.Version, float64(m.Mean), max(e.Count, 1))
		}
	}
	for _, s := range all {
		s.Noise = noise(entries, s)
		s.find(acknowledged, o)
	}
	slices.SortStableFunc(all, func(a, b *Series) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Environment, b.Environment))
	})
	return all
}

// add adds the mean of some runs to the point of their version, weighted by the number of runs.
func (s *Series) add(version string, mean float64, runs int) {
	for i := range s.Points {
		if p := &s.Points[i]; p.Version == version {
			p.Mean = (p.Mean*float64(p.Runs) + mean*float64(runs)) / float64(p.Runs+runs)
			p.Runs += runs
			return
		}
	}
	s.Points = append(s.Points, Point{version, mean, runs})
}

// noise returns the root mean square of the coefficients of variation of a series' entries with more than one run.
func noise(entries []Entry, s *Series) float64 {
	var sum, n float64
	for _, e := range entries {
		if e.Series != s.Name || e.Environment != s.Environment {
			continue
		}
		for _, m := range e.Metrics {
			if m.Name == s.Metric && m.Operation == s.Operation && e.Count > 1 && m.Mean != 0 &&
				!math.IsInf(float64(m.Mean), 0) {
				share := m.Deviation / float64(m.Mean)
				sum += share * share
				n++
			}
		}
	}
	if n == 0 {
		return 0
	}
	return math.Sqrt(sum / n)
}

// find finds the changes of the series.
func (s *Series) find(acknowledged []Acknowledged, o Options) {
	means := make([]float64, len(s.Points))
	for i, p := range s.Points {
		means[i] = p.Mean
	}
	drawn := ends(means)
	s.Autocorrelation = stats.Autocorrelation(drawn)
	least := cmp.Or(o.Magnitude, max(leastMagnitude, 2*s.Noise))
	points := o.changePoints(drawn, least)
	for i := range points {
		from, to := 0, len(means)
		if i > 0 {
			from = points[i-1].Index
		}
		if i+1 < len(points) {
			to = points[i+1].Index
		}
		points[i].Before, points[i].After = level(means[from:points[i].Index]), level(means[points[i].Index:to])
	}
	for _, p := range points {
		c := Change{ChangePoint: p, Version: s.Points[p.Index].Version, Previous: s.Points[p.Index-1].Version}
		c.Worse = s.worse(p.Before, p.After)
		for _, a := range acknowledged {
			if s.near(a.Version, p.Index) && (a.Series == "" || a.Series == s.Name) && (a.Metric == "" || a.Metric == s.Metric) {
				c.Acknowledged = cmp.Or(a.Reason, "acknowledged")
			}
		}
		// Comparing the last level with the level before the change shows whether the series has recovered.
		now := points[len(points)-1].After
		good := !s.worse(p.Before, now) || now-p.Before <= least*p.Before && p.Before-now <= least*p.Before
		c.Fresh = c.Worse && c.Acknowledged == "" && !good
		s.Changes = append(s.Changes, c)
	}
}

// ends returns a copy of means in which infinite values are replaced by twice the longest finite one. Changes can
// only be found in finite values, and a step from or to infinite times counts as a change.
func ends(means []float64) []float64 {
	longest := 0.0
	for _, x := range means {
		if !math.IsInf(x, 0) {
			longest = max(longest, x)
		}
	}
	out := slices.Clone(means)
	for i, x := range out {
		if math.IsInf(x, 0) {
			out[i] = 2 * longest
			if longest == 0 {
				out[i] = 1
			}
		}
	}
	return out
}

// level returns the mean of the finite values of a section of a series, or +Inf if at least half of its values are
// infinite.
func level(means []float64) float64 {
	var some []float64
	for _, x := range means {
		if !math.IsInf(x, 0) {
			some = append(some, x)
		}
	}
	if 2*len(some) <= len(means) {
		return math.Inf(1)
	}
	return stats.Mean(some)
}

// near reports whether a version is the one at index or a neighbour of it. Different metrics may date the same
// change one version apart.
func (s *Series) near(version string, index int) bool {
	at := slices.IndexFunc(s.Points, func(p Point) bool { return p.Version == version })
	return at >= 0 && at >= index-1 && at <= index+1
}

// changePoints returns the change points of a series. The result is deterministic, also with permutations.
func (o Options) changePoints(means []float64, magnitude float64) []stats.ChangePoint {
	c := stats.ChangeOptions{Window: o.Window, P: o.P, Magnitude: magnitude}
	if o.Permutations > 0 {
		return stats.PermutedChangePoints(means, c, o.Permutations, rand.New(rand.NewPCG(1, uint64(len(means)))))
	}
	return stats.ChangePoints(means, c)
}

func (s *Series) worse(before, after float64) bool {
	return s.Better == metric.Higher && after < before || s.Better == metric.Lower && after > before
}

// Fresh reports whether any series has a fresh regression.
func Fresh(all []*Series) bool {
	return slices.ContainsFunc(all, func(s *Series) bool {
		return slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Fresh })
	})
}

// Has reports whether any series contains the version.
func Has(all []*Series, version string) bool {
	return slices.ContainsFunc(all, func(s *Series) bool {
		return slices.ContainsFunc(s.Points, func(p Point) bool { return p.Version == version })
	})
}

// Series reads the store and builds its series. damaged names the lines of the store's files that couldn't be read.
func (s Store) Series(o Options) (all []*Series, damaged []string, err error) {
	entries, damaged, err := s.Entries()
	if err != nil {
		return nil, nil, err
	}
	acknowledged, more, err := s.Acknowledged()
	if err != nil {
		return nil, nil, err
	}
	return All(entries, acknowledged, o), append(damaged, more...), nil
}
