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
	mu    sync.Mutex
	base  time.Time // when the run's clock read 0; zero: unknown
	all   []Sample
	Added func(n int) // called with the number of requests so far; may be nil
}

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
	c.all = append(c.all, Sample{
		Start: c.base.Add(time.Duration(sent)), SentNs: sent, Took: time.Duration(t.EndNs - sent),
		Late: time.Duration(sent - t.IntendedNs), Parts: t.Facts.Parts, Bytes: t.Facts.BytesIn, Status: t.Facts.Status,
		Class: t.Class, Code: t.Code, Text: t.Text, Index: t.Index,
		Unsent: t.SentNs == 0,
	})
	if c.Added != nil {
		c.Added(len(c.all))
	}
}

// All returns the requests in the order in which they were sent.
func (c *Samples) All() []Sample {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bySend(slices.Clone(c.all))
}

// Take returns the requests since it was called before, in the order in which they were sent, and forgets them.
func (c *Samples) Take() []Sample {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
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
