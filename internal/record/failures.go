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

// FailureCount is the number of attempts that failed with the same class and code.
type FailureCount struct {
	Class string `json:"class" merge:"same"`
	Code  string `json:"code,omitempty" merge:"same"`
	Text  string `json:"text" merge:"first"` // text of the first failure
	Count uint64 `json:"count" merge:"sum"`
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

// The limits of a failureLog: how many different (class, code) pairs are counted separately, how many samples of each
// are kept beyond its class's share, and the length of a text in bytes.
const (
	maxCodes       = 256
	samplesPerCode = 3
	maxTextBytes   = 500
)

// failureLog counts failed attempts by class and code, and keeps the first samples of each until they are taken.
type failureLog struct {
	perClass uint64
	classes  [protocol.NumClasses + 1]atomic.Uint64

	mu      sync.RWMutex
	codes   map[codeKey]*codeCount
	samples [][]byte
}

type codeKey struct{ class, code string }

type codeCount struct {
	count atomic.Uint64
	text  string
}

func newFailureLog(perClass int) *failureLog {
	return &failureLog{perClass: uint64(max(perClass, 0)), codes: map[codeKey]*codeCount{}}
}

func (l *failureLog) add(e *ErrorSample) {
	class, ok := protocol.ParseClass(e.Class)
	slot := int(class)
	if !ok {
		slot = protocol.NumClasses
	}
	inClass := l.classes[slot].Add(1)
	inCode := l.count(e)
	if inClass <= l.perClass || inCode <= samplesPerCode {
		sample := *e
		sample.Text = oneLine(e.Text)
		if line, err := finite.Marshal(&sample); err == nil {
			l.mu.Lock()
			l.samples = append(l.samples, append(line, '\n'))
			l.mu.Unlock()
		}
	}
}

// count counts e and returns the number of failures of its class and code so far.
func (l *failureLog) count(e *ErrorSample) uint64 {
	key := codeKey{e.Class, e.Code}
	l.mu.RLock()
	c := l.codes[key]
	l.mu.RUnlock()
	if c == nil {
		c = l.newCode(key, e.Text)
	}
	return c.count.Add(1)
}

func (l *failureLog) newCode(key codeKey, text string) *codeCount {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.codes) >= maxCodes {
		key.code, text = "other", "other codes, not counted apart"
	}
	c := l.codes[key]
	if c == nil {
		c = &codeCount{text: oneLine(text)}
		l.codes[key] = c
	}
	return c
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
	out := make([]FailureCount, 0, len(l.codes))
	for k, c := range l.codes {
		out = append(out, FailureCount{Class: k.class, Code: k.code, Text: c.text, Count: c.count.Load()})
	}
	sortFailures(out)
	return out
}

func sortFailures(f []FailureCount) {
	slices.SortFunc(f, func(a, b FailureCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Code, b.Code))
	})
}

// oneLine returns s as a single line of at most maxTextBytes and an ellipsis.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxTextBytes {
		s = strings.ToValidUTF8(s[:maxTextBytes], "") + "…"
	}
	return s
}
