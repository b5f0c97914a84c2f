// Package verify determines what became of writes, given the values that the addresses return for their keys
// afterwards. It does no I/O.
//
// It implements the set check of Jepsen (set-full in jepsen/checker.clj), extended to keys that are written several
// times: a write can be the last one of its key unless an acknowledged write began after it had ended. A write without
// an answer can still be applied at any later time, so it can always be the last one.
package verify

import (
	"bytes"

	"github.com/cespare/xxhash/v2"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
)

// Write is one write of a key. Times are on the run's clock.
type Write struct {
	Index     uint64 // number of the operation
	Operation int
	Step      int
	Address   int
	SentNs    int64
	EndNs     int64
	Value     uint64 // Hash of the written value
	Effect    protocol.Effect
	Absent    bool // the write deleted the key
	Foreign   bool // the write is another machine's or wasn't recorded: its result isn't known
}

func (w *Write) acknowledged() bool {
	return w.Effect == protocol.Applied || w.Effect == protocol.AppliedAgain
}

// State is the kind of answer that an address gave for a key.
type State uint8

// The states of readings.
const (
	Unread  State = iota // no usable answer
	Absent               // the key doesn't exist
	Present              // the key exists once
	Several              // the key exists several times
)

// Reading is the answer of an address for a key.
type Reading struct {
	Value uint64 // Hash of the value, if it is Present
	State State
}

// Match is how a reading agrees with the writes of its key.
type Match uint8

// The matches.
const (
	Unasked    Match = iota // the address didn't answer
	Fits                    // the value can be the key's current one
	Missing                 // the key is absent although it must exist
	Old                     // the value was certainly overwritten
	Back                    // the value was deleted, or its write certainly failed
	Unexpected              // no write wrote the value
	Duplicate               // the key exists several times
	NumMatches = int(Duplicate) + 1
)

// Fate is the result for a key or for an acknowledged write.
type Fate uint8

// The fates.
const (
	OK          Fate = iota
	Overwritten      // of writes only: another write came later or at the same time
	Lost
	Duplicated
	Stale       // an address that takes no writes has an older value, another address the written one
	Resurrected // a value is there that was deleted or whose write certainly failed
	Unknown     // a value is there that no write wrote
	NeverRead   // no address answered
)

// String returns the fate's name in records.
func (f Fate) String() string {
	return [...]string{"ok", "overwritten", "lost", "duplicated", "stale", "resurrected", "unexpected", "never-read"}[f]
}

// History holds the writes of a key.
type History struct {
	writes   []Write
	lastSent int64 // latest start of an acknowledged write
	known    bool  // a write was acknowledged, so the key's expected state is known
	last     int   // index of the acknowledged write that ended last among those that can be the last; −1 if none can
	moving   bool  // the key may be written to while it is read
}

// Of returns the history of a key's writes. It keeps the slice.
func Of(writes []Write) History {
	h := History{writes: writes, last: -1}
	for i := range writes {
		if w := &writes[i]; w.acknowledged() && (!h.known || w.SentNs > h.lastSent) {
			h.lastSent, h.known = w.SentNs, true
		}
	}
	for i := range writes {
		w := &writes[i]
		if w.acknowledged() && !h.superseded(w) && (h.last < 0 || w.EndNs > writes[h.last].EndNs) {
			h.last = i
		}
	}
	return h
}

// During returns the history of a key that may be written to while it is read, so that addresses may show different
// writes. Writes that were in flight when the key was read, or began later, must be Unsure: their effect is no loss.
func During(writes []Write) History {
	h := Of(writes)
	h.moving = true
	return h
}

// superseded reports whether an acknowledged write began after w had ended, so that w was certainly overwritten.
func (h *History) superseded(w *Write) bool {
	return w.Effect == protocol.Applied && h.known && h.lastSent > w.EndNs
}

// candidate reports whether w can be the last write of the key.
func (h *History) candidate(w *Write) bool {
	return w.Effect != protocol.NotApplied && !h.superseded(w)
}

// Match returns how a reading agrees with the history, and the index of the write that it shows; −1 if it shows none.
func (h *History) Match(r Reading) (m Match, shows int) {
	switch r.State {
	case Unread:
		return Unasked, -1
	case Several:
		return Duplicate, -1
	case Absent:
		return h.matchAbsent()
	}
	shows, m = -1, Unexpected
	deleted := h.last >= 0
	for i := range h.writes {
		w := &h.writes[i]
		if h.candidate(w) && w.acknowledged() && !w.Absent {
			deleted = false
		}
		if w.Absent || w.Value != r.Value {
			continue
		}
		switch better := rank(h, w); {
		case shows < 0 || better < rank(h, &h.writes[shows]):
			shows = i
		}
	}
	switch {
	case shows < 0 && !h.known:
		return Fits, -1 // the value from before the run
	case shows < 0:
		return Unexpected, -1
	case h.candidate(&h.writes[shows]):
		return Fits, shows
	case deleted || h.writes[shows].Effect == protocol.NotApplied:
		return Back, shows
	}
	return Old, shows
}

// rank orders writes of the same value by how well they explain that it is there: acknowledged writes that can be the
// last, other writes that can be the last, overwritten writes, failed writes.
func rank(h *History, w *Write) int {
	switch {
	case h.candidate(w) && w.acknowledged():
		return 0
	case h.candidate(w):
		return 1
	case w.Effect != protocol.NotApplied:
		return 2
	}
	return 3
}

func (h *History) matchAbsent() (m Match, shows int) {
	shows = -1
	for i := range h.writes {
		if w := &h.writes[i]; w.Absent && h.candidate(w) && (shows < 0 || w.acknowledged()) {
			shows = i
		}
	}
	if shows >= 0 || !h.known {
		return Fits, shows
	}
	return Missing, -1
}

