package stats

// GrowthBatches is how many batches a series is cut into before its growth is judged.
const GrowthBatches = 12

const (
	growthP     = 0.01 // of the Mann–Kendall test
	growthShare = 0.02 // of the median, over the whole run
	levelShare  = 0.1  // of the first half's slope
)

// Growth is how a series changed over a run.
type Growth struct {
	Trend
	Slope  float64 // Theil–Sen, per batch
	Median float64 // of the batches
	Share  float64 // change over the run ÷ |Median|; 0 if Median is 0
	Early  float64 // Theil–Sen of the first half of the batches
	Later  float64 // Theil–Sen of the second half
}

// GrowthOf judges the batches of a run, at equal distances in time. The change over the run is
// Theil–Sen's slope times the number of batches.
func GrowthOf(batches []float64) Growth {
	g := Growth{Trend: MannKendall(batches), Slope: TheilSen(batches), Median: Median(batches)}
	if m := g.Median; m != 0 {
		g.Share = g.Slope * float64(len(batches)) / max(m, -m)
	}
	half := len(batches) / 2
	g.Early, g.Later = TheilSen(batches[:half]), TheilSen(batches[half:])
	return g
}

// Grows reports whether the series rises: by Mann–Kendall's test with p < 0.01, and by more than
// 2 % of its median over the run, since over a long run the test sees growth that matters to
// nobody.
func (g Growth) Grows() bool { return g.P < growthP && g.Share > growthShare }

// Shrinks reports whether the series falls, by the same rule.
func (g Growth) Shrinks() bool { return g.P < growthP && g.Share < -growthShare }

// Levels reports whether a series that grows seems to come to rest: its later half rises at less
// than a tenth of the pace of the first. Caches that fill and heaps that find their size do so;
// leaks go on. A single step, such as one more thread, counts as coming to rest too.
func (g Growth) Levels() bool { return g.Later <= levelShare*g.Early }

// Steps reports whether a series that seems to grow does so by one step: of its batches' medians,
// in which a step leaves no value between its levels, the slope all but vanishes, or neither half
// rises at a tenth of the whole's pace.
func (g Growth) Steps() bool {
	return g.Share <= growthShare || g.Early < levelShare*g.Slope && g.Later < levelShare*g.Slope
}
