package verify

import "slices"

// Divisions finds addresses that both acknowledged writes that the other one doesn't have: a split brain. The zero
// value is ready for use.
type Divisions struct {
	sides map[[2]int]*side // by the address that acknowledged and the one that lacks
}

// side holds the writes that one address acknowledged and has, and another one lacks.
type side struct {
	writes  uint64
	firstNs int64 // when the first of them was acknowledged
}

// Division is a pair of addresses that have gone separate ways.
type Division struct {
	A, B         int    // numbers of the addresses, A < B
	OnlyA, OnlyB uint64 // writes that this address acknowledged and the other one lacks
	SinceNs      int64  // when the later of the two acknowledged its first such write: from then on both had taken some
}

// Add adds a key. about is the write that its judgement is about, which the address with number by acknowledged.
func (d *Divisions) Add(h *History, about, by int, readings []Reading) {
	if about < 0 || by < 0 || by >= len(readings) || !h.writes[about].acknowledged() {
		return
	}
	if m, shows := h.Match(readings[by]); m != Fits || shows != about {
		return
	}
	for i, r := range readings {
		m, _ := h.Match(r)
		if i == by || m != Missing && m != Old && m != Back {
			continue
		}
		if d.sides == nil {
			d.sides = map[[2]int]*side{}
		}
		s := d.sides[[2]int{by, i}]
		if s == nil {
			s = &side{firstNs: h.writes[about].EndNs}
			d.sides[[2]int{by, i}] = s
		}
		s.writes++
		s.firstNs = min(s.firstNs, h.writes[about].EndNs)
	}
}

// Found returns the divisions, by the numbers of their addresses.
func (d *Divisions) Found() (out []Division) {
	for pair, a := range d.sides {
		if b := d.sides[[2]int{pair[1], pair[0]}]; pair[0] < pair[1] && b != nil {
			out = append(out, Division{A: pair[0], B: pair[1], OnlyA: a.writes, OnlyB: b.writes,
				SinceNs: max(a.firstNs, b.firstNs)})
		}
	}
	slices.SortFunc(out, func(x, y Division) int {
		if x.A != y.A {
			return x.A - y.A
		}
		return x.B - y.B
	})
	return out
}
