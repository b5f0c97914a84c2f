package keyspace

import (
	"fmt"
	"strconv"
	"strings"

	"brunt/internal/load/gen"
)

// Lengths specifies the lengths of values in bytes.
type Lengths struct {
	Shape   string    // "constant" (also ""), "uniform" or "zipfian" (1 … Most), "histogram"
	Most    int       // the greatest length
	Block   int       // histogram: bucket k stands for the length (k+1)·Block
	Weights []float64 // histogram: weights of the buckets
	Short   bool      // histogram: the last bucket stands for its lower end, as in go-ycsb
}

// lengths draws lengths.
type lengths struct {
	Lengths
	zipf Zipf
	pick *gen.Weighted
}

func (l Lengths) prepare() (lengths, error) {
	out := lengths{Lengths: l}
	var err error
	switch l.Shape {
	case "", "constant":
	case "uniform", "zipfian":
		if l.Most < 1 {
			return out, fmt.Errorf("lengths up to %d; give a number above 0", l.Most)
		}
		out.zipf = NewZipf(int64(l.Most))
	case "histogram":
		if len(l.Weights)*l.Block > mostBytes {
			return out, fmt.Errorf("values of %d bytes; 1 GiB is the most", len(l.Weights)*l.Block)
		}
		out.pick, err = gen.NewWeighted(l.Weights)
	default:
		err = fmt.Errorf("unknown shape of lengths %q; use constant, uniform, zipfian or histogram", l.Shape)
	}
	return out, err
}

func (l *lengths) draw(r *gen.Rand) int {
	switch l.Shape {
	case "uniform":
		return 1 + int(r.Uint64n(uint64(l.Most)))
	case "zipfian":
		return 1 + int(l.zipf.Rank(r.Float64()))
	case "histogram":
		k := l.pick.Pick(r)
		if l.Short && k+1 == l.pick.Len() {
			return k * l.Block
		}
		return (k + 1) * l.Block
	}
	return l.Most
}

// Limits of histogram files: block size, number of buckets, and length of a value in bytes.
const (
	mostBlock  = 1 << 24
	mostBucket = 1 << 20
	mostBytes  = 1 << 30
)

// HistogramLength parses a histogram file: a line with "BlockSize", a tab and the number of bytes per bucket, then
// lines with a bucket's number, a tab and its count. Bucket k stands for the length (k+1)·BlockSize. With faults, the
// last bucket stands for k·BlockSize, as in go-ycsb. name is used in errors.
func HistogramLength(name string, data []byte, faults bool) (Lengths, error) {
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	head := strings.Split(strings.TrimSpace(lines[0]), "\t")
	if len(head) != 2 || head[0] != "BlockSize" {
		return Lengths{}, fmt.Errorf("%s:1: the first line must be BlockSize, a tab and a number", name)
	}
	block, err := strconv.Atoi(strings.TrimSpace(head[1]))
	if err != nil || block < 1 || block > mostBlock {
		return Lengths{}, fmt.Errorf("%s:1: block size %q; give a number from 1 to %d", name, head[1], mostBlock)
	}
	var weights []float64
	for i, line := range lines[1:] {
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		bucket, count, _ := strings.Cut(line, "\t")
		k, err1 := strconv.Atoi(strings.TrimSpace(bucket))
		n, err2 := strconv.ParseUint(strings.TrimSpace(count), 10, 48)
		if err1 != nil || err2 != nil || k < 0 || k > mostBucket {
			return Lengths{}, fmt.Errorf("%s:%d: %q isn't a bucket's number, a tab and a count", name, i+2, line)
		}
		for len(weights) <= k {
			weights = append(weights, 0)
		}
		weights[k] = float64(n)
	}
	l := Lengths{Shape: "histogram", Most: len(weights) * block, Block: block, Weights: weights, Short: faults}
	if _, err := l.prepare(); err != nil {
		return Lengths{}, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}
