package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/record"
)

// sectorBytes is the unit of /proc/diskstats, whatever the disk's own.
const sectorBytes = 512

// host is this machine, seen through /proc (proc(5); the kernel's admin-guide/iostats). Metrics of a
// container are those of the machine around it but for the network's.
type host struct{ files fs.FS }

// NewHost returns the source that is this machine. Only Linux has it.
func NewHost() (Source, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("this machine can only be watched on Linux; run node_exporter and use node:ADDRESS")
	}
	h := host{os.DirFS("/")}
	if _, err := h.Sample(context.Background()); err != nil {
		return nil, err
	}
	return h, nil
}

// Name implements Source.
func (host) Name() string { return record.WatchedHost }

// isMachine reports whether a source is a machine: this one, or another.
func isMachine(s Source) bool {
	return record.IsMachine(s.Name())
}

// The figures of a machine. Times of processors add up to the number of cores in each second. What runs at
// low priority, threads that keep cores awake included, has the state nice.
var (
	hostCores     = Metric{Name: "cores", Unit: Count}
	hostBusy      = Metric{Name: "cpu_busy_seconds", Unit: CoreSeconds, Counter: true} // user, system and interrupts
	hostUser      = Metric{Name: "cpu_user_seconds", Unit: CoreSeconds, Counter: true}
	hostNice      = Metric{Name: "cpu_nice_seconds", Unit: CoreSeconds, Counter: true}
	hostSystem    = Metric{Name: "cpu_system_seconds", Unit: CoreSeconds, Counter: true}
	hostIdle      = Metric{Name: "cpu_idle_seconds", Unit: CoreSeconds, Counter: true}
	hostDiskWait  = Metric{Name: "cpu_iowait_seconds", Unit: CoreSeconds, Counter: true}
	hostInterrupt = Metric{Name: "cpu_irq_seconds", Unit: CoreSeconds, Counter: true} // soft ones included
	hostSteal     = Metric{Name: "cpu_steal_seconds", Unit: CoreSeconds, Counter: true}
	hostSwitches  = Metric{Name: "context_switches", Unit: Count, Counter: true}
	hostMemory    = Metric{Name: "memory_total_bytes", Unit: Bytes}
	hostAvailable = Metric{Name: "memory_available_bytes", Unit: Bytes}
	hostSwap      = Metric{Name: "swap_total_bytes", Unit: Bytes}
	hostSwapFree  = Metric{Name: "swap_free_bytes", Unit: Bytes}
	hostReads     = Metric{Name: "disk_reads", Unit: Count, Counter: true}
	hostRead      = Metric{Name: "disk_read_bytes", Unit: Bytes, Counter: true}
	hostWrites    = Metric{Name: "disk_writes", Unit: Count, Counter: true}
	hostWritten   = Metric{Name: "disk_written_bytes", Unit: Bytes, Counter: true}
	hostDiskBusy  = Metric{Name: "disk_busy_seconds", Unit: Seconds, Counter: true} // of all disks together
	hostReceived  = Metric{Name: "net_received_bytes", Unit: Bytes, Counter: true}
	hostSent      = Metric{Name: "net_sent_bytes", Unit: Bytes, Counter: true}
	hostNetErrors = Metric{Name: "net_errors", Unit: Count, Counter: true} // errors and drops, both ways
	hostLoopback  = Metric{Name: "loopback_bytes", Unit: Bytes, Counter: true}
	hostLoad1     = Metric{Name: "load_1m", Unit: Count}
	hostLoad5     = Metric{Name: "load_5m", Unit: Count}
	hostLoad15    = Metric{Name: "load_15m", Unit: Count}
	hostRunning   = Metric{Name: "threads_running", Unit: Count} // or waiting for a core
)

// Sample implements Source. What the machine doesn't tell is left out.
func (h host) Sample(context.Context) (Sample, error) {
	stat, err := fs.ReadFile(h.files, "proc/stat")
	if err != nil {
		return nil, fmt.Errorf("read /proc/stat: %w", err)
	}
	out, ok := processors(stat)
	if !ok {
		return nil, errors.New("/proc/stat has no line of all processors")
	}
	for _, more := range []struct {
		name  string
		parse func([]byte) Sample
	}{{"meminfo", memory}, {"diskstats", disks}, {"net/dev", network}, {"loadavg", loadAverage}} {
		if text, err := fs.ReadFile(h.files, "proc/"+more.name); err == nil {
			out = append(out, more.parse(text)...)
		}
	}
	return out, nil
}

// numbers are the fields of a line from one on; what isn't a number is 0.
func numbers(fields []string) []float64 {
	out := make([]float64, len(fields))
	for i, f := range fields {
		if n, err := strconv.ParseFloat(f, 64); err == nil {
			out[i] = n
		}
	}
	return out
}

