//go:build !nok6

// Package trend keeps k6's Trend metrics in fixed memory. k6 keeps every value of them, for its
// thresholds and its summary. Here the values are counted in buckets, and what k6 reads is a list of a
// fixed length with the same quantiles, mean, minimum and maximum.
package trend

import (
	"reflect"
	"unsafe"

	"go.k6.io/k6/v2/metrics"
)

// Points is how many values of a Trend k6 keeps: as long as there are no more they are the values
// themselves, and k6's figures are exact; then they are that many quantiles.
const Points = 10_001

// fields are those of a metrics.TrendSink, which k6 doesn't export.
type fields struct {
	values        *[]float64
	sorted        *bool
	count         *uint64
	min, max, sum *float64
}

// fieldsOf finds the fields of a sink. ok is false if k6 has changed them.
func fieldsOf(sink *metrics.TrendSink) (f fields, ok bool) {
	v := reflect.ValueOf(sink).Elem()
	find := func(name string, kind reflect.Type) unsafe.Pointer {
		field := v.FieldByName(name)
		if !field.IsValid() || field.Type() != kind {
			return nil
		}
		return unsafe.Pointer(field.UnsafeAddr())
	}
	float := reflect.TypeFor[float64]()
	f = fields{
		values: (*[]float64)(find("values", reflect.TypeFor[[]float64]())),
		sorted: (*bool)(find("sorted", reflect.TypeFor[bool]())),
		count:  (*uint64)(find("count", reflect.TypeFor[uint64]())),
		min:    (*float64)(find("min", float)), max: (*float64)(find("max", float)), sum: (*float64)(find("sum", float)),
	}
	ok = f.values != nil && f.sorted != nil && f.count != nil && f.min != nil && f.max != nil && f.sum != nil && v.NumField() == 6
	return f, ok
}

// Supported reports whether this k6's Trends can be kept in fixed memory.
func Supported() bool {
	_, ok := fieldsOf(metrics.NewTrendSink())
	return ok
}

// Distribution is what Fill takes from: values in ascending order, in buckets.
type Distribution struct {
	N             uint64
	Min, Max, Sum float64
	Each          func(f func(lo, hi float64, n uint64)) // ascending
}

// Fill makes a sink hold the quantiles of d instead of what it holds. k6 must not use the sink meanwhile.
// It does nothing if d is empty.
func Fill(sink *metrics.TrendSink, d Distribution) {
	f, ok := fieldsOf(sink)
	if !ok || d.N == 0 {
		return
	}
	n := uint64(Points)
	if d.N < n {
		n = d.N
	}
	values := (*f.values)[:0]
	step := 0.0
	if n > 1 {
		step = float64(d.N-1) / float64(n-1)
	}
	before := 0.0
	d.Each(func(lo, hi float64, in uint64) {
		// The value of rank r, from 0, lies in the bucket as far as its rank does.
		for uint64(len(values)) < n {
			r := float64(len(values)) * step
			if r >= before+float64(in) {
				break
			}
			v := lo + (hi-lo)*(r-before)/float64(in)
			values = append(values, min(max(v, d.Min), d.Max))
		}
		before += float64(in)
	})
	for uint64(len(values)) < n {
		values = append(values, d.Max)
	}
	values[0], values[n-1] = d.Min, d.Max
	*f.values, *f.sorted, *f.count = values, true, n
	*f.min, *f.max, *f.sum = d.Min, d.Max, d.Sum/float64(d.N)*float64(n)
}
