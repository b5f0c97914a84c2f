package grpc

import (
	"math/bits"
	"sync"

	"brunt/internal/protocol"
	"brunt/internal/render/message"
)

// streams holds the times of messages of a program's streams, by request: to the first message, and between messages.
// The time to the end of a stream is the time of its operation. It is safe for concurrent use.
type streams struct {
	mu      sync.Mutex
	names   []string
	first   []times
	between []times
}

type streamsKey struct{}

// newStreams returns nil if the program has no streams.
func newStreams(p *protocol.Program, plan *prepared) *streams {
	n := len(plan.calls)
	s := &streams{names: make([]string, n), first: make([]times, n), between: make([]times, n)}
	some := false
	for i := range plan.calls {
		some = some || plan.calls[i].streamed
		s.names[i] = p.Requests[i].Name
	}
	if !some {
		return nil
	}
	return s
}

// message counts a message that arrived ns after the request was encoded, or after the message before it.
func (s *streams) message(request int, ns int64, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first {
		s.first[request].add(ns)
	} else {
		s.between[request].add(ns)
	}
}

// notes returns a text for each request that streamed.
func (s *streams) notes() (all []message.Message) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, name := range s.names {
		first, between := &s.first[i], &s.between[i]
		switch {
		case first.n == 0:
		case between.n == 0:
			all = append(all, message.New("stream-first", message.Text("request", name), message.Count("messages", first.n),
				message.Ns("p50", first.quantile(0.5)), message.Ns("p99", first.quantile(0.99))))
		default:
			all = append(all, message.New("stream-times", message.Text("request", name),
				message.Count("messages", first.n+between.n),
				message.Ns("p50", first.quantile(0.5)), message.Ns("p99", first.quantile(0.99)),
				message.Ns("between50", between.quantile(0.5)), message.Ns("between99", between.quantile(0.99))))
		}
	}
	return all
}

// times is a histogram of times in ns whose buckets are at most 1/32 wide, relative to their values.
type times struct {
	n       uint64
	buckets [(64 - subBits) << subBits]uint64
}

const subBits = 5

func bucketOf(ns int64) int {
	v := uint64(max(ns, 0))
	if v < 1<<(subBits+1) {
		return int(v)
	}
	shift := bits.Len64(v) - subBits - 1
	return shift<<subBits + int(v>>shift)
}

func (t *times) add(ns int64) {
	t.buckets[bucketOf(ns)]++
	t.n++
}

// quantile returns the lower bound of the bucket that holds the quantile.
func (t *times) quantile(q float64) int64 {
	rank := uint64(q * float64(t.n))
	for i, n := range t.buckets {
		if n > rank {
			if i < 1<<(subBits+1) {
				return int64(i)
			}
			shift := i>>subBits - 1
			return int64(i-shift<<subBits) << shift
		}
		rank -= n
	}
	return 0
}
