package stats

// GrowthBatches is how many batches a series is cut into before its growth is judged.
const GrowthBatches = 12

const (
	growthP     = 0.01 // of the Mann–Kendall test
	growthShare = 0.02 // of the median, over the whole run
)

// Growth is how a series changed over a run.
type Growth struct {
	Trend
	Slope  float64 // Theil–Sen, per batch
	Median float64 // of the batches
	Share  float64 // change over the run ÷ |Median|; 0 if Median is 0
}

// GrowthOf judges the batches of a run, at equal distances in time. The change over the run is
// Theil–Sen's slope times the number of batches.
func GrowthOf(batches []float64) Growth {
	g := Growth{Trend: MannKendall(batches), Slope: TheilSen(batches), Median: Median(batches)}
	if m := g.Median; m != 0 {
		g.Share = g.Slope * float64(len(batches)) / max(m, -m)
	}
	return g
}

// Grows reports whether the series rises: by Mann–Kendall's test with p < 0.01, and by more than
// 2 % of its median over the run, since over a long run the test sees growth that matters to
// nobody.
func (g Growth) Grows() bool { return g.P < growthP && g.Share > growthShare }

// Shrinks reports whether the series falls, by the same rule.
func (g Growth) Shrinks() bool { return g.P < growthP && g.Share < -growthShare }
