package core

import (
	"fmt"
	"strconv"
	"strings"

	"brunt/internal/gen"
)

// Lengths gives lengths of values, in bytes.
type Lengths struct {
	Most  int // the greatest
	shape lengthShape
	zipf  Zipf
	pick  *gen.Weighted
	block int
	short bool // the last bucket stands for its lower end
}

// lengthShape is how lengths spread. It is a number and no function, so that drawing a length
// leaves the random numbers on the stack.
type lengthShape uint8

const (
	constantLength lengthShape = iota
	uniformLength
	zipfianLength
	histogramLength
)

// ConstantLength is always n.
func ConstantLength(n int) Lengths { return Lengths{Most: n} }

// UniformLength is 1 … n, each alike.
func UniformLength(n int) Lengths { return Lengths{Most: n, shape: uniformLength} }

// ZipfianLength is 1 … n, short ones most often.
func ZipfianLength(n int) Lengths {
	return Lengths{Most: n, shape: zipfianLength, zipf: NewZipf(int64(n))}
}

func (l *Lengths) draw(r *gen.Rand) int {
	switch l.shape {
	case uniformLength:
		return 1 + int(r.Uint64n(uint64(l.Most)))
	case zipfianLength:
		return 1 + int(l.zipf.Rank(r.Float64()))
	case histogramLength:
		k := l.pick.Pick(r)
		if l.short && k+1 == l.pick.Len() {
			return k * l.block
		}
		return (k + 1) * l.block
	}
	return l.Most
}

// mostBlock and mostBucket bound what a histogram's file may ask for.
const (
	mostBlock  = 1 << 24
	mostBucket = 1 << 20
)

// HistogramLength reads a histogram file: a line "BlockSize", a tab and the number of bytes of a
// bucket, then lines of a bucket's number, a tab and its count. Bucket k stands for length
// (k+1)·BlockSize. With faults the last bucket stands for k·BlockSize, as in go-ycsb.
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
	if len(weights)*block > 1<<30 {
		return Lengths{}, fmt.Errorf("%s: values of %d bytes; 1 GiB is the most", name, len(weights)*block)
	}
	pick, err := gen.NewWeighted(weights)
	if err != nil {
		return Lengths{}, fmt.Errorf("%s: %w", name, err)
	}
	return Lengths{Most: len(weights) * block, shape: histogramLength, pick: pick, block: block, short: faults}, nil
}
