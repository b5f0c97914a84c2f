package cassandrastress

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/load/gen"
)

// Distribution is a distribution of whole numbers, as cassandra-stress's options and profiles describe it (class
// OptionDistribution of its sources):
//
//	FIXED(n)                     n
//	UNIFORM(min..max)            each number equally often
//	GAUSSIAN(min..max)           normal, mean in the middle, three standard deviations to an end
//	GAUSSIAN(min..max,n)         n standard deviations to an end
//	GAUSSIAN(min..max,mean,sd)
//	EXP(min..max)                exponential, with a mean of (max−min) / −ln √(1/(max−min))
//	EXTREME(min..max,shape)      Weibull, with a scale of (max−min) / (−ln √(1/(max−min)))^(1/shape)
//	QEXTREME(min..max,shape,n)   the same, in n parts of equal probability, uniform within each
//	SEQ(min..max)                one after the other
//
// Draws beyond an end count as that end. A ~ before the name mirrors the distribution. Numbers may end in K, M or B.
type Distribution struct {
	Name     string // in lower case, without ~
	Min, Max int64
	Inverted bool

	mean, deviation float64 // gaussian; mean also exp
	shape, scale    float64 // extreme
	bounds          []int64 // qextreme: starts of the parts, and the end
}

var (
	distributionForm = lazyregexp.New(`^(~?)([A-Za-z]+)\((.+)\)$`)
	numberForm       = lazyregexp.New(`^([0-9]+)([kmbKMB]?)$`)
)

// aliases are other names of distributions.
var aliases = map[string]string{"extr": "extreme", "weibull": "extreme", "qextr": "qextreme", "gauss": "gaussian",
	"normal": "gaussian", "norm": "gaussian"}

// distributionNames are listed in messages.
const distributionNames = "FIXED, UNIFORM, GAUSSIAN, EXP, EXTREME, QEXTREME or SEQ"

// ParseNumber parses a number that may end in K, M or B.
func ParseNumber(text string) (int64, error) {
	m := submatch(numberForm(), strings.TrimSpace(text))
	if m == nil {
		return 0, fmt.Errorf("%q is no whole number, with K, M or B if you like", text)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	factor := map[string]int64{"": 1, "k": 1e3, "m": 1e6, "b": 1e9}[strings.ToLower(m[2])]
	if err != nil || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is too large", text)
	}
	return n * factor, nil
}

func submatch(form *regexp.Regexp, text string) []string { return form.FindStringSubmatch(text) }

// ParseDistribution parses the text of a distribution.
func ParseDistribution(text string) (*Distribution, error) {
	m := submatch(distributionForm(), strings.TrimSpace(text))
	if m == nil {
		return nil, fmt.Errorf("%q is no distribution; write for example UNIFORM(1..10) or FIXED(5)", text)
	}
	d := &Distribution{Name: strings.ToLower(m[2]), Inverted: m[1] != ""}
	if name, ok := aliases[d.Name]; ok {
		d.Name = name
	}
	args := strings.Split(m[3], ",")
	most, known := map[string][2]int{"fixed": {1, 1}, "uniform": {1, 1}, "gaussian": {1, 3}, "exp": {1, 1},
		"extreme": {2, 2}, "qextreme": {3, 3}, "seq": {1, 1}}[d.Name]
	switch {
	case !known:
		return nil, fmt.Errorf("%q is no distribution; use %s", m[2], distributionNames)
	case len(args) < most[0] || len(args) > most[1]:
		return nil, fmt.Errorf("%s: %d arguments where there must be %d to %d", text, len(args), most[0], most[1])
	}
	if err := d.parse(args); err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return d, nil
}

// parse reads the arguments.
func (d *Distribution) parse(args []string) (err error) {
	first, last, ranged := strings.Cut(args[0], "..")
	if d.Name == "fixed" {
		d.Min, err = ParseNumber(args[0])
		d.Max = d.Min
		return err
	}
	if !ranged {
		return fmt.Errorf("%q is no range; write for example 1..10", args[0])
	}
	if d.Min, err = ParseNumber(first); err != nil {
		return err
	}
	if d.Max, err = ParseNumber(strings.TrimLeft(last, ".")); err != nil {
		return err
	}
	if d.Min > d.Max {
		return fmt.Errorf("the start %d is above the end %d", d.Min, d.Max)
	}
	more := make([]float64, len(args)-1)
	for i := range more {
		if more[i], err = strconv.ParseFloat(strings.TrimSpace(args[i+1]), 64); err != nil || !(more[i] > 0 ||
			d.Name == "gaussian" && len(more) == 2 && i == 0) || math.IsInf(more[i], 0) {
			return fmt.Errorf("%q is no number above 0", args[i+1])
		}
	}
	d.shapeUp(more)
	if d.Name == "qextreme" {
		if more[1] < 1 || more[1] != math.Trunc(more[1]) || more[1] > 1e6 {
			return fmt.Errorf("%v is no number of parts", more[1])
		}
		d.quantize(int(more[1]))
	}
	return nil
}

