// Package measure keeps what happened in fixed memory: histograms per operation and interval,
// errors by class, and the health of the generator itself. It does no I/O.
package measure

import (
	"brunt/internal/driver"
)

// Interval is what happened in one slice of the run. Histograms and slices in it are valid only
// while a Sink handles it: they are reused for the next interval.
type Interval struct {
	Index      int                 // from 0
	StartNs    int64               // since the run's start, monotonic
	EndNs      int64               //
	UnixNs     int64               // wall clock at its start
	Phase      string              // the phase that it belongs to; intervals are cut where phases meet
	WarmUp     bool                // kept out of totals
	Operations []OperationInterval // indexed as the plan's operations
	Addresses  []AddressInterval   // indexed as the plan's addresses
	Sessions   int                 // connected at its end
	Busy       int                 // of these, waiting for an answer
	Backlog    uint64              // arrivals due and not yet sent at its end
	Offered    uint64              // arrivals that fell due in it (open loads)
	// OwnLag is the part of the lag that was the generator's own, ns, of all arrivals sent in open
	// loads: from the intended start, or from when the session that took it became free if that was
	// later, to the send. What an arrival waited for a session is not in it.
	OwnLag *Histogram
	// Standstills are those that ended in it, wherever they began, in order.
	Standstills []Standstill
	Health      Health
}

// Counts are the plain numbers of an operation or address.
type Counts struct {
	Done     uint64                    // operations finished, whatever the outcome
	Errors   [driver.NumClasses]uint64 // of these, failed, by class (index 0 is unused)
	Attempts uint64                    // tries including retries; ≥ Done
	Retries  uint64                    // further attempts after retryable errors
	Dropped  uint64                    // arrivals given up without being sent
	Late     uint64                    // sent more than 1 ms after their intended start
	Missing  uint64                    // reads that found no row or key, counted as done
	BadHash  uint64                    // replies whose body's hash was wrong
	BytesIn  uint64                    // of answers, where known
	Status   [6]uint64                 // HTTP: by class, 1xx … 5xx at 1 … 5
}

// OK is how many operations succeeded.
func (c *Counts) OK() uint64 { return c.Done - c.Failed() }

// Failed is how many operations failed.
func (c *Counts) Failed() uint64 {
	var n uint64
	for _, e := range c.Errors {
		n += e
	}
	return n
}

// Add adds o to c.
func (c *Counts) Add(o *Counts) {
	c.Done += o.Done
	for i := range c.Errors {
		c.Errors[i] += o.Errors[i]
	}
	c.Attempts += o.Attempts
	c.Retries += o.Retries
	c.Dropped += o.Dropped
	c.Late += o.Late
	c.Missing += o.Missing
	c.BadHash += o.BadHash
	c.BytesIn += o.BytesIn
	for i := range c.Status {
		c.Status[i] += o.Status[i]
	}
}

// OperationInterval is one operation's part of an interval. Latencies are of successful
// operations; failed ones are in FailedResponse so that an error storm doesn't look fast.
type OperationInterval struct {
	Counts
	Response       *Histogram // end − intended start, ns
	Service        *Histogram // end − actual send, ns
	Lag            *Histogram // actual send − intended start, ns; all operations sent
	FailedResponse *Histogram // end − intended start of failed operations, ns
}

// AddressInterval is one address's part of an interval.
type AddressInterval struct {
	Counts
	Service    *Histogram // ns, successful operations
	Up         int        // sessions connected at the interval's end
	Reconnects uint64
}

// Health says how the generator itself was.
type Health struct {
	LoopBusy          float64 // share of wall time that the busiest loop wasn't asleep, 0–1
	ProcessCPU        float64 // cores used by this process
	CgroupThrottledNs int64   // how long the cgroup was throttled in the interval
	RunQueueNs        int64   // how long our threads waited for a core in the interval (all threads)
	LoopRunQueueNs    int64   // of that, the event loops' threads
	StealNs           int64   // how long the hypervisor kept the cores that we may use, summed over them
	OthersNs          int64   // how long other processes had the cores that we may use, summed over them
	GCPauseNsMax      int64   // the longest stop-the-world pause
	GCCycles          uint32
	SendStalls        uint64 // writes that found the socket's buffer full
	RSSBytes          uint64
	PausedNs          int64 // the whole process stood still (suspend, SIGSTOP) for so long
	// VoluntarySwitches and InvoluntarySwitches count how often our threads gave up a core because they
	// waited for something, and how often one was taken from them.
	VoluntarySwitches, InvoluntarySwitches uint64
}

// Meta is what only the caller of Cut knows of an interval.
type Meta struct {
	Phase  string
	WarmUp bool
	UnixNs int64 // of its start
	Idle   bool  // a stage is over: nothing is outstanding, and a standstill has ended
	Health Health
}

// HealthProbe watches this process and its machine.
type HealthProbe interface {
	// Sample says how they were since the last call, or since the probe was made. LoopBusy and
	// SendStalls, which only recorders know, are 0.
	Sample() Health
}

// Sink is told of each interval as it ends. It must not keep anything of it and must return
// soon; the load goes on meanwhile.
type Sink interface {
	Interval(iv *Interval) error
}
