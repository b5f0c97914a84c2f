package httpload

import (
	"slices"
	"strings"
	"sync"
	"time"

	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// Sample is a request that has ended.
type Sample struct {
	Start  time.Time
	SentNs int64 // since the run's start
	Took   time.Duration
	Late   time.Duration // from its intended start to its start
	Parts  protocol.Parts
	Bytes  int64 // of the answer
	Status int
	Class  protocol.Class
	Code   string // of its failure
	Text   string // likewise
	Index  uint64
	Unsent bool // there was no connection to send it on
}

// Answered reports whether there was an answer, whatever its status.
func (s *Sample) Answered() bool { return s.Class == protocol.OK || s.Class == protocol.Server }

// Circled reports whether there were more redirects in a row than are followed: Go's client gives no answer then.
func (s *Sample) Circled() bool {
	return s.Class == protocol.Server && s.Status/100 == 3 && strings.HasSuffix(s.Text, "redirects in a row")
}

// Samples keeps every request of a load.
type Samples struct {
	mu     sync.Mutex
	base   time.Time // when the run's clock read 0; zero: unknown
	chunks [][]kept  // all but the last are full
	count  int
	texts  []string // codes and texts of failures
	number map[string]uint32
	Added  func(n int) // called with the number of requests so far; may be nil
}

// kept is a request in a form without pointers, which the garbage collector doesn't read.
type kept struct {
	sentNs, endNs, lateNs int64
	parts                 protocol.Parts
	bytes                 int64
	index                 uint64
	code, text            uint32 // in Samples.texts
	status                int32
	class                 protocol.Class
	unsent                bool
}

// The sizes of chunks, in requests.
const (
	leastChunk = 1 << 6
	mostChunk  = 1 << 13
)

// Timed is a workload.Workload's Timed.
func (c *Samples) Timed(t workload.Timing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base.IsZero() {
		c.base = time.Now().Add(-time.Duration(t.EndNs))
	}
	sent := t.SentNs
	if sent == 0 {
		sent = t.IntendedNs
	}
	last := len(c.chunks) - 1
	if last < 0 || len(c.chunks[last]) == cap(c.chunks[last]) {
		c.chunks = append(c.chunks, make([]kept, 0, min(max(c.count, leastChunk), mostChunk)))
		last++
	}
	c.chunks[last] = append(c.chunks[last], kept{sentNs: sent, endNs: t.EndNs, lateNs: sent - t.IntendedNs,
		parts: t.Facts.Parts, bytes: t.Facts.BytesIn, index: t.Index, code: c.numbered(t.Code), text: c.numbered(t.Text),
		status: int32(t.Facts.Status), class: t.Class, unsent: t.SentNs == 0})
	c.count++
	if c.Added != nil {
		c.Added(c.count)
	}
}

// numbered returns the place of a text in c.texts.
func (c *Samples) numbered(text string) uint32 {
	if text == "" && len(c.texts) > 0 {
		return 0
	}
	n, ok := c.number[text]
	if !ok {
		if c.number == nil {
			c.number, c.texts = map[string]uint32{"": 0}, []string{""}
			return c.numbered(text)
		}
		n = uint32(len(c.texts))
		c.number[text] = n
		c.texts = append(c.texts, text)
	}
	return n
}

// All returns the requests in the order in which they were sent.
func (c *Samples) All() []Sample {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all()
}

// Take returns the requests since it was called before, in the order in which they were sent, and forgets them.
func (c *Samples) Take() []Sample {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all()
	c.chunks, c.count, c.texts, c.number = nil, 0, nil, nil
	return all
}

// all returns the requests in the order in which they were sent. The lock is held.
func (c *Samples) all() []Sample {
	all := make([]Sample, 0, c.count)
	for _, chunk := range c.chunks {
		for i := range chunk {
			k := &chunk[i]
			all = append(all, Sample{
				Start: c.base.Add(time.Duration(k.sentNs)), SentNs: k.sentNs, Took: time.Duration(k.endNs - k.sentNs),
				Late: time.Duration(k.lateNs), Parts: k.parts, Bytes: k.bytes, Status: int(k.status), Class: k.class,
				Code: c.texts[k.code], Text: c.texts[k.text], Index: k.index, Unsent: k.unsent,
			})
		}
	}
	return bySend(all)
}

func bySend(all []Sample) []Sample {
	slices.SortStableFunc(all, func(a, b Sample) int {
		switch {
		case a.SentNs < b.SentNs:
			return -1
		case a.SentNs > b.SentNs:
			return 1
		}
		return 0
	})
	return all
}

// Span returns the time from the first send to the last end.
func Span(all []Sample) time.Duration {
	if len(all) == 0 {
		return 0
	}
	first, last := all[0].SentNs, int64(0)
	for i := range all {
		first, last = min(first, all[i].SentNs), max(last, all[i].SentNs+int64(all[i].Took))
	}
	return time.Duration(last - first)
}
