package observe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// controlGroup is the Source of a Linux control group. The kernel documents the files in cgroup-v2.rst and, for
// version 1, in the pages of the controllers memory, cpuacct, cpu, pids and blkio.
type controlGroup struct {
	name    string
	files   fs.FS    // the machine's root directory
	folders []string // of the group in files; version 1 has one per hierarchy
	version int
}

// newCgroup returns the source of the control group in folder, a path from the root of files. It fails if the
// folder isn't a control group or has no figures.
func newCgroup(name string, files fs.FS, folder string) (*controlGroup, error) {
	const where = "name a folder such as /sys/fs/cgroup/system.slice/NAME.service, or in version 1 /sys/fs/cgroup/memory/NAME"
	at := strings.TrimPrefix(path.Clean("/"+folder), "/")
	c := &controlGroup{name: name, files: files, folders: []string{at}, version: 2}
	if info, err := fs.Stat(files, path.Join(at, ".")); folder == "" || err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%q is no control group: there is no such folder; %s", folder, where)
	}
	switch _, err := fs.Stat(files, path.Join(at, "cgroup.procs")); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%q is no control group: it has no cgroup.procs; %s", folder, where)
	case err != nil:
		return nil, fmt.Errorf("%q can't be watched: %w", folder, err)
	}
	if _, err := fs.Stat(files, path.Join(at, "cgroup.controllers")); err == nil {
		return c, nil
	}
	c.version, c.folders = 1, append(c.folders, sameGroup(files, at)...)
	if len(c.figures()) == 0 {
		return nil, fmt.Errorf("%q is a control group without figures: none of memory, cpuacct, pids and blkio has it; %s",
			folder, where)
	}
	return c, nil
}

// Name implements Source.
func (c *controlGroup) Name() string { return c.name }

// Sample implements Source.
func (c *controlGroup) Sample(context.Context) (Sample, error) {
	if _, err := fs.Stat(c.files, path.Join(c.folders[0], "cgroup.procs")); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("control group /%s: %w", c.folders[0], ErrGone)
	}
	out := c.figures()
	if len(out) == 0 {
		return nil, fmt.Errorf("control group /%s has no figures; are its controllers enabled?", c.folders[0])
	}
	return out, nil
}

func (c *controlGroup) figures() Sample {
	out := c.second()
	if c.version == 1 {
		out = c.first()
	}
	if n, ok := c.number("pids.current"); ok {
		v := Value{Metric: Metric{Name: "tasks", Unit: Count, Leak: true}, Value: n}
		if limit, ok := c.number("pids.max"); ok {
			v.Limit, v.LimitName = limit, "the control group's limit of tasks"
		}
		out = append(out, v)
	}
	return out
}

// second returns the figures whose files only exist in version 2.
func (c *controlGroup) second() (out Sample) {
	limit, _ := c.number("memory.max")
	if n, ok := c.number("memory.current"); ok {
		out = append(out, c.memory("memory_bytes", n, limit))
	}
	if n, ok := c.table("memory.stat")["anon"]; ok {
		out = append(out, c.memory(anonymous, n, limit))
	}
	cpu := c.table("cpu.stat")
	if n, ok := cpu["usage_usec"]; ok {
		out = append(out, Value{Metric: metricCPU, Value: n / 1e6})
	}
	if n, ok := cpu["throttled_usec"]; ok {
		out = append(out, throttled(n/1e6))
	}
	if text, ok := c.text("io.stat"); ok {
		// A line holds a device and its name=number pairs.
		sum := map[string]float64{}
		for l := range strings.Lines(text) {
			for f := range strings.FieldsSeq(l) {
				if name, number, ok := strings.Cut(f, "="); ok {
					n, _ := strconv.ParseFloat(number, 64)
					sum[name] += n
				}
			}
		}
		out = append(out, transfers(sum["rbytes"], sum["wbytes"], sum["rios"], sum["wios"])...)
	}
	return out
}

// anonymous is the memory figure that is judged for leaks. The page cache isn't judged: the kernel frees it
// when memory is needed, so its growth isn't a leak.
const anonymous = "anonymous_bytes"

// memory returns a memory figure in bytes. Its limit is the group's, or the machine's memory if the group has
// none.
func (c *controlGroup) memory(name string, n, limit float64) Value {
	v := Value{Metric: Metric{Name: name, Unit: Bytes, Leak: name == anonymous}, Value: n}
	if limit > 0 && limit < memoryUnlimited {
		v.Limit, v.LimitName = limit, "the control group's memory limit"
		return v
	}
	if text, err := fs.ReadFile(c.files, "proc/meminfo"); err == nil {
		v.Limit, v.LimitName = totalOf(string(text)), "the machine's memory"
	}
	return v
}

