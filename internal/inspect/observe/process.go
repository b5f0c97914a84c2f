package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"brunt/internal/base/cgroup"
)

// ticksPerSecond is the frequency of the clock ticks (USER_HZ) in which /proc reports times on every Linux.
const ticksPerSecond = 100

// process is the Source of a process, or of a process and all its descendants, read from /proc (proc(5)).
type process struct {
	name     string
	proc     string // /proc
	cgroups  string // /sys/fs/cgroup
	pid      int
	tree     bool
	started  string // start time in clock ticks; distinguishes the process from a later one with the same PID
	pageSize uint64

	counted uint64 // CPU ticks of the tree at the last sample, including children that ended and were waited for
	unseen  uint64 // CPU ticks of children that ended without being waited for
}

// newProcess returns the source of a process. It fails if there is no such process.
func newProcess(name, proc, cgroups string, pid int, tree bool) (*process, error) {
	p := &process{name: name, proc: proc, cgroups: cgroups, pid: pid, tree: tree, pageSize: uint64(os.Getpagesize())}
	st, err := p.stat(pid)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.started = st.started
	return p, nil
}

// Name implements Source.
func (p *process) Name() string { return p.name }

// usage sums what processes use.
type usage struct {
	rss, files, threads uint64
	members             int
	ticks               uint64            // of processor time
	cpu                 float64           // s
	sockets             map[string]uint64 // by kind or TCP state
	unreadable          bool              // whether open files can't be listed, as in another user's process
}

// Sample implements Source.
func (p *process) Sample(context.Context) (Sample, error) {
	st, err := p.stat(p.pid)
	if err != nil {
		return nil, err
	}
	if st.started != p.started || st.state == "Z" {
		return nil, fmt.Errorf("process %d: %w", p.pid, ErrGone)
	}
	u := usage{sockets: map[string]uint64{}}
	states := p.tcpStates(p.pid)
	members := []int{p.pid}
	if p.tree {
		members = p.descendants(p.pid)
	}
	for _, pid := range members {
		// A descendant may end while it is being read.
		if err := p.add(&u, pid, states); err != nil && pid == p.pid {
			return nil, err
		}
	}
	p.sum(&u)
	return p.values(&u), nil
}

// sum computes the processor time of the processes added to u. When a parent waits for a child that ended, the
// child's time is added to the parent's (cutime, cstime), so the sum over a tree keeps growing. If no process
// waits, the child's time disappears from /proc; p.unseen keeps it.
func (p *process) sum(u *usage) {
	if u.ticks < p.counted {
		p.unseen += p.counted - u.ticks
	}
	p.counted = u.ticks
	u.cpu = float64(u.ticks+p.unseen) / ticksPerSecond
}

func (p *process) values(u *usage) Sample {
	memory, memoryName := p.memoryLimit()
	out := Sample{
		{Metric: metricRSS, Value: float64(u.rss), Limit: memory, LimitName: memoryName},
		{Metric: metricCPU, Value: u.cpu},
		{Metric: metricThreads, Value: float64(u.threads)},
	}
	if p.tree {
		out = append(out, Value{Metric: Metric{Name: "processes", Unit: Count, Leak: true}, Value: float64(u.members)})
	}
	if u.unreadable {
		return out
	}
	files := Value{Metric: metricFiles, Value: float64(u.files)}
	if n := p.fileLimit(); n > 0 && !p.tree {
		files.Limit, files.LimitName = n, "RLIMIT_NOFILE"
	}
	var sockets uint64
	for _, n := range u.sockets {
		sockets += n
	}
	all := files
	all.Metric, all.Value = metricSockets, float64(sockets)
	out = append(out, files, all)
	for _, state := range tcpStates {
		out = append(out, Value{Metric: Metric{Name: "tcp_" + state, Unit: Count}, Value: float64(u.sockets[state])})
	}
	return out
}

// add adds the usage of one process to u.
func (p *process) add(u *usage, pid int, states map[string]string) error {
	st, err := p.stat(pid)
	if err != nil {
		return err
	}
	u.ticks += st.cpuTicks
	if p.tree {
		u.ticks += st.childTicks
	}
	if st.state == "Z" {
		return nil // a zombie keeps its processor time until its parent waits for it
	}
	u.members++
	u.rss += st.rssPages * p.pageSize
	u.threads += st.threads
	folder := filepath.Join(p.path(pid), "fd")
	entries, err := os.ReadDir(folder)
	if err != nil {
		u.unreadable = true
		return nil
	}
	u.files += uint64(len(entries))
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(folder, e.Name()))
		if err != nil {
			continue
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			state := states[strings.TrimSuffix(inode, "]")]
			if state == "" {
				state = "other"
			}
			u.sockets[state]++
		}
	}
	return nil
}

