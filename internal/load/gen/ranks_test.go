package gen

import (
	"math"
	"testing"
)

// ranks returns n ranks with a Spec's distribution; n = 0 means 2^64.
func ranks(spec *Spec, n uint64) (*Ranks, error) {
	d, err := newRanks(spec, n-1, axis{})
	if err != nil {
		return nil, err
	}
	return &d, nil
}

// chiSquareLimit is the value that a chi-square statistic exceeds with probability 10^-6, by degrees of freedom:
// scipy.stats.chi2.isf(1e-6, df), SciPy 1.17.1.
var chiSquareLimit = map[int]float64{
	1: 23.928, 2: 27.631, 3: 30.665, 4: 33.377, 5: 35.888, 6: 38.258, 7: 40.522, 8: 42.701,
	9: 44.811, 10: 46.863, 11: 48.866, 12: 50.825, 13: 52.747, 14: 54.635, 15: 56.493,
	16: 58.324, 17: 60.131, 18: 61.914, 19: 63.677, 23: 70.555, 51: 114.076, 65: 134.202, 99: 180.792,
}

// fit fails the test if counts of draws don't follow the probabilities. Cells with fewer than 5 expected draws are
// joined with the next.
func fit(t *testing.T, name string, counts, p []float64, draws float64) {
	t.Helper()
	var chi2, seen, expected float64
	df := -1
	for i := range p {
		seen, expected = seen+counts[i], expected+p[i]*draws
		if expected >= 5 {
			chi2 += (seen - expected) * (seen - expected) / expected
			seen, expected = 0, 0
			df++
		}
	}
	limit, ok := chiSquareLimit[df]
	if !ok {
		t.Fatalf("%s: no limit for %d degrees of freedom", name, df)
	}
	if chi2 > limit {
		t.Errorf("%s: chi-square %.1f with %d degrees of freedom exceeds %.1f; counts %v", name, chi2, df, limit, counts)
	}
}

