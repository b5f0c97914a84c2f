package mysql

import (
	"context"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/record"
)

// serverTimes returns the time in the server of the operations all of whose statements were counted. A statement that
// several operations send takes the same time in each. What they waited for is known from samples of their sessions:
// locks, and the flush of commits; whether the others computed or read from the disk isn't known.
func serverTimes(counted []record.Statement, operations []inspect.Operation,
	seen *inspect.Activity) (out []record.OperationTime) {
	means := map[string]float64{}
	for _, s := range counted {
		if s.Calls > 0 && s.Match == record.MatchText {
			means[normal(s.Text)] = s.MeanNs
		}
	}
	for _, o := range operations {
		t := record.OperationTime{Operation: o.Name}
		known := len(o.Statements) > 0
		all, waits := inspect.Seen{}, map[string]float64{}
		for _, text := range o.Statements {
			mean, ok := means[normal(text)]
			known = known && ok
			t.TotalNs += mean
			for wait, n := range seen.Executing(normal(text)) {
				all = inspect.Seen{Sessions: all.Sessions + n.Sessions, Seconds: all.Seconds + n.Seconds}
				if kind := timeKind(wait[0]); kind != "" {
					waits[kind] += n.Seconds
				}
			}
		}
		for _, kind := range record.TimeKinds() {
			if s := waits[kind]; s > 0 && all.Sessions >= leastSamples {
				t.Parts = append(t.Parts, record.TimePart{Kind: kind, Ns: t.TotalNs * s / all.Seconds})
			}
		}
		if known {
			out = append(out, t)
		}
	}
	return out
}

// timeKind returns the kind of time that a session spends in a class of waits; "" if it isn't known.
func timeKind(class string) string {
	switch class {
	case classLock:
		return record.TimeLocks
	case classCommit:
		return record.TimeDisk
	}
	return ""
}

// roundTrips is how many empty requests are sent to measure the shortest round trip.
const roundTrips = 5

// roundTrip returns the shortest time of an empty request.
func (s *session) roundTrip(ctx context.Context) (shortest time.Duration) {
	for range roundTrips {
		began := time.Now()
		if err := s.conn.PingContext(ctx); err != nil {
			return 0
		}
		s.queries++
		if took := time.Since(began); shortest == 0 || took < shortest {
			shortest = took
		}
	}
	return shortest
}
