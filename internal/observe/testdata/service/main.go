// Command service is what the tests of package observe watch: it makes garbage at a steady pace,
// answers /metrics in Prometheus' text format, and leaks memory, files and goroutines if told so.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"
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
	go work(*leak)
	fmt.Println(listener.Addr())
	fmt.Fprintln(os.Stderr, http.Serve(listener, nil))
}

// work makes 400 KB of garbage every 5 ms beside 4 MB that live, and keeps 40 KB of it, a file
// now and then and a goroutine if it leaks.
func work(leak bool) {
	live := make([][]byte, 100)
	var kept [][]byte
	var files []*os.File
	for i := 0; ; i++ {
		for range 10 {
			block := make([]byte, 40<<10)
			for k := 0; k < len(block); k += 4096 {
				block[k] = 1
			}
			live[i%len(live)] = block
		}
		if leak {
			kept = append(kept, live[i%len(live)])
			if i%20 == 0 {
				if f, err := os.Open(os.DevNull); err == nil {
					files = append(files, f)
				}
				go func() { select {} }()
			}
		}
		time.Sleep(5 * time.Millisecond)
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