// Probabilities from SciPy 1.17.1: zipfian.pmf(1..20, s, 20), and differences of
// truncnorm.cdf(linspace(-p, p, 21), -p, p) and truncexpon.cdf(linspace(0, p, 21), p).
func TestRanksFit(t *testing.T) {
	flat := make([]float64, 20)
	for i := range flat {
		flat[i] = 0.05
	}
	hot := make([]float64, 20)
	for i := range hot {
		hot[i] = 0.8 / 4
		if i >= 4 {
			hot[i] = 0.2 / 16
		}
	}
	hist := append(make([]float64, 5), 0.5/15, 0.5/15, 0.5/15, 0.5/15, 0.5/15, 0.5/15, 0.5/15, 0.5/15, 0.5/15, 0.5/15,
		0.5/15, 0.5/15, 0.5/15, 0.5/15, 0.5/15)
	hist[0], hist[1] = 0.25, 0.25
	for _, c := range []struct {
		name string
		spec Spec
		p    []float64
	}{
		{"uniform", Spec{}, flat},
		{"hotspot", Spec{Distribution: Hotspot}, hot},
		{"histogram", Spec{Distribution: Histogram, Buckets: []Bucket{{0, 1, 1}, {2, 4, 0}, {5, 19, 1}}}, hist},
		{"zipf 0.5", Spec{Distribution: Zipf, Param: 0.5}, []float64{0.131661148528958, 0.0930984909436355,
			0.0760145995450092, 0.065830574264479, 0.0588806556212893, 0.0537504388074559, 0.0497632366195372,
			0.0465492454718177, 0.0438870495096527, 0.0416349108705235, 0.0396973299216188, 0.0380072997725046,
			0.036516232462126, 0.0351879220674655, 0.0339947623730131, 0.0329152871322395, 0.0319325189514723,
			0.0310328303145452, 0.0302051390120119, 0.0294403278106447}},
		{"zipf 1", Spec{Distribution: Zipf, Param: 1}, []float64{0.277952296524402, 0.138976148262201, 0.0926507655081339,
			0.0694880741311004, 0.0555904593048803, 0.0463253827540669, 0.0397074709320574, 0.0347440370655502,
			0.0308835885027113, 0.0277952296524402, 0.0252683905931274, 0.0231626913770335, 0.0213809458864924,
			0.0198537354660287, 0.0185301531016268, 0.0173720185327751, 0.0163501350896707, 0.0154417942513556,
			0.0146290682381264, 0.0138976148262201}},
		{"zipf default, 1.1", Spec{Distribution: Zipf}, []float64{0.313335966865533, 0.146176397260313, 0.0935786700951862,
			0.0681937006139312, 0.0533510835508555, 0.0436559932514738, 0.0368470229665462, 0.0318134862438908,
			0.0279475337108099, 0.0248891605435924, 0.0224118803576533, 0.0203662409909666, 0.0186497305496018,
			0.017189744033851, 0.0159334515496868, 0.0148415161206763, 0.0138840585210339, 0.0130379854921364,
			0.0122851733228477, 0.011611203959414}},
		{"zipf 2.5", Spec{Distribution: Zipf, Param: 2.5}, []float64{0.74945249504394, 0.132485735355687, 0.0480773999731617,
			0.0234203904701231, 0.0134066137986006, 0.00849896388571013, 0.00578094729254558, 0.00414017922986521,
			0.00308416664627136, 0.0023699768824349, 0.00186750768163519, 0.0015024187491613, 0.00122994510669338,
			0.00102193675806025, 0.000860034676171489, 0.000731887202191347, 0.00062895823294298, 0.000545208787471962,
			0.000476277546126396, 0.000418956681206268}},
		{"normal 0.5", Spec{Distribution: Normal, Param: 0.5}, []float64{0.0465304829034689, 0.0475890625778487,
			0.0485502231377311, 0.049407149737802, 0.0501536864674044, 0.0507844099423478, 0.0512946948925659,
			0.0516807706365247, 0.05193976747795, 0.0520697522263567, 0.0520697522263562, 0.0519397674779501, 0.0516807706365245,
			0.0512946948925663, 0.0507844099423475, 0.0501536864674047, 0.0494071497378017, 0.0485502231377311,
			0.0475890625778487, 0.046530482903469}},
		{"normal default, 3", Spec{Distribution: Normal}, []float64{0.00212280691716861, 0.0047433682484793,
			0.00969305390699949, 0.018114804828873, 0.0309604691085482, 0.0483931205090895, 0.0691772195099515,
			0.0904371542764019, 0.108127381941069, 0.11823062075342, 0.11823062075342, 0.108127381941069, 0.090437154276402,
			0.0691772195099516, 0.0483931205090895, 0.0309604691085482, 0.018114804828873, 0.00969305390699948,
			0.00474336824847932, 0.0021228069171686}},
		{"exponential 0.5", Spec{Distribution: Exponential, Param: 0.5}, []float64{0.0627497124773055, 0.061200416556044,
			0.0596893728873726, 0.0582156370198097, 0.0567782878204639, 0.0553764268992961, 0.0540091780475959,
			0.0526756866903232, 0.0513751193519713, 0.0501066631356161, 0.048869525214831, 0.0476629323381433,
			0.0464861303457267, 0.0453383836980286, 0.0442189750160309, 0.043127204632868, 0.0420623901565106,
			0.0410238660432478, 0.0400109831817022, 0.0390231084871128}},
		{"exponential default, 5", Spec{Distribution: Exponential},
			[]float64{0.222699756081783, 0.173438744426304, 0.135074229974127, 0.105195916076617, 0.081926661816383,
				0.0638045483770253, 0.0496910322395445, 0.0386994148197838, 0.0301391345660528, 0.0234723816011363,
				0.0182803091715158, 0.0142367190975639, 0.0110875679815504, 0.00863500662638894, 0.00672494992245842,
				0.0052373962657265, 0.00407888831300318, 0.00317664141222762, 0.00247397081937994, 0.00192673041142888}},
	} {
		const draws = 200000
		d, err := ranks(&c.spec, 20)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		counts, s := make([]float64, 20), NewStream(42, c.name)
		for i := uint64(0); i < draws; i++ {
			counts[d.At(s, i)]++
		}
		for i, p := range c.p {
			if p == 0 && counts[i] > 0 {
				t.Errorf("%s: rank %d came %v times, want never", c.name, i, counts[i])
			}
		}
		fit(t, c.name, counts, c.p, draws)
	}
}

