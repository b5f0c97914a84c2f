package record

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/base/finite"
	"brunt/internal/protocol"
)

// ErrorSample is a failed attempt; a line of errors.ndjson.
type ErrorSample struct {
	Time      time.Time `json:"time"`
	Class     string    `json:"class"`
	Code      string    `json:"code,omitempty"`
	Text      string    `json:"text"`
	Operation string    `json:"operation,omitempty"` // "" for a failed connection attempt
	Index     uint64    `json:"index"`               // the operation's number
	Address   string    `json:"address,omitempty"`
	Attempt   int       `json:"attempt,omitempty"` // from 1
}

// FailureCount is the number of attempts that failed with the same class, code and text. Texts are the same if they
// differ only in numbers, addresses and quoted names.
type FailureCount struct {
	Class string `json:"class"`
	Code  string `json:"code,omitempty"`
	Text  string `json:"text"` // the first one's, with "…" for what differs
	Count uint64 `json:"count"`
}

// OfConnecting reports whether the failure is that of a connection attempt.
func (f FailureCount) OfConnecting() bool { return f.Class == protocol.Connect.String() }

// RefusedConnection reports whether the server refused the connection with a code of its own, or nothing listened at
// the address (protocol.RefusedCode).
func (f FailureCount) RefusedConnection() bool {
	return f.OfConnecting() && f.Code != ""
}

// TurnedAway reports whether a server that is running refused the connection.
func (f FailureCount) TurnedAway() bool {
	return f.RefusedConnection() && f.Code != protocol.RefusedCode
}

// The limits of a failureLog: how many different (class, code) pairs and how many texts of each are counted separately,
// how many samples of each text are kept beyond its class's share, and the length of a text in bytes.
const (
	maxCodes       = 256
	maxTexts       = 8
	samplesPerText = 3
	maxTextBytes   = 500
	maxKnown       = 256 // failures that are found without a look at their texts' parts
)

// The texts of failures beyond maxCodes and maxTexts.
const (
	otherCodes = "other codes, not counted apart"
	otherTexts = "other texts, not counted apart"
)

// failureLog counts failed attempts by class, code and text, and keeps the first samples of each until they are taken.
type failureLog struct {
	perClass uint64
	classes  [protocol.NumClasses + 1]atomic.Uint64

	mu      sync.RWMutex
	texts   map[codeKey]int // how many are counted
	groups  map[groupKey]*failureGroup
	known   map[groupKey]*failureGroup // by the failures' own texts, of the first maxKnown
	samples [][]byte
}

type codeKey struct{ class, code string }

type groupKey struct {
	codeKey
	text string // what the texts of the group have in common: see textKind
}

type failureGroup struct {
	count atomic.Uint64
	text  atomic.Pointer[string]
}

func newFailureLog(perClass int) *failureLog {
	return &failureLog{perClass: uint64(max(perClass, 0)), texts: map[codeKey]int{}, groups: map[groupKey]*failureGroup{},
		known: map[groupKey]*failureGroup{}}
}

func (l *failureLog) add(e *ErrorSample) {
	class, ok := protocol.ParseClass(e.Class)
	slot := int(class)
	if !ok {
		slot = protocol.NumClasses
	}
	inClass := l.classes[slot].Add(1)
	inGroup := l.count(FailureCount{e.Class, e.Code, e.Text, 1})
	if inClass <= l.perClass || inGroup <= samplesPerText {
		sample := *e
		sample.Text = oneLine(e.Text)
		if line, err := finite.Marshal(&sample); err == nil {
			l.mu.Lock()
			l.samples = append(l.samples, append(line, '\n'))
			l.mu.Unlock()
		}
	}
}

// count counts f and returns the number of failures of its class, code and text so far.
func (l *failureLog) count(f FailureCount) uint64 {
	own := groupKey{codeKey{f.Class, f.Code}, f.Text}
	l.mu.RLock()
	g, full := l.known[own], len(l.known) >= maxKnown
	l.mu.RUnlock()
	if g == nil {
		g = l.group(f)
		if !full && len(own.text) <= maxTextBytes {
			l.mu.Lock()
			if len(l.known) < maxKnown {
				l.known[own] = g
			}
			l.mu.Unlock()
		}
	}
	return g.count.Add(f.Count)
}

// group returns the group that counts f, whose text then says no more than what holds for f, too.
func (l *failureLog) group(f FailureCount) *failureGroup {
	f.Text = oneLine(f.Text)
	key := groupKey{codeKey{f.Class, f.Code}, textKind(f.Text)}
	l.mu.RLock()
	g := l.groups[key]
	if g == nil { // if there are too many
		g = l.groups[groupKey{key.codeKey, otherTexts}]
	}
	l.mu.RUnlock()
	if g == nil {
		g = l.newGroup(key, f.Text)
	}
	for text := g.text.Load(); *text != f.Text && *text != otherTexts && *text != otherCodes; text = g.text.Load() {
		common := commonText(*text, f.Text, key.text)
		if common == *text || g.text.CompareAndSwap(text, &common) {
			break
		}
	}
	return g
}

// newGroup returns the group that counts failures with the key, of which text is the first.
func (l *failureLog) newGroup(key groupKey, text string) *failureGroup {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g := l.groups[key]; g != nil {
		return g
	}
	switch n := l.texts[key.codeKey]; {
	case n == 0 && len(l.texts) >= maxCodes:
		key.code, key.text, text = "other", otherCodes, otherCodes
	case n >= maxTexts:
		key.text, text = otherTexts, otherTexts
	}
	g := l.groups[key]
	if g == nil {
		g = &failureGroup{}
		g.text.Store(&text)
		l.groups[key] = g
		l.texts[key.codeKey]++
	}
	return g
}

// take returns the samples added since the last call, one line each.
func (l *failureLog) take() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.samples
	l.samples = nil
	return s
}

func (l *failureLog) counts() []FailureCount {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := make([]FailureCount, 0, len(l.groups))
	for k, g := range l.groups {
		out = append(out, FailureCount{Class: k.class, Code: k.code, Text: *g.text.Load(), Count: g.count.Load()})
	}
	sortFailures(out)
	return out
}

func sortFailures(f []FailureCount) {
	slices.SortFunc(f, func(a, b FailureCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Text, b.Text))
	})
}

// mergeFailures adds up the failures of the parts.
func mergeFailures(run *Run, parts []*Recorded) {
	l := newFailureLog(0)
	for _, p := range parts {
		for _, f := range p.Run.Failures {
			l.count(f)
		}
	}
	run.Failures = l.counts()
}

// oneLine returns s as a single line of at most maxTextBytes and an ellipsis.
func oneLine(s string) string {
	const most = 8 * maxTextBytes // more is read only of texts of spaces
	s = strings.Join(strings.Fields(s[:min(len(s), most)]), " ")
	if len(s) > maxTextBytes {
		s = strings.ToValidUTF8(s[:maxTextBytes], "") + "…"
	}
	return s
}
