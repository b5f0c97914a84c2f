package inspect

import (
	"slices"
	"strings"
	"time"

	"brunt/internal/record"
)

const (
	leastSeen    = 10  // sessions seen at work, so that their shares are known
	leastCounted = 30  // and so that their number tells the time
	untimed      = 1.3 // times: by how much that must exceed the time of statements, which lacks commits and planning
)

// Times returns the time of operations in a server that counts statements. whole are the statements of the whole load,
// with the operations that caused them (see Match), and took is its length. The time of statements is exact; what they
// took it for is known from samples of their sessions, and from the times of reading and writing blocks if the server
// measures these (track_io_timing).
func Times(whole []record.Statement, operations []Operation, normal func(string) string, a *Activity,
	took time.Duration) (out []record.OperationTime) {
	several := 0
	for _, o := range operations {
		if len(o.Statements) > 1 {
			several++
		}
	}
	for _, o := range operations {
		t := record.OperationTime{Operation: o.Name}
		seen := map[string]int{}
		disk, calls := 0.0, 0.0
		for _, s := range whole {
			each := executions(&s, &o, normal)
			if each == 0 && several == 1 && len(o.Statements) > 1 && slices.Contains(brackets, strings.ToUpper(s.Text)) {
				each = 1
			}
			if each == 0 {
				continue
			}
			t.TotalNs += each * s.MeanNs
			disk += each * (s.More["blk_read_time"] + s.More["blk_write_time"]) * float64(time.Millisecond) / s.Calls
			calls = max(calls, s.Calls/each)
			for kind, n := range a.byStatement[s.ID] {
				seen[kind] += n
			}
		}
		if t.TotalNs == 0 {
			continue
		}
		a.partsOf(&t, seen, disk, calls, took)
		out = append(out, t)
	}
	return out
}

// brackets are the statements around those of a transaction. They are an operation's if only one has transactions.
var brackets = []string{"BEGIN", "COMMIT"}

// executions returns how often an operation executes a statement, or 0 if it isn't known to be the only one that does.
func executions(s *record.Statement, o *Operation, normal func(string) string) (n float64) {
	if len(s.Operations) != 1 || s.Operations[0] != o.Name || s.Calls == 0 {
		return 0
	}
	if s.Match == record.MatchCount {
		return 1
	}
	text := normal(s.Text)
	for _, sent := range o.Statements {
		if normal(sent) == text {
			n++
		}
	}
	return n
}

// partsOf divides the time of an operation. seen are the sessions that were executing it, by kind of time, over all
// samples; diskNs is the measured time of blocks read and written, or 0.
func (a *Activity) partsOf(t *record.OperationTime, seen map[string]int, diskNs, calls float64, took time.Duration) {
	all := 0
	for _, n := range seen {
		all += n
	}
	if all < leastSeen {
		if diskNs > 0 {
			t.Parts = []record.TimePart{{Kind: record.TimeDisk, Ns: min(diskNs, t.TotalNs)}}
		}
		return
	}
	if n := a.samples; all >= leastCounted && n > 0 && calls > 0 {
		sampled := float64(all) / float64(n) * float64(took) / calls
		if sampled > untimed*t.TotalNs {
			t.TotalNs = sampled
		}
	}
	for _, kind := range record.TimeKinds() {
		if n := seen[kind]; n > 0 {
			t.Parts = append(t.Parts, record.TimePart{Kind: kind, Ns: t.TotalNs * float64(n) / float64(all)})
		}
	}
}
