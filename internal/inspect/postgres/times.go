package postgres

import (
	"context"
	"slices"
	"strings"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/record"
)

// versionQueryID is the first version whose activity says which statement a session executes (server_version_num).
const versionQueryID = 140000

// timeKind returns the kind of time that a session at work spends in a wait event (PostgreSQL's documentation, "Wait
// Event Types"). Class "CPU" is no wait.
func timeKind(class, event string) string {
	switch class {
	case "CPU":
		return record.TimeExecuting
	case "IO":
		return record.TimeDisk
	case "LWLock":
		if strings.HasPrefix(event, "WALWrite") { // another session is writing for this one, too
			return record.TimeDisk
		}
		return record.TimeLocks
	case "Lock", "BufferPin":
		return record.TimeLocks
	}
	return record.TimeOther
}

const (
	leastSeen    = 10  // sessions seen at work, so that their shares are known
	leastCounted = 30  // and so that their number tells the time
	untimed      = 1.3 // times: by how much that must exceed the time of statements, which lacks commits and planning
)

// times returns the time of operations in the server. whole are the statements of the whole load, with the operations
// that caused them, and took is its length. The time of statements is exact; what they took it for is known from
// samples of their sessions, and from the times of reading and writing blocks if the server measures these
// (track_io_timing).
func (i *Inspector) times(whole []record.Statement, operations []inspect.Operation,
	took time.Duration) (out []record.OperationTime) {
	several := 0
	for _, o := range operations {
		if len(o.Statements) > 1 {
			several++
		}
	}
	for _, o := range operations {
		t := record.OperationTime{Operation: o.Name}
		seen := map[string]inspect.Seen{}
		disk, calls := 0.0, 0.0
		for _, s := range whole {
			each := executions(&s, &o)
			if each == 0 && several == 1 && len(o.Statements) > 1 && slices.Contains(brackets, strings.ToUpper(s.Text)) {
				each = 1
			}
			if each == 0 {
				continue
			}
			t.TotalNs += each * s.MeanNs
			disk += each * (s.More["blk_read_time"] + s.More["blk_write_time"]) * float64(time.Millisecond) / s.Calls
			calls = max(calls, s.Calls/each)
			for wait, n := range i.activity.Executing(s.ID) {
				kind := timeKind(wait[0], wait[1])
				seen[kind] = inspect.Seen{Sessions: seen[kind].Sessions + n.Sessions, Seconds: seen[kind].Seconds + n.Seconds}
			}
		}
		if t.TotalNs == 0 {
			continue
		}
		i.partsOf(&t, seen, disk, calls, took)
		out = append(out, t)
	}
	return out
}

// brackets are the statements around those of a transaction. They are an operation's if only one has transactions.
var brackets = []string{"BEGIN", "COMMIT"}

// executions returns how often an operation executes a statement, or 0 if it isn't known to be the only one that does.
func executions(s *record.Statement, o *inspect.Operation) (n float64) {
	if len(s.Operations) != 1 || s.Operations[0] != o.Name || s.Calls == 0 {
		return 0
	}
	if s.Match == record.MatchCount {
		return 1
	}
	text := inspect.Normal(s.Text)
	for _, sent := range o.Statements {
		if inspect.Normal(sent) == text {
			n++
		}
	}
	return n
}

// partsOf divides the time of an operation. seen are the sessions that were executing it, by kind of time, over all
// samples; diskNs is the measured time of blocks read and written, or 0.
func (i *Inspector) partsOf(t *record.OperationTime, seen map[string]inspect.Seen, diskNs, calls float64,
	took time.Duration) {
	var all inspect.Seen
	for _, n := range seen {
		all = inspect.Seen{Sessions: all.Sessions + n.Sessions, Seconds: all.Seconds + n.Seconds}
	}
	if all.Sessions < leastSeen {
		if diskNs > 0 {
			t.Parts = []record.TimePart{{Kind: record.TimeDisk, Ns: min(diskNs, t.TotalNs)}}
		}
		return
	}
	if whole := i.activity.Seconds(); all.Sessions >= leastCounted && whole > 0 && calls > 0 {
		sampled := all.Seconds / whole * float64(took) / calls
		if sampled > untimed*t.TotalNs {
			t.TotalNs = sampled
		}
	}
	for _, kind := range record.TimeKinds() {
		if n := seen[kind]; n.Sessions > 0 {
			t.Parts = append(t.Parts, record.TimePart{Kind: kind, Ns: t.TotalNs * n.Seconds / all.Seconds})
		}
	}
}

// roundTrips is how many empty statements are sent to measure the shortest round trip.
const roundTrips = 5

// roundTrip returns the shortest time of an empty statement, which the server answers without doing anything.
func (s *session) roundTrip(ctx context.Context) (shortest time.Duration) {
	for range roundTrips {
		began := time.Now()
		if _, err := s.conn.Exec(ctx, "").ReadAll(); err != nil {
			return 0
		}
		s.queries++
		if took := time.Since(began); shortest == 0 || took < shortest {
			shortest = took
		}
	}
	return shortest
}
