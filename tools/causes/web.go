//go:build linux

package main

import (
	"fmt"
	"hash/crc32"
	"net/http"
	_ "net/http/pprof" // its profile is what --watch profile: reads
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// web is the main function of a helper that serves HTTP at the address in its last argument, on two cores:
//
//	/        a short page
//	/spin    computes for a millisecond on one thread that all requests share
//	/sleep   waits for 100 ms, as for another server
//	/lock    holds a lock for 10 ms
//	/write   writes a file and flushes it to the disk
//	/big     answers with 8 MB
//	/encode  computes for three milliseconds in encodeAll
func web(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("web needs an address")
	}
	runtime.GOMAXPROCS(2)
	page := []byte("a page\n")
	work := make(chan chan struct{})
	go func() {
		runtime.LockOSThread()
		for done := range work {
			spin(time.Millisecond)
			close(done)
		}
	}()
	http.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { w.Write(page) })
	http.HandleFunc("/spin", func(w http.ResponseWriter, _ *http.Request) {
		done := make(chan struct{})
		work <- done
		<-done
		w.Write(page)
	})
	http.HandleFunc("/sleep", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(100 * time.Millisecond)
		w.Write(page)
	})
	var mu sync.Mutex
	http.HandleFunc("/lock", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		time.Sleep(10 * time.Millisecond)
		mu.Unlock()
		w.Write(page)
	})
	file, err := os.CreateTemp(".", "web")
	if err != nil {
		return err
	}
	os.Remove(file.Name())
	block := make([]byte, 1<<20)
	http.HandleFunc("/write", func(w http.ResponseWriter, _ *http.Request) {
		file.WriteAt(block, 0)
		file.Sync()
		w.Write(page)
	})
	big := make([]byte, 8<<20)
	http.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { w.Write(big) })
	http.HandleFunc("/encode", func(w http.ResponseWriter, _ *http.Request) {
		w.Write(strconv.AppendUint(nil, uint64(encodeAll(3*time.Millisecond)), 10))
	})
	return http.ListenAndServe(args[0], nil)
}

// spin uses a core for a time on the wall clock's terms of its own work, so that other processes make it take longer.
func spin(d time.Duration) {
	for range int(d / time.Microsecond) {
		for k := 0; k < 2000; k++ {
		}
	}
}

// encodeAll computes for some d.
//
//go:noinline
func encodeAll(d time.Duration) (sum uint32) {
	block := make([]byte, 16<<10)
	for range int(d / time.Microsecond) {
		sum = crc32.Update(sum, crc32.IEEETable, block)
	}
	return sum
}
