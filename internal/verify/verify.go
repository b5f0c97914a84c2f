// Package verify says what became of writes, given what addresses have of their keys afterwards. It does no I/O.
//
// It is the set check of Jepsen (jepsen/checker.clj, set-full), extended to keys that are written several times: a
// write can be the last of its key unless an acknowledged one began after it had ended. One without an answer can be
// applied at any time later, so that it can always be the last.
package verify

import (
	"bytes"

	"github.com/cespare/xxhash/v2"

	"brunt/internal/gen"
	"brunt/internal/protocol"
	"brunt/internal/template"
)

// Write is a write of one key. Times are on the run's clock.
type Write struct {
	Index     uint64 // of the operation
	Operation int
	Step      int
	Address   int
	SentNs    int64
	EndNs     int64
	Value     uint64 // Hash of what it wrote
	Effect    protocol.Effect
	Absent    bool // it deleted the key
	Foreign   bool // another machine's, or not recorded: what became of it isn't known
}

func (w *Write) acknowledged() bool {
	return w.Effect == protocol.Applied || w.Effect == protocol.AppliedAgain
}

// State is what an address answered for a key.
type State uint8

// The states of readings.
const (
	Unread  State = iota // nothing that says anything
	Absent               // there is no such key
	Present              // there is one
	Several              // there are several
)

// Reading is what an address has of a key.
type Reading struct {
	Value uint64 // Hash of the value, if it is Present
	State State
}

// Match is how a reading fits the writes of its key.
type Match uint8

// The matches.
const (
	Unasked    Match = iota // the address didn't answer
	Fits                    // it may be what is there
	Missing                 // nothing is there, and something must be
	Old                     // a value that was overwritten for certain
	Back                    // a value that was deleted, or whose write failed for certain
	Unexpected              // a value that nobody wrote
	Duplicate               // there are several
	NumMatches = int(Duplicate) + 1
)

// Fate is what became of a key, or of an acknowledged write.
type Fate uint8

// The fates.
const (
	OK          Fate = iota
	Overwritten      // of writes only: another one came later, or at the same time
	Lost
	Duplicated
	Stale       // an address has something older, and another what was written
	Resurrected // what was deleted, or failed for certain, is there
	Unknown     // a value is there that nobody wrote
	NeverRead   // no address answered
)

// Names of fates, as in records.
func (f Fate) String() string {
	return [...]string{"ok", "overwritten", "lost", "duplicated", "stale", "resurrected", "unexpected", "never-read"}[f]
}

// History is what was written to a key.
type History struct {
	writes   []Write
	lastSent int64 // when the last acknowledged write was sent that began after others had ended
	known    bool  // a write was acknowledged, so that something is known of what must be there
	last     int   // the acknowledged write that ended last of those that can be the last; −1 if none can
	moving   bool  // it is being written to while it is read
}

// Of returns the history of a key's writes, which it keeps.
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

// During returns the history of a key that is read while it may be written to. Addresses may then show different
// writes. Writes that were under way when it was read, or began later, must be Unsure: what they changed is no loss.
func During(writes []Write) History {
	h := Of(writes)
	h.moving = true
	return h
}

// superseded reports whether an acknowledged write began after w had ended for certain.
func (h *History) superseded(w *Write) bool {
	return w.Effect == protocol.Applied && h.known && h.lastSent > w.EndNs
}

// candidate reports whether w can be the last write of the key.
func (h *History) candidate(w *Write) bool {
	return w.Effect != protocol.NotApplied && !h.superseded(w)
}

// Match says how a reading fits, and which write it shows; −1 if it shows none.
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
		return Fits, -1 // what was there before
	case shows < 0:
		return Unexpected, -1
	case h.candidate(&h.writes[shows]):
		return Fits, shows
	case deleted || h.writes[shows].Effect == protocol.NotApplied:
		return Back, shows
	}
	return Old, shows
}

// rank orders writes of one value by how well they explain that it is there: acknowledged ones that can be the last,
// others that can, those that were overwritten, those that failed.
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

// Judgement is what the readings of a key from all addresses say.
type Judgement struct {
	Fate  Fate
	Shows int // the write that is there; −1 if none is
	Node  int // the first address that has something else than it should; −1 if none has
}

// Judge says what became of a key, given a reading from each address that was to be asked.
func (h *History) Judge(readings []Reading) Judgement {
	j := Judgement{Shows: -1, Node: -1}
	var seen [NumMatches]int
	apart := false // addresses show different writes that all fit
	for i, r := range readings {
		m, shows := h.Match(r)
		if m == Fits && seen[Fits] > 0 && shows != j.Shows {
			apart = true
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
	case seen[Missing]+seen[Old]+seen[Back] > 0, apart && !h.moving:
		j.Fate = Stale
	}
	return j
}

// About is the write that a judgement is about: the last acknowledged one, or else one that failed and is there; −1 if
// there is neither.
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

// Fate is what became of acknowledged write number i of the key.
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

// Resolved is what became of a write without an answer.
type Resolved uint8

// What may have become of it.
const (
	Untold     Resolved = iota // it may have been overwritten, or couldn't be read
	Applied                    // it is there
	NotApplied                 // it isn't there, and nothing can have overwritten it
)

// Resolve says what became of write number i, of which there was no answer.
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

// Hash is a number of a text, by which values are compared.
func Hash(text []byte) uint64 { return xxhash.Sum64(text) }

// AppendText appends values, separated by a comma and a space, as texts that are the same for values which say the
// same, whatever their kinds: numbers and their texts, null and the empty text, 1.50 and 1.5.
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

// plainNumber reports whether a text is a number with a point and no exponent, as those have it that know only text.
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