func (p *process) path(pid int) string { return filepath.Join(p.proc, strconv.Itoa(pid)) }

// processStat holds the fields of /proc/PID/stat that are used here.
type processStat struct {
	state    string
	parent   int
	cpuTicks uint64
	threads  uint64
	started  string
	rssPages uint64

	childTicks uint64 // of children that ended and were waited for, including their own such children
}

func (p *process) stat(pid int) (processStat, error) {
	data, err := os.ReadFile(filepath.Join(p.path(pid), "stat"))
	if errors.Is(err, fs.ErrNotExist) || err != nil && strings.Contains(err.Error(), "no such process") {
		return processStat{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	if err != nil {
		return processStat{}, err
	}
	st, ok := parseStat(data)
	if !ok {
		return processStat{}, fmt.Errorf("process %d: its stat file can't be read", pid)
	}
	return st, nil
}

// parseStat parses /proc/PID/stat. The command's name in it may contain any characters, including parentheses.
func parseStat(data []byte) (st processStat, ok bool) {
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return st, false
	}
	f := strings.Fields(string(data[end+1:])) // from field 3 on
	if len(f) < 22 {
		return st, false
	}
	number := func(field int) uint64 {
		n, err := strconv.ParseInt(f[field-3], 10, 64)
		if err != nil || n < 0 {
			return 0
		}
		return uint64(n)
	}
	return processStat{
		state: f[0], parent: int(number(4)), cpuTicks: number(14) + number(15), childTicks: number(16) + number(17),
		threads: number(20), started: f[22-3], rssPages: number(24),
	}, true
}

// descendants lists a process and all its descendants.
func (p *process) descendants(root int) []int {
	entries, err := os.ReadDir(p.proc)
	if err != nil {
		return []int{root}
	}
	children := map[int][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if st, err := p.stat(pid); err == nil {
			children[st.parent] = append(children[st.parent], pid)
		}
	}
	all := []int{root}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// fileLimit returns the soft limit of open files, or 0 if there is none.
func (p *process) fileLimit() float64 {
	data, err := os.ReadFile(filepath.Join(p.path(p.pid), "limits"))
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(l, "Max open files"); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				n, _ := strconv.ParseFloat(f[0], 64)
				return max(n, 0)
			}
		}
	}
	return 0
}

// memoryUnlimited is the lowest limit that means "no limit". Version 1 reports a number near 2⁶³ in that case.
const memoryUnlimited = 1 << 60

// memoryLimit returns the most memory, in bytes, that the process can have, and what sets the limit: the lowest
// limit of its control groups or the machine's memory.
func (p *process) memoryLimit() (bytes float64, name string) {
	data, err := os.ReadFile(filepath.Join(p.path(p.pid), "cgroup"))
	if err == nil {
		for _, folder := range cgroup.Folders(string(data), "memory") {
			for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
				n := readNumber(filepath.Join(p.cgroups, folder, file))
				if n > 0 && n < memoryUnlimited && (bytes == 0 || n < bytes) {
					bytes, name = n, "the control group's memory limit"
				}
			}
		}
	}
	if total := memoryTotal(p.proc); total > 0 && (bytes == 0 || total < bytes) {
		return total, "the machine's memory"
	}
	return bytes, name
}

func memoryTotal(proc string) float64 {
	data, err := os.ReadFile(filepath.Join(proc, "meminfo"))
	if err != nil {
		return 0
	}
	return totalOf(string(data))
}

// totalOf returns the machine's memory in bytes from the text of /proc/meminfo, or 0 if it isn't there.
func totalOf(meminfo string) float64 {
	for l := range strings.Lines(meminfo) {
		if f := strings.Fields(l); len(f) > 1 && f[0] == "MemTotal:" {
			n, _ := strconv.ParseFloat(f[1], 64)
			return n * 1024
		}
	}
	return 0
}

// readNumber reads a file that holds one number. It returns 0 if it can't.
func readNumber(path string) float64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
	if err != nil {
		return 0
	}
	return n
}
