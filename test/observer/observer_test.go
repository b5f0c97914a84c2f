package observer

import (
	"slices"
	"testing"
	"time"
)

// Outages are all times without a success, each with its beginning and its end.
func TestOutages(t *testing.T) {
	o := &Observer{began: time.Unix(1000, 0)}
	for name, row := range map[string]struct {
		ticks string // + for a success
		least int    // in ticks
		want  [][2]int
	}{
		"none":                {"+++", 1, nil},
		"nothing was written": {"", 1, nil},
		"several":             {"+--+-++---", 1, [][2]int{{1, 3}, {4, 5}, {7, 10}}},
		"short ones":          {"+--+-++---", 2, [][2]int{{1, 3}, {7, 10}}},
		"from the beginning":  {"--+", 1, [][2]int{{0, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			var good []bool
			for _, c := range row.ticks {
				good = append(good, c == '+')
			}
			var got [][2]int
			for _, one := range o.outages(good, time.Duration(row.least)*Every) {
				got = append(got, [2]int{int(one.From.Sub(o.began) / Every), int(one.To.Sub(o.began) / Every)})
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

// What one node accepts is no outage of the whole, but one of the others.
func TestOutagesOfNodes(t *testing.T) {
	o := &Observer{began: time.Unix(1000, 0), cancel: func() {},
		good: [][]bool{{true, false, false, true}, {true, true, false, false}}}
	a := o.End(0)
	if len(a.All) != 1 || a.All[0].From != o.began.Add(2*Every) || a.All[0].Length() != Every {
		t.Errorf("all: %v", a.All)
	}
	if len(a.Nodes) != 2 || len(a.Nodes[0]) != 1 || len(a.Nodes[1]) != 1 || a.Nodes[1][0].Length() != 2*Every {
		t.Errorf("nodes: %v", a.Nodes)
	}
}

// Outages agree if there are as many, and both ends of each are near.
func TestAgree(t *testing.T) {
	at := func(fromMs, toMs int64) Outage { return Outage{time.UnixMilli(fromMs), time.UnixMilli(toMs)} }
	for name, row := range map[string]struct {
		reported, observed []Outage
		errs               int
	}{
		"the same":          {[]Outage{at(1000, 1500), at(3000, 3500)}, []Outage{at(1004, 1495), at(3000, 3510)}, 0},
		"one is missing":    {[]Outage{at(1000, 1500)}, []Outage{at(1000, 1500), at(3000, 3500)}, 1},
		"one is made up":    {[]Outage{at(1000, 1500), at(3000, 3500)}, []Outage{at(1000, 1500)}, 1},
		"counted twice":     {[]Outage{at(1000, 1500), at(1005, 1505)}, []Outage{at(1000, 1500)}, 1},
		"two made into one": {[]Outage{at(1000, 2500)}, []Outage{at(1000, 1500), at(2000, 2500)}, 3},
		"too long":          {[]Outage{at(1000, 1800)}, []Outage{at(1000, 1500)}, 2},
		"short ones":        {nil, []Outage{at(1000, 1105)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if errs := Agree(row.reported, row.observed, 100*time.Millisecond, 10*time.Millisecond); len(errs) != row.errs {
				t.Errorf("%d differences, want %d: %v", len(errs), row.errs, errs)
			}
		})
	}
}