func throttled(seconds float64) Value {
	return Value{Metric: Metric{Name: "throttled_seconds", Unit: Seconds, Counter: true}, Value: seconds}
}

func transfers(readBytes, writtenBytes, reads, writes float64) Sample {
	counter := func(name, unit string, n float64) Value {
		return Value{Metric: Metric{Name: name, Unit: unit, Counter: true}, Value: n}
	}
	return Sample{
		counter("read_bytes", Bytes, readBytes), counter("written_bytes", Bytes, writtenBytes),
		counter("reads", Count, reads), counter("writes", Count, writes),
	}
}

// text returns the content of one of the group's files, from the first hierarchy that has it.
func (c *controlGroup) text(file string) (string, bool) {
	for _, folder := range c.folders {
		if data, err := fs.ReadFile(c.files, path.Join(folder, file)); err == nil {
			return string(data), true
		}
	}
	return "", false
}

func (c *controlGroup) number(file string) (float64, bool) {
	text, ok := c.text(file)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, err == nil
}

// table parses a file whose lines hold a name and a number each. Other lines are skipped.
func (c *controlGroup) table(file string) map[string]float64 {
	out := map[string]float64{}
	text, _ := c.text(file)
	for l := range strings.Lines(text) {
		if f := strings.Fields(l); len(f) == 2 {
			if n, err := strconv.ParseFloat(f[1], 64); err == nil {
				out[f[0]] = n
			}
		}
	}
	return out
}

// isHierarchy reports whether a folder is named like a hierarchy of version 1: by its controllers, separated by
// commas.
func isHierarchy(name string) bool {
	known := strings.Fields(
		"memory cpu cpuacct pids blkio cpuset devices freezer hugetlb net_cls net_prio perf_event rdma misc systemd")
	return !slices.ContainsFunc(strings.Split(name, ","), func(part string) bool { return !slices.Contains(known, part) })
}

// sameGroup returns the folders of a version 1 group in the other hierarchies. Hierarchies are mounted next to
// each other, in folders named after their controllers.
func sameGroup(files fs.FS, folder string) (others []string) {
	parts := strings.Split(folder, "/")
	for i, part := range parts {
		if !isHierarchy(part) {
			continue
		}
		mounts, group := path.Join(parts[:i]...), path.Join(parts[i+1:]...)
		entries, err := fs.ReadDir(files, path.Join(mounts, "."))
		if err != nil {
			return nil
		}
		for _, e := range entries {
			other := path.Join(mounts, e.Name(), group)
			if !isHierarchy(e.Name()) || other == folder {
				continue
			}
			if _, err := fs.Stat(files, path.Join(other, "cgroup.procs")); err == nil {
				others = append(others, other)
			}
		}
		return others
	}
	return nil
}

// first returns the figures whose files only exist in version 1.
func (c *controlGroup) first() (out Sample) {
	stat := c.table("memory.stat")
	limit, ok := c.number("memory.limit_in_bytes")
	if above := stat["hierarchical_memory_limit"]; above > 0 && (!ok || above < limit) {
		limit = above
	}
	if n, ok := c.number("memory.usage_in_bytes"); ok {
		out = append(out, c.memory("memory_bytes", n, limit))
	}
	if n, ok := stat["total_rss"]; ok {
		out = append(out, c.memory(anonymous, n, limit))
	}
	if n, ok := c.number("cpuacct.usage"); ok {
		out = append(out, Value{Metric: metricCPU, Value: n / 1e9})
	}
	if n, ok := c.table("cpu.stat")["throttled_time"]; ok {
		out = append(out, throttled(n/1e9))
	}
	readBytes, writtenBytes, ok := c.blkio("io_service_bytes")
	reads, writes, alsoOK := c.blkio("io_serviced")
	if ok && alsoOK {
		out = append(out, transfers(readBytes, writtenBytes, reads, writes)...)
	}
	return out
}

// blkio sums the reads and writes of all devices for the group and its descendants (for the group alone if the
// kernel has no recursive file). A line holds a device, an operation and a number.
func (c *controlGroup) blkio(figure string) (read, written float64, ok bool) {
	text, ok := c.text("blkio.throttle." + figure + "_recursive")
	if !ok {
		if text, ok = c.text("blkio.throttle." + figure); !ok {
			return 0, 0, false
		}
	}
	for l := range strings.Lines(text) {
		f := strings.Fields(l)
		if len(f) != 3 {
			continue
		}
		n, _ := strconv.ParseFloat(f[2], 64)
		switch f[1] {
		case "Read":
			read += n
		case "Write":
			written += n
		}
	}
	return read, written, true
}