// scipy.stats.zipfian.cdf(k, 1.0, 10**6) for k = 1, 10, …, 10^5 (SciPy 1.17.1).
func TestZipfOfMillionFits(t *testing.T) {
	cdf := []float64{0.06947953777315154, 0.203503360437949, 0.36041659218043914, 0.5200870554054325, 0.6800383432900718,
		0.8400177647127666, 1}
	p, below := make([]float64, len(cdf)), 0.0
	for i, c := range cdf {
		p[i], below = c-below, c
	}
	d, err := ranks(&Spec{Distribution: Zipf, Param: 1}, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	const draws = 200000
	counts, s := make([]float64, len(p)), NewStream(42)
	for i := uint64(0); i < draws; i++ {
		counts[int(math.Ceil(math.Log10(float64(d.At(s, i)+1))))]++
	}
	fit(t, "decades", counts, p, draws)
}

func TestRanksStayInside(t *testing.T) {
	specs := []Spec{{}, {Distribution: Sequential}, {Distribution: Hotspot}, {Distribution: Hotspot, HotFraction: 1},
		{Distribution: Hotspot, HotFraction: 1e-300, Param: 1e-300},
		{Distribution: Histogram, Buckets: []Bucket{{Weight: 1}}}}
	for _, p := range []float64{1e-300, 1e-9, 0.5, 1 - 1e-12, 1, 1 + 1e-12, 2, 20, 700, 1e300} {
		specs = append(specs, Spec{Distribution: Zipf, Param: p}, Spec{Distribution: Normal, Param: p},
			Spec{Distribution: Exponential, Param: p})
	}
	for _, spec := range specs {
		for _, n := range []uint64{1, 2, 3, 1000, 1<<32 + 1, 1 << 53, 1<<63 + 1, math.MaxUint64, 0} {
			d, err := ranks(&spec, n)
			if err != nil {
				t.Fatalf("%+v of %d: %v", spec, n, err)
			}
			for i := uint64(0); i < 50; i++ {
				if k := d.At(NewStream(1), i); k > n-1 {
					t.Fatalf("%+v: rank %d of %d", spec, k, n)
				}
			}
		}
	}
}

// Over 2^64 ranks, both the upper and the lower bits of the draws must vary, for each distribution.
func TestRanksOverAll64Bits(t *testing.T) {
	for _, dist := range []Distribution{Uniform, Normal, Exponential, Hotspot} {
		d, err := ranks(&Spec{Distribution: dist, Param: 0.5}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var or, and uint64 = 0, math.MaxUint64
		for i := uint64(0); i < 200; i++ {
			k := d.At(NewStream(3), i)
			or, and = or|k, and&k
		}
		if or != math.MaxUint64 || and != 0 {
			t.Errorf("%s: bits %x are never set, %x never cleared", dist, ^or, and)
		}
	}
}

func TestHistogramEqualParts(t *testing.T) {
	d, err := ranks(&Spec{Distribution: Histogram, Buckets: []Bucket{{Weight: 1}, {Weight: 0}, {Weight: 3}}}, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []span{{0, 2}, {3, 5}, {6, 9}}
	for i, s := range d.spans {
		if s != want[i] {
			t.Errorf("part %d = %v, want %v", i, s, want[i])
		}
	}
	const draws = 50000
	counts := make([]float64, 10)
	for i := uint64(0); i < draws; i++ {
		counts[d.At(NewStream(5), i)]++
	}
	fit(t, "parts", counts, []float64{1. / 12, 1. / 12, 1. / 12, 0, 0, 0, 3. / 16, 3. / 16, 3. / 16, 3. / 16}, draws)
}
