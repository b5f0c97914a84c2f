package pgbench

import (
	"math"
	"sync"
	"time"

	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// simple is what pgbench keeps of a series of times, µs.
type simple struct {
	count                  int64
	sum, sum2, least, most float64
}

func (s *simple) add(us float64) {
	if s.count == 0 || us < s.least {
		s.least = us
	}
	if s.count == 0 || us > s.most {
		s.most = us
	}
	s.count++
	s.sum += us
	s.sum2 += us * us
}

func (s *simple) merge(o *simple) {
	if o.count == 0 {
		return
	}
	if s.count == 0 || o.least < s.least {
		s.least = o.least
	}
	if s.count == 0 || o.most > s.most {
		s.most = o.most
	}
	s.count += o.count
	s.sum += o.sum
	s.sum2 += o.sum2
}

func (s *simple) meanMs() float64 { return 0.001 * s.sum / float64(s.count) }

func (s *simple) deviationMs() float64 {
	mean := s.sum / float64(s.count)
	return 0.001 * math.Sqrt(s.sum2/float64(s.count)-mean*mean)
}

// counts is what pgbench counts of transactions.
type counts struct {
	done, skipped           int64
	retries, retried        int64
	serialization, deadlock int64
	late                    int64
	latency, lag            simple
}

func (c *counts) failures() int64 { return c.serialization + c.deadlock }
func (c *counts) all() int64      { return c.done + c.skipped + c.failures() }

func (c *counts) merge(o *counts) {
	c.done += o.done
	c.skipped += o.skipped
	c.retries += o.retries
	c.retried += o.retried
	c.serialization += o.serialization
	c.deadlock += o.deadlock
	c.late += o.late
	c.latency.merge(&o.latency)
	c.lag.merge(&o.lag)
}

// fate is how a transaction ended.
type fate uint8

const (
	succeeded fate = iota
	skipped
	serializationError
	deadlockError
	abortedClient // pgbench doesn't count it
)

// transaction is a transaction that has ended.
type transaction struct {
	client, script int
	fate           fate
	latency, lag   float64 // µs; 0 unless it succeeded
	tries          int
	endNs          int64
}

// add counts a transaction. throttled says that lag is measured.
func (c *counts) add(t *transaction, throttled bool) {
	if t.fate == skipped {
		c.skipped++
		return
	}
	c.retries += int64(t.tries - 1)
	if t.tries > 1 {
		c.retried++
	}
	switch t.fate {
	case succeeded:
		c.done++
		c.latency.add(t.latency)
		if throttled {
			c.lag.add(t.lag)
		}
	case serializationError:
		c.serialization++
	case deadlockError:
		c.deadlock++
	}
}

// client is what is known of a client's transactions. Each is changed by its session and read by reports.
type client struct {
	mu       sync.Mutex
	scripts  []counts
	commands [][]simple // by script and command
	number   int64      // of the transactions that have ended
	endNs    int64      // when the last of them ended, on the run's clock
	_        [64]byte
}

// meter counts the transactions of all clients.
type meter struct {
	o       *Options
	clients []client
	command func(script, request int) int // the command of a request; −1: none
}

func newMeter(o *Options, commands []int, command func(script, request int) int) *meter {
	m := &meter{o: o, clients: make([]client, o.Clients), command: command}
	for i := range m.clients {
		c := &m.clients[i]
		c.scripts = make([]counts, len(o.Scripts))
		if o.PerCommand {
			for _, n := range commands {
				c.commands = append(c.commands, make([]simple, n))
			}
		}
	}
	return m
}

// transactionOf returns what a finished operation was.
func (m *meter) transactionOf(t *workload.Timing) transaction {
	x := transaction{client: t.Session % len(m.clients), script: t.Operation, tries: t.Attempts, endNs: t.EndNs}
	switch {
	case t.Class == protocol.OK:
		x.latency = float64((t.EndNs - t.IntendedNs) / 1000)
		x.lag = float64((t.SentNs - t.IntendedNs) / 1000)
	case t.Code == "40001":
		x.fate = serializationError
	case t.Code == "40P01":
		x.fate = deadlockError
	default:
		x.fate = abortedClient
	}
	return x
}

// request notes the time of a request.
func (m *meter) request(t workload.Timing) {
	command := m.command(t.Operation, t.Step)
	if command < 0 || t.Class != protocol.OK {
		return
	}
	c := &m.clients[t.Session%len(m.clients)]
	c.mu.Lock()
	c.commands[t.Operation][command].add(float64((t.EndNs - t.SentNs) / 1000))
	c.mu.Unlock()
}

// took notes the time of a command that isn't sent.
func (m *meter) took(client, script, command int, took time.Duration) {
	c := &m.clients[client%len(m.clients)]
	c.mu.Lock()
	c.commands[script][command].add(float64(took.Microseconds()))
	c.mu.Unlock()
}

// count counts a transaction and returns its number among those of its client.
func (m *meter) count(x *transaction) int64 {
	c := &m.clients[x.client]
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.scripts[x.script]
	s.add(x, m.o.RatePerS > 0)
	if m.o.LatencyLimitMs > 0 && x.latency > float64(m.o.latencyLimit().Microseconds()) {
		s.late++
	}
	c.number++
	c.endNs = max(c.endNs, x.endNs)
	return c.number
}

// sum returns the counts of a script, or of all if script is negative.
func (m *meter) sum(script int) (all counts) {
	for i := range m.clients {
		c := &m.clients[i]
		c.mu.Lock()
		for k := range c.scripts {
			if script < 0 || k == script {
				all.merge(&c.scripts[k])
			}
		}
		c.mu.Unlock()
	}
	return all
}

// endNs returns when the last transaction ended, on the run's clock; 0 if there was none.
func (m *meter) endNs() (last int64) {
	for i := range m.clients {
		c := &m.clients[i]
		c.mu.Lock()
		last = max(last, c.endNs)
		c.mu.Unlock()
	}
	return last
}

// ofCommand returns the times of a command.
func (m *meter) ofCommand(script, command int) (all simple) {
	for i := range m.clients {
		c := &m.clients[i]
		c.mu.Lock()
		all.merge(&c.commands[script][command])
		c.mu.Unlock()
	}
	return all
}
