package process

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// procFolder is where the kernel describes processes.
const procFolder = "/proc"

// procFile is a file of the kernel's that is read again and again.
type procFile struct {
	path string
	keep bool // it is kept open
	long bool // one call may return only a part of it
	file *os.File
}

// read returns the file's text, which is valid until the next use of the buffer; nothing if it can't be read.
func (f *procFile) read(buffer *[]byte) []byte {
	file := f.file
	if file == nil {
		var err error
		if file, err = os.Open(f.path); err != nil {
			return nil
		}
		if f.keep {
			f.file = file
		} else {
			defer file.Close()
		}
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	for n := 0; ; {
		if n == len(*buffer) {
			*buffer = append(*buffer, make([]byte, max(n, leastBuffer))...)
		}
		k, err := file.Read((*buffer)[n:])
		if n += k; err != nil || !f.long { // usually io.EOF
			return (*buffer)[:n]
		}
	}
}

// leastBuffer is the length of buffers for files, in bytes.
const leastBuffer = 32 << 10

// close closes the file, which isn't kept open any more.
func (f *procFile) close() {
	if f.file != nil {
		f.file.Close()
		f.file, f.keep = nil, false
	}
}

// stat is what is used here of /proc/PID/stat, or of a thread's.
type stat struct {
	state  byte
	parent int
	start  uint64 // in clock ticks; distinguishes a process from a later one with the same PID
}

func readStat(path string) (stat, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return stat{}, false
	}
	return parseStat(data)
}

// parseStat parses /proc/PID/stat. The command's name in it may contain any characters, including parentheses.
func parseStat(data []byte) (st stat, ok bool) {
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return st, false
	}
	f := bytes.Fields(data[end+1:])       // from field 3 on
	const state, parent, start = 0, 1, 19 // fields 3, 4 and 22
	if len(f) <= start || len(f[state]) != 1 {
		return st, false
	}
	st.state = f[state][0]
	st.parent = int(number(f[parent]))
	st.start = number(f[start])
	return st, true
}

// number returns the number of a text, or 0 if it isn't one.
func number(text []byte) uint64 {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// stateOf returns the state of a thread in a text of its stat file, or 0.
func stateOf(data []byte) byte {
	if end := bytes.LastIndexByte(data, ')'); end >= 0 && end+2 < len(data) {
		return data[end+2]
	}
	return 0
}

// parseSchedstat parses a thread's schedstat: time on a CPU, and time waiting for one, in ns.
func parseSchedstat(data []byte) (cpuNs, queueNs uint64, ok bool) {
	f := bytes.Fields(data)
	if len(f) < 2 {
		return 0, 0, false
	}
	return number(f[0]), number(f[1]), true
}

// parseIO parses /proc/PID/io: bytes read from and written to disks.
func parseIO(data []byte) (read, written uint64) {
	for line := range bytes.Lines(data) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		switch string(name) {
		case "read_bytes":
			read = number(value)
		case "write_bytes":
			written = number(value)
		}
	}
	return read, written
}

// processes returns the PIDs of all processes.
func processes(proc string) []int { return numbersIn(proc) }

// numbersIn returns the numbers among the names of a folder's entries.
func numbersIn(folder string) (all []int) {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// command returns the name of a process, or of a thread.
func command(proc string, pid int) string {
	data, _ := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "comm"))
	return strings.TrimSpace(string(data))
}

// family returns a process and all its descendants. children is a file of each thread where the kernel has it
// (CONFIG_PROC_CHILDREN); otherwise the parents of all processes are read.
func family(proc string, root int) []int {
	all := []int{root}
	for i := 0; i < len(all); i++ {
		folder := filepath.Join(proc, strconv.Itoa(all[i]), "task")
		for _, tid := range numbersIn(folder) {
			data, err := os.ReadFile(filepath.Join(folder, strconv.Itoa(tid), "children"))
			if os.IsNotExist(err) && i == 0 && tid == root {
				return descendants(proc, root)
			}
			for child := range strings.FieldsSeq(string(data)) {
				if pid, err := strconv.Atoi(child); err == nil {
					all = append(all, pid)
				}
			}
		}
	}
	return all
}

func descendants(proc string, root int) []int {
	children := map[int][]int{}
	for _, pid := range processes(proc) {
		if st, ok := readStat(filepath.Join(proc, strconv.Itoa(pid), "stat")); ok {
			children[st.parent] = append(children[st.parent], pid)
		}
	}
	all := []int{root}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// busyTicks returns the clock ticks that all cores were busy, and those that the hypervisor took, from the text of
// /proc/stat. Its fields are: cpu user nice system idle iowait irq softirq steal. Those of threads of lowered priority
// (nice) don't count: they give way to all others, as those do with which brunt keeps cores awake.
func busyTicks(text []byte) (busy, stolen uint64) {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	for i, field := range bytes.Fields(first) {
		switch i {
		case 1, 3, 6, 7:
			busy += number(field)
		case 8:
			stolen = number(field)
		}
	}
	return busy, stolen
}

// diskUse is what a disk has done so far.
type diskUse struct {
	busyMs uint64 // time with a request under way
	bytes  uint64 // read and written
}

// parseDisks returns the disks of the machine, by name, from the text of /proc/diskstats (the kernel's
// Documentation/admin-guide/iostats.rst). Its fields are: major minor name, reads merged sectors ms, writes merged
// sectors ms, under-way busy-ms. Partitions are disks of their own there. Disks that are only memory or files don't
// count.
func parseDisks(text []byte) map[string]diskUse {
	const sector = 512
	out := map[string]diskUse{}
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) < 13 || bytes.HasPrefix(f[2], []byte("loop")) || bytes.Contains(f[2], []byte("ram")) {
			continue
		}
		out[string(f[2])] = diskUse{number(f[12]), sector * (number(f[5]) + number(f[9]))}
	}
	return out
}

// ticksPerSecond is the frequency of the clock ticks (USER_HZ) in which /proc reports times on every Linux.
const ticksPerSecond = 100

// Scheduled returns how long a process' main thread has run, and how long it has waited for a core; and, if all is set,
// the sums over all of its threads (schedstat in proc(5)).
func Scheduled(pid int, all bool) (cpuNs, queuedNs float64) {
	threads := []int{pid}
	folder := filepath.Join(procFolder, strconv.Itoa(pid), "task")
	if all {
		threads = numbersIn(folder)
	}
	for _, id := range threads {
		text, err := os.ReadFile(filepath.Join(folder, strconv.Itoa(id), "schedstat"))
		if cpu, queue, ok := parseSchedstat(text); ok && err == nil {
			cpuNs, queuedNs = cpuNs+float64(cpu), queuedNs+float64(queue)
		}
	}
	return cpuNs, queuedNs
}
