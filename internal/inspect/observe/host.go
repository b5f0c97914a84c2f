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

// sectorBytes is the unit of /proc/diskstats, regardless of the disk's own sector size.
const sectorBytes = 512

// host is the Source of this machine, read from /proc (see proc(5) and the kernel's admin-guide/iostats).
// Inside a container its figures are those of the whole machine, except for the network's.
type host struct{ files fs.FS }

// NewHost returns the source of this machine. It fails on systems other than Linux.
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

// isMachine reports whether a source is a machine: this one or, through node_exporter, another.
func isMachine(s Source) bool {
	return record.IsMachine(s.Name())
}

// The figures of a machine. The processor times add up to the number of cores per second. Threads of low
// priority, including those that keep cores awake, count as nice.
var (
	hostCores     = Metric{Name: "cores", Unit: Count}
	hostBusy      = Metric{Name: "cpu_busy_seconds", Unit: CoreSeconds, Counter: true} // user, system and interrupts
	hostUser      = Metric{Name: "cpu_user_seconds", Unit: CoreSeconds, Counter: true}
	hostNice      = Metric{Name: "cpu_nice_seconds", Unit: CoreSeconds, Counter: true}
	hostSystem    = Metric{Name: "cpu_system_seconds", Unit: CoreSeconds, Counter: true}
	hostIdle      = Metric{Name: "cpu_idle_seconds", Unit: CoreSeconds, Counter: true}
	hostDiskWait  = Metric{Name: "cpu_iowait_seconds", Unit: CoreSeconds, Counter: true}
	hostInterrupt = Metric{Name: "cpu_irq_seconds", Unit: CoreSeconds, Counter: true} // softirqs included
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
	hostDiskBusy  = Metric{Name: "disk_busy_seconds", Unit: Seconds, Counter: true} // sum over all disks
	hostReceived  = Metric{Name: "net_received_bytes", Unit: Bytes, Counter: true}
	hostSent      = Metric{Name: "net_sent_bytes", Unit: Bytes, Counter: true}
	hostNetErrors = Metric{Name: "net_errors", Unit: Count, Counter: true} // errors and drops, both ways
	hostLoopback  = Metric{Name: "loopback_bytes", Unit: Bytes, Counter: true}
	hostLoad1     = Metric{Name: "load_1m", Unit: Count}
	hostLoad5     = Metric{Name: "load_5m", Unit: Count}
	hostLoad15    = Metric{Name: "load_15m", Unit: Count}
	hostRunning   = Metric{Name: "threads_running", Unit: Count} // running or waiting for a core
)

// Sample implements Source. It leaves out figures that the machine doesn't provide.
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

// numbers parses fields as numbers. A field that isn't a number becomes 0.
func numbers(fields []string) []float64 {
	out := make([]float64, len(fields))
	for i, f := range fields {
		if n, err := strconv.ParseFloat(f, 64); err == nil {
			out[i] = n
		}
	}
	return out
}

// processors parses /proc/stat. ok is false if there is no line for all processors.
func processors(stat []byte) (out Sample, ok bool) {
	cores, switches := 0.0, 0.0
	for line := range bytes.Lines(stat) {
		name, rest, _ := strings.Cut(string(line), " ")
		switch {
		case name == "cpu":
			n := numbers(strings.Fields(rest))
			n = append(n, make([]float64, 8)...) // states that an old kernel lacks are 0
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

// memory parses /proc/meminfo, whose unit is KiB.
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

// disks parses /proc/diskstats. It sums these fields over all disks: reads (field 4 of the line), sectors read
// (6), writes (8), sectors written (10) and milliseconds with I/O in progress (13).
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

// isDisk reports whether a block device is a disk. Partitions, and devices that are built from disks or memory,
// aren't: they would count twice.
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

// network parses /proc/net/dev. A line holds eight numbers about what was received (bytes, packets, errors,
// drops and four more), then the same eight about what was sent.
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

// isNetwork reports whether an interface leads to other machines. The loopback and the bridges to containers
// don't; their traffic would count twice.
func isNetwork(name string) bool {
	return name != "lo" && !slices.ContainsFunc([]string{"veth", "docker", "br-", "virbr", "cni", "cali", "flannel"},
		func(p string) bool { return strings.HasPrefix(name, p) })
}

// loadAverage parses /proc/loadavg, for example "0.50 0.40 0.30 2/345 6789".
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