// processors reads /proc/stat.
func processors(stat []byte) (out Sample, ok bool) {
	cores, switches := 0.0, 0.0
	for line := range bytes.Lines(stat) {
		name, rest, _ := strings.Cut(string(line), " ")
		switch {
		case name == "cpu":
			n := numbers(strings.Fields(rest))
			n = append(n, make([]float64, 8)...) // of states that an old kernel doesn't know
			for i := range n {
				n[i] /= ticksPerSecond
			}
			for _, f := range []struct {
				metric Metric
				value  float64
			}{
				{hostBusy, n[0] + n[2] + n[5] + n[6]}, {hostUser, n[0]}, {hostNice, n[1]}, {hostSystem, n[2]}, {hostIdle, n[3]},
				{hostDiskWait, n[4]}, {hostInterrupt, n[5] + n[6]}, {hostSteal, n[7]},
			} {
				out = append(out, Value{Metric: f.metric, Value: f.value})
			}
		case strings.HasPrefix(name, "cpu"):
			cores++
		case name == "ctxt":
			switches = numbers(append(strings.Fields(rest), ""))[0]
		}
	}
	return append(out, Value{Metric: hostCores, Value: cores}, Value{Metric: hostSwitches, Value: switches}), len(out) > 0
}

// memory reads /proc/meminfo.
func memory(meminfo []byte) (out Sample) {
	names := map[string]Metric{"MemTotal": hostMemory, "MemAvailable": hostAvailable, "SwapTotal": hostSwap,
		"SwapFree": hostSwapFree}
	for line := range bytes.Lines(meminfo) {
		name, rest, _ := strings.Cut(string(line), ":")
		if m, ok := names[name]; ok {
			if f := numbers(strings.Fields(rest)); len(f) > 0 {
				out = append(out, Value{Metric: m, Value: f[0] * 1024})
			}
		}
	}
	return out
}

// disks reads /proc/diskstats: of each disk its reads (field 4 of the line), sectors read (6), writes (8),
// sectors written (10) and milliseconds in which something was under way (13).
func disks(diskstats []byte) Sample {
	sum := make([]float64, 14)
	for line := range bytes.Lines(diskstats) {
		f := strings.Fields(string(line))
		if len(f) < len(sum) || !isDisk(f[2]) {
			continue
		}
		for i, n := range numbers(f[:len(sum)]) {
			sum[i] += n
		}
	}
	return Sample{
		{Metric: hostReads, Value: sum[3]}, {Metric: hostRead, Value: sum[5] * sectorBytes},
		{Metric: hostWrites, Value: sum[7]},
		{Metric: hostWritten, Value: sum[9] * sectorBytes}, {Metric: hostDiskBusy, Value: sum[12] / 1000},
	}
}

// isDisk tells disks from their partitions and from what is made of disks or memory, which would count
// twice.
func isDisk(name string) bool {
	for _, p := range []string{"ram", "zram", "loop", "dm-", "md", "fd", "sr"} {
		if strings.HasPrefix(name, p) {
			return false
		}
	}
	digits := strings.TrimRight(name, "0123456789")
	if digits == name {
		return true // sda, vdb
	}
	// nvme0n1 and mmcblk0 are disks, nvme0n1p1, mmcblk0p1 and sda1 are not.
	return strings.HasPrefix(name, "nvme") && strings.HasSuffix(digits, "n") || strings.HasPrefix(name, "mmcblk") &&
		!strings.HasSuffix(digits, "p")
}

// network reads /proc/net/dev: bytes, packets, errors, drops and four more numbers received, then the same
// sent.
func network(dev []byte) (out Sample) {
	var received, sent, errs, loopback float64
	for line := range bytes.Lines(dev) {
		name, rest, ok := strings.Cut(string(line), ":")
		n := numbers(strings.Fields(rest))
		name = strings.TrimSpace(name)
		switch {
		case !ok || len(n) < 12:
		case name == "lo":
			loopback = n[0]
		case isNetwork(name):
			received, sent, errs = received+n[0], sent+n[8], errs+n[2]+n[3]+n[10]+n[11]
		}
	}
	return Sample{
		{Metric: hostReceived, Value: received}, {Metric: hostSent, Value: sent}, {Metric: hostNetErrors, Value: errs},
		{Metric: hostLoopback, Value: loopback},
	}
}

// isNetwork tells interfaces to other machines from the loopback and from bridges to containers, whose
// traffic would count twice.
func isNetwork(name string) bool {
	return name != "lo" && !slices.ContainsFunc([]string{"veth", "docker", "br-", "virbr", "cni", "cali", "flannel"},
		func(p string) bool { return strings.HasPrefix(name, p) })
}

// loadAverage reads /proc/loadavg: "0.50 0.40 0.30 2/345 6789".
func loadAverage(text []byte) Sample {
	f := strings.Fields(string(text))
	if len(f) < 4 {
		return nil
	}
	running, _, _ := strings.Cut(f[3], "/")
	n := numbers(append(f[:3:3], running))
	return Sample{{Metric: hostLoad1, Value: n[0]}, {Metric: hostLoad5, Value: n[1]}, {Metric: hostLoad15, Value: n[2]},
		{Metric: hostRunning, Value: n[3]}}
}
