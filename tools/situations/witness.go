//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"brunt/test/testserver"
)

// witness contains measurements of a run that are made outside of brunt. CPU is given in cores: 1 is one core for the
// whole time.
type witness struct {
	Stolen  float64 `json:"stolen_cores"`        // time that the hypervisor took from the whole machine
	Others  float64 `json:"others_cores"`        // used by processes that this program didn't start
	Brunt   float64 `json:"brunt_cores"`         // used by brunt
	Waiting float64 `json:"brunt_waiting_cores"` // brunt's threads that were ready to run but had no core
	Load1   string  `json:"load1,omitempty"`     // the machine's load average, at the end
}

// The largest disturbances, in cores, at which the truth of a situation is still known. Runs are judged by the p99, and
// taking a core for a hundredth of the time can change it. Other processes mostly find a free core, so they may use
// more.
const (
	mostStolen = 0.01
	mostOthers = 0.15
)

// disturbed describes what disturbed a run, or returns "" if nothing did.
func (w *witness) disturbed() string {
	switch {
	case w.Stolen > mostStolen:
		return fmt.Sprintf("the hypervisor took %.2f cores", w.Stolen)
	case w.Others > mostOthers:
		return fmt.Sprintf("processes that have nothing to do with it used %.2f cores", w.Others)
	}
	return ""
}

// watch measures a witness. It reads /proc, and measures nothing on systems without it.
type watch struct {
	began  time.Time
	before usage

	stop chan struct{}
	wg   sync.WaitGroup
	wait uint64 // how long brunt's threads waited for a core, ns
}

// usage contains CPU times in clock ticks of 10 ms (proc(5)).
type usage struct{ busy, stolen, ours float64 }

func newWatch() *watch { return &watch{began: time.Now(), before: used(), stop: make(chan struct{})} }

// follow samples how long brunt's threads have waited for a core (the second number of /proc/PID/task/TID/schedstat, in
// ns). It must do so during the run, because the number disappears with the threads.
func (w *watch) follow(pid int) {
	w.wg.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-tick.C:
				w.wait = max(w.wait, waited(pid))
			}
		}
	})
}

func waited(pid int) (ns uint64) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*/schedstat", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if fields := strings.Fields(string(text)); len(fields) == 3 {
			n, _ := strconv.ParseUint(fields[1], 10, 64)
			ns += n
		}
	}
	return ns
}

// end returns the measurements since newWatch.
func (w *watch) end(brunt *os.ProcessState) witness {
	close(w.stop)
	w.wg.Wait()
	after, wall := used(), time.Since(w.began).Seconds()
	load1, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(load1), " ")
	ticks := func(n float64) float64 { return max(0, n) / 100 / wall }
	return witness{
		Stolen: ticks(after.stolen - w.before.stolen),
		Others: ticks(after.busy - w.before.busy - (after.ours - w.before.ours)),
		Brunt:  (brunt.UserTime() + brunt.SystemTime()).Seconds() / wall, Waiting: float64(w.wait) / 1e9 / wall, Load1: first,
	}
}

// used returns the CPU times of the machine so far, and those of this process and its descendants. The times of
// descendants that have ended are included in their parents' times.
func used() (u usage) {
	text, _ := os.ReadFile("/proc/stat")
	first, _, _ := strings.Cut(string(text), "\n")
	// The fields are: cpu user nice system idle iowait irq softirq steal.
	for i, field := range strings.Fields(first) {
		n, _ := strconv.ParseFloat(field, 64)
		switch i {
		case 1, 2, 3, 6, 7:
			u.busy += n
		case 8:
			u.stolen = n
		}
	}
	for _, pid := range append([]int{os.Getpid()}, testserver.Descendants(os.Getpid())...) {
		u.ours += ticksOf(pid)
	}
	return u
}

// ticksOf returns the sum of the 14th to 17th fields of /proc/PID/stat: user and system time of the process and of its
// children that have ended.
func ticksOf(pid int) (n float64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 15 {
		return 0
	}
	for _, field := range fields[11:15] {
		t, _ := strconv.ParseFloat(field, 64)
		n += t
	}
	return n
}
