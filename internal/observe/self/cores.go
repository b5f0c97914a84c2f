package self

import (
	"bytes"
	"slices"
	"strconv"
)

// tickNs is the unit of times in /proc on every Linux (USER_HZ).
const tickNs = 10_000_000

// coreTimes is what has become of the cores that we may use, in ns since the machine's start.
type coreTimes struct {
	idle, steal  int64
	idlePriority int64 // our threads of idle priority
}

// sinceCores is what has passed since the cores' times were read: usually the time between two samples, and more
// where reading failed.
type sinceCores struct{ wallNs, oursNs int64 }

// coresNs is how long, since the last call, the hypervisor kept the cores that we may use, and how
// long other processes and interrupts had them: the time that is neither the hypervisor's, nor idle, nor
// ours, nor that of our threads of idle priority. The kernel keeps the times of idleness and of steal
// exactly (Documentation/filesystems/proc.rst, /proc/stat), but tells them in hundredths of a second; the
// times that it tells of work are guesses by the clock's ticks, which sleepers that wake at ticks evade.
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

// coreTimesOf sums up the lines of the cores given; found is how many there were of them.
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
