package measure

import "brunt/internal/protocol"

// Unsent says why an arrival was given up without being sent.
type Unsent uint8

// Why arrivals were given up unsent.
const (
	UnsentNoSession    Unsent = iota // every session was waiting for an answer
	UnsentNoConnection               // no session was connected
	UnsentLoadOver                   // the load ended first: by its end, by hand, or by a rule
	UnsentGenerator                  // a session was free, but the generator didn't get to it in time
	NumUnsent
)

// String is the reason's name in the record.
func (u Unsent) String() string {
	return [...]string{"no-session", "no-connection", "load-over", "generator", "?"}[min(u, NumUnsent)]
}

// Counts are the plain numbers of an operation or address. Every arrival that fell due is counted
// in just one of OK, Errors, Unsent and Unfinished: its fate.
type Counts struct {
	Done           uint64                      // operations finished, whatever the outcome
	Errors         [protocol.NumClasses]uint64 // of these, failed, by class (index 0 is unused)
	Unsent         [NumUnsent]uint64           // arrivals given up without being sent, by why
	Unfinished     uint64                      // sent, and in flight when the load was cut off
	Attempts       uint64                      // tries including retries; ≥ Done
	Retries        uint64                      // further attempts after retryable errors
	Late           uint64                      // sent more than 1 ms after their intended start
	Missing        uint64                      // reads that found no row or key, counted as done
	MissingUpdates uint64                      // updates that found none
	MissingDeletes uint64                      // deletes that found none
	BadHash        uint64                      // replies whose body's hash was wrong
	BytesIn        uint64                      // of answers, where known
	Status         [6]uint64                   // HTTP: by class, 1xx … 5xx at 1 … 5
}

// OK is how many operations succeeded.
func (c *Counts) OK() uint64 { return c.Done - c.Failed() }

// Failed is how many operations failed.
func (c *Counts) Failed() uint64 { return sum(c.Errors[:]) }

// OnlyServers are the counts as if nothing had gone wrong but what only the server can have been the cause of:
// errors with which it answered, and missing connections where it refused some.
func (c *Counts) OnlyServers(refused bool) Counts {
	out := *c
	clear(out.Errors[:])
	out.Errors[protocol.Server] = c.Errors[protocol.Server]
	if refused {
		out.Errors[protocol.Connect] = c.Errors[protocol.Connect]
	}
	out.Unsent, out.Unfinished = [NumUnsent]uint64{}, 0
	return out
}

// Dropped is how many arrivals were given up without being sent.
func (c *Counts) Dropped() uint64 { return sum(c.Unsent[:]) }

// Arrivals is how many arrivals have met their fate: OK, failed, unsent and unfinished ones.
func (c *Counts) Arrivals() uint64 { return c.Done + c.Dropped() + c.Unfinished }

// NoAnswer is how many arrivals had no good answer. Their response time is infinite.
func (c *Counts) NoAnswer() uint64 { return c.Failed() + c.Dropped() + c.Unfinished }

func sum(all []uint64) (n uint64) {
	for _, v := range all {
		n += v
	}
	return n
}

// Add adds o to c.
func (c *Counts) Add(o *Counts) {
	c.Done += o.Done
	c.Unfinished += o.Unfinished
	c.Attempts += o.Attempts
	c.Retries += o.Retries
	c.Late += o.Late
	c.Missing += o.Missing
	c.MissingUpdates += o.MissingUpdates
	c.MissingDeletes += o.MissingDeletes
	c.BadHash += o.BadHash
	c.BytesIn += o.BytesIn
	add(c.Errors[:], o.Errors[:])
	add(c.Unsent[:], o.Unsent[:])
	add(c.Status[:], o.Status[:])
}

func add(to, from []uint64) {
	for i, n := range from {
		to[i] += n
	}
}