// Judgement is the conclusion from the readings of a key from all addresses.
type Judgement struct {
	Fate  Fate
	Shows int // index of the write whose value is there; −1 if there is none
	Node  int // first address with a wrong value; −1 if there is none
}

// Node is what is known of an address besides its readings.
type Node struct {
	Primary     bool  // it says that it takes writes
	AckedSentNs int64 // when the latest write that it acknowledged was sent; 0 if it acknowledged none
}

// leads reports whether clients see what an address has rather than what others have: it takes writes now, or it has
// acknowledged a write that began after w had ended. What such an address doesn't have is lost, even if another address
// still has it: a primary that was replaced and returned, or the other side of a split brain.
func (n *Node) leads(w *Write) bool { return n.Primary || n.AckedSentNs > w.EndNs }

// Judge returns the result for a key, given one reading from each address that was to be read. nodes describes these
// addresses; nil if nothing is known of them.
func (h *History) Judge(readings []Reading, nodes []Node) Judgement {
	j := h.judge(readings)
	if j.Fate != Stale || h.last < 0 {
		return j
	}
	for i, r := range readings[:min(len(readings), len(nodes))] {
		if !nodes[i].leads(&h.writes[h.last]) {
			continue
		}
		switch m, _ := h.Match(r); m {
		case Missing, Old:
			j.Fate, j.Node = Lost, i
			return j
		case Back:
			j.Fate, j.Node = Resurrected, i
			return j
		}
	}
	return j
}

func (h *History) judge(readings []Reading) Judgement {
	j := Judgement{Shows: -1, Node: -1}
	var seen [NumMatches]int
	apart := -1 // first address that shows another write than an earlier one, although both fit
	for i, r := range readings {
		m, shows := h.Match(r)
		if m == Fits && seen[Fits] > 0 && shows != j.Shows && apart < 0 {
			apart = i
		}
		seen[m]++
		if m == Fits && (j.Shows < 0 || !h.writes[j.Shows].acknowledged()) {
			j.Shows = shows
		}
		if m != Fits && m != Unasked && j.Node < 0 {
			j.Node = i
		}
	}
	switch {
	case seen[Unasked] == len(readings):
		j.Fate = NeverRead
	case seen[Unexpected] > 0:
		j.Fate = Unknown
	case seen[Duplicate] > 0:
		j.Fate = Duplicated
	case seen[Fits] == 0 && seen[Back] > 0:
		j.Fate = Resurrected
	case seen[Fits] == 0:
		j.Fate = Lost
	case seen[Missing]+seen[Old]+seen[Back] > 0:
		j.Fate = Stale
	case apart >= 0 && !h.moving:
		j.Fate, j.Node = Stale, apart
	}
	return j
}

// About returns the index of the write that a judgement is about: the last acknowledged one, otherwise a failed one
// whose value is there; −1 if there is neither.
func (h *History) About(readings []Reading) int {
	if h.last >= 0 {
		return h.last
	}
	for _, r := range readings {
		if m, shows := h.Match(r); m == Back {
			return shows
		}
	}
	return -1
}

// Fate returns the fate of the acknowledged write with index i.
func (h *History) Fate(i int, j *Judgement) Fate {
	switch {
	case h.superseded(&h.writes[i]):
		return Overwritten
	case j.Fate == NeverRead:
		return NeverRead
	case i == j.Shows && (j.Fate == OK || j.Fate == Stale):
		return j.Fate
	case i != h.last, j.Fate == OK && i != j.Shows, j.Fate == Stale && j.Shows >= 0 && i != j.Shows:
		return Overwritten
	}
	return j.Fate
}

// Resolved is the result for a write without an answer.
type Resolved uint8

// The possible results.
const (
	Untold     Resolved = iota // the write may have been overwritten, or the key couldn't be read
	Applied                    // its value is there
	NotApplied                 // its value isn't there, and nothing can have overwritten it
)

// Resolve returns the result for the write with index i, which had no answer.
func (h *History) Resolve(i int, readings []Reading) Resolved {
	w, read := &h.writes[i], false
	for _, r := range readings {
		m, shows := h.Match(r)
		if shows == i && m == Fits && (!w.Absent || h.known) {
			return Applied
		}
		read = read || m != Unasked
	}
	if !read {
		return Untold
	}
	for k := range h.writes {
		o := &h.writes[k]
		if k == i || o.Effect == protocol.NotApplied {
			continue
		}
		if !o.acknowledged() || o.EndNs > w.SentNs || o.Effect == protocol.AppliedAgain {
			return Untold
		}
	}
	return NotApplied
}

// Hash returns a 64-bit hash of a text. Values are compared by it.
func Hash(text []byte) uint64 { return xxhash.Sum64(text) }

// AppendText appends values, separated by a comma and a space, in a form that is equal for equal values of different
// kinds: numbers and their texts, null and the empty text, 1.50 and 1.5.
func AppendText(dst []byte, values []gen.Value) []byte {
	for i := range values {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		from := len(dst)
		dst = template.AppendValue(dst, &values[i])
		if text := dst[from:]; plainNumber(text) {
			dst = dst[:from+len(bytes.TrimRight(bytes.TrimRight(text, "0"), "."))]
		}
	}
	return dst
}

// plainNumber reports whether a text is a number with a decimal point and no exponent: the form in which text protocols
// send numbers.
func plainNumber(text []byte) bool {
	points := 0
	for i, c := range text {
		switch {
		case c == '.':
			points++
		case c == '-' && i == 0:
		case c < '0' || c > '9':
			return false
		}
	}
	return points == 1
}
