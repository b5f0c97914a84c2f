package httpload

import (
	"fmt"
	"testing"
	"time"

	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// Samples come back as they went in, in the order in which they were sent, over all chunks.
func TestSamples(t *testing.T) {
	const n = 3*mostChunk + 5
	var c Samples
	last := 0
	c.Added = func(n int) { last = n }
	for round := range 2 {
		for i := range n {
			f := workload.Timing{Index: uint64(i), IntendedNs: int64(n - i), SentNs: int64(n-i) + 7, EndNs: int64(2*n + i),
				Facts: protocol.Facts{Status: 200, BytesIn: int64(i), Parts: protocol.Parts{WaitNs: int64(i)}}}
			if i%3 == 0 {
				f.Class, f.Code, f.Text = protocol.Server, "503", fmt.Sprint("text ", i%9)
			}
			if i == 1 {
				f.SentNs = 0
			}
			c.Timed(f)
		}
		if last != n {
			t.Errorf("%d were added, want %d", last, n)
		}
		all := c.All()
		if taken := c.Take(); len(all) != n || len(taken) != n {
			t.Fatalf("%d and %d samples, want %d", len(all), len(taken), n)
		}
		for at := range all {
			s := all[at]
			i := int(s.Index)
			want := Sample{Start: s.Start, SentNs: int64(n-i) + 7, Took: time.Duration(n + 2*i - 7), Late: 7, Bytes: int64(i),
				Parts: protocol.Parts{WaitNs: int64(i)}, Status: 200, Index: uint64(i)}
			if i%3 == 0 {
				want.Class, want.Code, want.Text = protocol.Server, "503", fmt.Sprint("text ", i%9)
			}
			if i == 1 {
				want.SentNs, want.Late, want.Took, want.Unsent = int64(n-i), 0, time.Duration(n+2*i), true
			}
			since := time.Duration(s.SentNs - all[0].SentNs)
			if s != want || at > 0 && all[at-1].SentNs > s.SentNs || s.Start.Sub(all[0].Start) != since {
				t.Fatalf("round %d, sample %d: %+v, want %+v", round, at, s, want)
			}
		}
		if rest := c.All(); len(rest) != 0 {
			t.Errorf("%d samples are left", len(rest))
		}
	}
}