// shapeUp computes the parameters of the continuous distribution.
func (d *Distribution) shapeUp(more []float64) {
	width := float64(d.Max - d.Min)
	tail := math.Log(width) / 2 // −ln √(1/width)
	switch d.Name {
	case "gaussian":
		d.mean, d.deviation = (float64(d.Min)+float64(d.Max))/2, width/2/3
		if len(more) == 1 {
			d.deviation = width / 2 / more[0]
		}
		if len(more) == 2 {
			d.mean, d.deviation = more[0], more[1]
		}
	case "exp":
		if d.mean = width / tail; !(tail > 0) {
			d.mean = width
		}
	case "extreme", "qextreme":
		d.shape = more[0]
		if d.scale = width / math.Pow(tail, 1/d.shape); !(tail > 0) {
			d.scale = width
		}
	}
}

// quantize computes the parts of qextreme.
func (d *Distribution) quantize(parts int) {
	d.bounds = make([]int64, parts+1)
	d.bounds[0], d.bounds[parts] = d.Min, d.Max+1
	for i := 1; i < parts; i++ {
		p := float64(i) / float64(parts)
		d.bounds[i] = d.offset(d.scale * math.Pow(-math.Log1p(-p), 1/d.shape))
	}
}

// offset returns the number at a distance from the start.
func (d *Distribution) offset(x float64) int64 {
	return d.Min + int64(math.Min(math.Max(0, x), float64(d.Max-d.Min)))
}

// Draw draws a number. index numbers the draws of SEQ, which alone needs it.
func (d *Distribution) Draw(r *gen.Rand, index uint64) int64 {
	v := d.draw(r, index)
	if d.Inverted {
		return d.Max - (v - d.Min)
	}
	return v
}

func (d *Distribution) draw(r *gen.Rand, index uint64) int64 {
	switch d.Name {
	case "uniform":
		return d.Min + int64(r.Uint64n(uint64(d.Max-d.Min)+1))
	case "seq":
		return d.Min + int64(index%(uint64(d.Max-d.Min)+1))
	case "gaussian":
		x := d.mean + d.deviation*r.NormFloat64()
		return int64(math.Min(math.Max(x, float64(d.Min)), float64(d.Max)))
	case "exp":
		return d.offset(d.mean * r.ExpFloat64())
	case "extreme":
		return d.offset(d.scale * math.Pow(r.ExpFloat64(), 1/d.shape))
	case "qextreme":
		v := d.offset(d.scale * math.Pow(r.ExpFloat64(), 1/d.shape))
		part, found := slices.BinarySearch(d.bounds, v)
		if !found {
			part--
		}
		for part+1 < len(d.bounds)-1 && d.bounds[part+1] == d.bounds[part] {
			part++
		}
		return d.bounds[part] + int64(r.Float64()*float64(d.bounds[part+1]-d.bounds[part]))
	}
	return d.Min
}

// Mean returns the mean of the range, which is the mean of symmetric distributions.
func (d *Distribution) Mean() float64 { return (float64(d.Min) + float64(d.Max)) / 2 }

// Fixed reports whether all draws are the same.
func (d *Distribution) Fixed() bool { return d.Min == d.Max }

// Ratio is a distribution of fractions: DIST/n.
type Ratio struct {
	*Distribution
	Divisor float64
}

// ParseRatio parses the text of a ratio, such as FIXED(1)/1.
func ParseRatio(text string) (*Ratio, error) {
	dist, divisor, ok := cutLast(text, "/")
	if !ok {
		return nil, fmt.Errorf("%q is no ratio; write for example FIXED(1)/2", text)
	}
	d, err := ParseDistribution(dist)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(divisor), 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return nil, fmt.Errorf("%q is no number above 0", divisor)
	}
	switch {
	case d.Max == 0:
		return nil, fmt.Errorf("%s is always 0", text)
	case float64(d.Min) > n:
		return nil, fmt.Errorf("%s is always above 1; write FIXED(1)/1 for all", text)
	}
	return &Ratio{d, n}, nil
}

func cutLast(text, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// DrawShare draws a fraction from 0 to 1.
func (r *Ratio) DrawShare(random *gen.Rand, index uint64) float64 {
	return math.Min(1, float64(r.Draw(random, index))/r.Divisor)
}

// all reports whether the fraction is always 1.
func (r *Ratio) all() bool { return float64(r.Min) >= r.Divisor }
