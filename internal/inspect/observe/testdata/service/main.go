// Command service is the program that the tests of package observe watch. It makes garbage for each request to
// /step, serves /metrics in Prometheus' text format and, with -leak, leaks memory, files and goroutines.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
)

func main() {
	leak := flag.Bool("leak", false, "leak")
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	http.HandleFunc("/metrics", metrics)
	w := worker{leak: *leak}
	http.HandleFunc("/step", func(http.ResponseWriter, *http.Request) { w.step() })
	fmt.Println(listener.Addr())
	fmt.Fprintln(os.Stderr, http.Serve(listener, nil))
}

// worker holds the memory and files of the service. Its steps must not be concurrent.
type worker struct {
	leak  bool
	steps int
	live  [100][]byte
	kept  [][]byte
	files []*os.File
}

// step replaces 4 MB of live memory, which makes as much garbage. With leak it keeps 400 KB of it and, every
// second time, a file and a goroutine.
func (w *worker) step() {
	for i := range w.live {
		block := make([]byte, 40<<10)
		for k := 0; k < len(block); k += 4096 {
			block[k] = 1
		}
		w.live[i] = block
	}
	w.steps++
	if !w.leak {
		return
	}
	w.kept = append(w.kept, w.live[:10]...)
	if w.steps%2 == 0 {
		if f, err := os.Open(os.DevNull); err == nil {
			w.files = append(w.files, f)
		}
		go func() { select {} }()
	}
}

func metrics(w http.ResponseWriter, _ *http.Request) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(w, "# TYPE go_memstats_heap_alloc_bytes gauge\ngo_memstats_heap_alloc_bytes %d\n", m.HeapAlloc)
	fmt.Fprintf(w, "# TYPE go_goroutines gauge\ngo_goroutines %d\n", runtime.NumGoroutine())
	fmt.Fprintf(w, "# TYPE go_gc_duration_seconds summary\ngo_gc_duration_seconds{quantile=\"0\"} 0.0001\ngo_gc_duration_seconds_sum %g\ngo_gc_duration_seconds_count %d\n",
		float64(m.PauseTotalNs)/1e9, m.NumGC)
}
