package self

import (
	"bytes"
	"slices"
	"strconv"
)

// tickNs is the length of a clock tick (USER_HZ), the unit of times in /proc on every Linux.
const tickNs = 10_000_000

// coreTimes sums times of the cores that this process may use, in ns since the machine started.
type coreTimes struct {
	idle, steal  int64
	idlePriority int64 // CPU time of our threads of idle priority
}

// sinceCores is what has passed since the cores' times were last read. This is the time between two samples, or
// more if reading failed.
type sinceCores struct{ wallNs, oursNs int64 }

// coresNs returns how long, in ns since the last call, the hypervisor took the cores that this process may use
// (steal), and how long other processes and interrupts used them (others). others is the time that remains
// without steal, idle time, our own CPU time and that of our threads of idle priority. It isn't taken from the
// kernel's times of work: the kernel measures idle time and steal exactly, though it reports them in hundredths
// of a second (Documentation/filesystems/proc.rst, /proc/stat), but estimates times of work by clock ticks,
// which miss threads that wake at a tick and soon sleep again.
func (p *Probe) coresNs(wallNs, oursNs int64) (steal, others int64) {
	p.unread.wallNs += wallNs
	p.unread.oursNs += oursNs
	text, err := p.readFile("proc/stat")
	if err != nil || len(p.s.cores) == 0 {
		return 0, 0
	}
	now, found := coreTimesOf(text, p.s.cores)
	if p.s.idle != nil {
		now.idlePriority = p.s.idle()
	}
	before, since := p.cores, p.unread
	p.cores, p.unread = now, sinceCores{}
	if found < len(p.s.cores) {
		return 0, 0
	}
	steal = max(now.steal-before.steal, 0)
	idle := now.idle - before.idle + now.idlePriority - before.idlePriority
	others = int64(len(p.s.cores))*since.wallNs - steal - idle - since.oursNs
	return steal, max(others, 0)
}

// coreTimesOf sums the lines of /proc/stat for the given cores. found is the number of such lines.
func coreTimesOf(stat []byte, cores []int) (sum coreTimes, found int) {
	for line := range bytes.Lines(stat) {
		rest, ok := bytes.CutPrefix(line, []byte("cpu"))
		number, _, _ := bytes.Cut(rest, []byte(" "))
		core, err := strconv.Atoi(string(number))
		if !ok || err != nil || !slices.Contains(cores, core) {
			continue
		}
		found++
		sum.idle += int64(field(line, 4)+field(line, 5)) * tickNs // idle and iowait
		sum.steal += int64(field(line, 8)) * tickNs
	}
	return sum, found
}
