package self

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
	"syscall"

	"brunt/internal/machine"
	"brunt/internal/machine/cgroup"
)

// mostBytes is how much of a file is read; those of interest are far smaller.
const mostBytes = 64 << 10

// readFile returns a file's content in a buffer that the next call uses again: what the probe does
// every second must not keep the garbage collector busy.
func (p *Probe) readFile(name string) ([]byte, error) {
	f, err := p.s.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if p.text == nil {
		p.text = make([]byte, mostBytes)
	}
	n, err := io.ReadFull(f, p.text)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return p.text[:n], err
}

// listEvery is how many samples go by between two listings of the process's threads, once there have
// been so many: at first threads come, later listing them costs more than reading what is known.
const listEvery = 10

// thread is what is known of one of our threads.
type thread struct {
	waitedNs uint64
	loop     bool // it is an event loop's
}

// runQueueNs is how long our threads, and event loops' among them, have waited for a core since the last
// call: the second number of each thread's schedstat (Linux, Documentation/scheduler/sched-stats.rst).
// What a thread waited between the last call and its end is lost; what one waited that has come since
// threads were listed is counted when they are listed next.
func (p *Probe) runQueueNs() (all, loops int64) {
	if p.listed < listEvery || p.listed%listEvery == 0 {
		tasks, err := fs.ReadDir(p.s.files, "proc/self/task")
		if err != nil {
			return 0, 0
		}
		for _, task := range tasks {
			name, _ := p.readFile("proc/self/task/" + task.Name() + "/comm")
			known := p.threads[task.Name()]
			known.loop = strings.TrimSpace(string(name)) == machine.LoopThread
			p.threads[task.Name()] = known
		}
	}
	p.listed++
	for task, before := range p.threads {
		text, err := p.readFile("proc/self/task/" + task + "/schedstat")
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			continue // what it waits in the meantime is counted when it can be read again
		}
		if err != nil {
			delete(p.threads, task)
			continue
		}
		now := thread{waitedNs: field(text, 1), loop: before.loop}
		p.threads[task] = now
		if now.waitedNs < before.waitedNs {
			continue
		}
		waited := int64(now.waitedNs - before.waitedNs)
		all += waited
		if now.loop {
			loops += waited
		}
	}
	return all, loops
}

// residentBytes is the process's resident memory: the second number of statm, in pages.
func (p *Probe) residentBytes() uint64 {
	text, err := p.readFile("proc/self/statm")
	if err != nil {
		return 0
	}
	return field(text, 1) * p.s.pageBytes
}

// field is number i of a line of numbers, 0 if there is none.
func field(text []byte, i int) uint64 {
	fields := bytes.Fields(text)
	if i >= len(fields) {
		return 0
	}
	n, err := strconv.ParseUint(string(fields[i]), 10, 63)
	if err != nil {
		return 0
	}
	return n
}

// throttledNs is how long the control group that throttles us most (ours or one above it) has
// been throttled since the last call.
func (p *Probe) throttledNs() int64 {
	text, err := p.readFile("proc/self/cgroup")
	if err != nil {
		return 0
	}
	most := int64(0)
	for _, folder := range cgroup.Folders(string(text), "cpu") {
		file := path.Join(cgroup.Root, folder, "cpu.stat")
		text, err := p.readFile(file)
		if err != nil {
			continue
		}
		now := throttled(string(text))
		if before, known := p.throttle[file]; known {
			most = max(most, now-before)
		}
		p.throttle[file] = now
	}
	return most
}

// throttled reads cpu.stat: throttled_usec of the unified hierarchy, throttled_time in ns of the
// older one.
func throttled(stat string) (ns int64) {
	for line := range strings.Lines(stat) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			continue
		}
		switch name {
		case "throttled_usec":
			return min(n, math.MaxInt64/1000) * 1000
		case "throttled_time":
			return n
		}
	}
	return 0
}
