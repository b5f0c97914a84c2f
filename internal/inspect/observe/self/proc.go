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

	"brunt/internal/base/cgroup"
	"brunt/internal/engine/machine"
)

// mostBytes is how much of a file is read. The files of interest are far smaller.
const mostBytes = 64 << 10

// readFile returns a file's content in a buffer that the next call reuses: sampling every second must not
// create work for the garbage collector.
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

// listEvery is the number of samples between two listings of the process's threads. The first listEvery samples
// list them every time, since threads are still being started then. Later a listing costs more than reading the
// known threads.
const listEvery = 10

// thread is the last known state of one of our threads.
type thread struct {
	waitedNs uint64
	loop     bool // whether it belongs to an event loop
}

// runQueueNs returns how long, in ns since the last call, all our threads and those of event loops have waited
// for a core: the second number of each thread's schedstat (Linux, Documentation/scheduler/sched-stats.rst).
// The wait of a thread between the last call and its end is lost. The wait of a thread that was started since
// the last listing is counted after the next one.
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
			continue // its wait is counted when the file can be opened again
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

// residentBytes returns the process's resident memory: the second number of statm, which is in pages.
func (p *Probe) residentBytes() uint64 {
	text, err := p.readFile("proc/self/statm")
	if err != nil {
		return 0
	}
	return field(text, 1) * p.s.pageBytes
}

// field returns the i-th number (from 0) of a line of fields, or 0 if there is none.
func field(text []byte, i int) uint64 {
	for f := range bytes.FieldsSeq(text) {
		if i--; i >= 0 {
			continue
		}
		n, err := strconv.ParseUint(string(f), 10, 63)
		if err != nil {
			return 0
		}
		return n
	}
	return 0
}

// throttledNs returns how long, in ns since the last call, the process was throttled by the control group that
// throttled it most: its own or one of that group's ancestors.
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

// throttled parses cpu.stat: throttled_usec in the unified hierarchy (version 2), throttled_time in ns in
// version 1.
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
