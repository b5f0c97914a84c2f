package planfile

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"brunt/internal/plan/workload"
	"brunt/test/testserver"
)

// TestReadsManyQueries checks that reading a plan of 100 000 queries takes no more than tens of times its size.
func TestReadsManyQueries(t *testing.T) {
	testserver.SkipQuick(t)
	const n = 100_000
	var b strings.Builder
	b.WriteString("queries:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: q%d, sql: 'select %d + $1', params: [{type: Integer, range: [1, 9]}]}\n", i, i)
	}
	b.WriteString("load:\n  - closed: {operations: 200}\n")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p, err := Read("large.yml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.Compile(p)
	if err != nil || len(w.Operations) != n {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept, made := after.HeapAlloc-before.HeapAlloc, after.TotalAlloc-before.TotalAlloc; kept > 512<<20 || made > 4<<30 {
		t.Errorf("%d MiB kept of %d MiB", kept>>20, made>>20)
	} else {
		t.Logf("%d MiB kept of %d MiB", kept>>20, made>>20)
	}
	runtime.KeepAlive(w)
}
