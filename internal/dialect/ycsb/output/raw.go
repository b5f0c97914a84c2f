package output

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Raw keeps every operation's start and latency, 24 bytes each. It is safe for concurrent use.
type Raw struct {
	mu      sync.Mutex
	names   []string
	inTotal []bool
	entries []entry
}

type entry struct {
	name      uint16
	startNs   int64 // on the run's clock
	latencyUs int64
}

// Add keeps one operation. total says whether it counts for TOTAL.
func (r *Raw) Add(name string, total bool, startNs, latencyNs int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := slices.Index(r.names, name)
	if n < 0 {
		n = len(r.names)
		r.names, r.inTotal = append(r.names, name), append(r.inTotal, total)
	}
	r.entries = append(r.entries, entry{uint16(n), startNs, latencyNs / 1000})
}

// Write writes all operations as CSV: a header, and then by operation its name, the microsecond
// since the epoch at which it began, and its latency in microseconds. Those that began before
// fromNs of the run's clock are left out. unixNs is the wall clock at the start of the run's clock.
func (r *Raw) Write(w io.Writer, fromNs, unixNs int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "operation,timestamp_us,latency_us")
	order := make([]int, len(r.names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if r.names[a] < r.names[b] {
			return -1
		}
		return 1
	})
	print := func(name string, take func(entry) bool) {
		for _, e := range r.entries {
			if e.startNs >= fromNs && take(e) {
				fmt.Fprintf(out, "%s,%d,%d\n", name, (unixNs+e.startNs)/1000, e.latencyUs)
			}
		}
	}
	for _, n := range order {
		print(r.names[n], func(e entry) bool { return int(e.name) == n })
	}
	print(Total, func(e entry) bool { return r.inTotal[e.name] })
	return out.Flush()
}
