package observe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memoryUnlimited is the least limit that means none: version 1 says so by a number near 2⁶³.
const memoryUnlimited = 1 << 60

// memoryLimit is what the process's memory can't exceed: the least limit of its control groups,
// or the machine's memory.
func (p *process) memoryLimit() (bytes float64, name string) {
	data, err := os.ReadFile(filepath.Join(p.path(p.pid), "cgroup"))
	if err == nil {
		for l := range strings.Lines(string(data)) {
			f := strings.SplitN(strings.TrimSpace(l), ":", 3)
			if len(f) != 3 {
				continue
			}
			root, file := p.cgroups, "memory.max"
			if f[1] != "" {
				if !strings.Contains(","+f[1]+",", ",memory,") {
					continue
				}
				root, file = filepath.Join(p.cgroups, "memory"), "memory.limit_in_bytes"
			}
			if n := leastLimit(root, f[2], file); n > 0 && (bytes == 0 || n < bytes) {
				bytes, name = n, "the control group's memory limit"
			}
		}
	}
	if total := memoryTotal(p.proc); total > 0 && (bytes == 0 || total < bytes) {
		return total, "the machine's memory"
	}
	return bytes, name
}

// leastLimit is the least limit of a control group and those above it, 0 if there is none.
func leastLimit(root, path, file string) (least float64) {
	for at := filepath.Clean("/" + path); ; at = filepath.Dir(at) {
		if n := readNumber(filepath.Join(root, at, file)); n > 0 && n < memoryUnlimited && (least == 0 || n < least) {
			least = n
		}
		if at == "/" {
			return least
		}
	}
}

func memoryTotal(proc string) float64 {
	data, err := os.ReadFile(filepath.Join(proc, "meminfo"))
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(data)) {
		if f := strings.Fields(l); len(f) > 1 && f[0] == "MemTotal:" {
			n, _ := strconv.ParseFloat(f[1], 64)
			return n * 1024
		}
	}
	return 0
}

// readNumber reads a file that holds one number; 0 if it doesn't.
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

// cgroup is a control group of version 2 (the kernel's cgroup-v2 documentation).
type cgroup struct {
	name, dir, proc string
}

func newCgroup(name, dir, proc string) (*cgroup, error) {
	if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
		return nil, fmt.Errorf("%s is no control group: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err != nil {
		return nil, fmt.Errorf("%s is no control group of version 2; watch a process with pid:N instead", dir)
	}
	return &cgroup{name, filepath.Clean(dir), proc}, nil
}

// Name implements Source.
func (c *cgroup) Name() string { return c.name }

// Sample implements Source.
func (c *cgroup) Sample(context.Context) (Sample, error) {
	if _, err := os.Stat(filepath.Join(c.dir, "cgroup.procs")); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("control group %s: %w", c.dir, ErrGone)
	}
	var out Sample
	if n, ok := c.number("memory.current"); ok {
		v := Value{Metric: Metric{Name: "memory_bytes", Unit: Bytes}, Value: n}
		v.Limit, v.LimitName = c.limit()
		out = append(out, v)
	}
	memory := c.table("memory.stat")
	if n, ok := memory["anon"]; ok {
		// Memory of files goes when others need it: growth of that is no leak.
		v := Value{Metric: Metric{Name: "anonymous_bytes", Unit: Bytes, Leak: true}, Value: n}
		v.Limit, v.LimitName = c.limit()
		out = append(out, v)
	}
	cpu := c.table("cpu.stat")
	if n, ok := cpu["usage_usec"]; ok {
		out = append(out, Value{Metric: metricCPU, Value: n / 1e6})
	}
	if n, ok := cpu["throttled_usec"]; ok {
		out = append(out, Value{Metric: Metric{Name: "throttled_seconds", Unit: Seconds, Counter: true}, Value: n / 1e6})
	}
	if n, ok := c.number("pids.current"); ok {
		v := Value{Metric: Metric{Name: "tasks", Unit: Count, Leak: true}, Value: n}
		if limit, ok := c.number("pids.max"); ok {
			v.Limit, v.LimitName = limit, "the control group's limit of tasks"
		}
		out = append(out, v)
	}
	out = append(out, c.io()...)
	if len(out) == 0 {
		return nil, fmt.Errorf("control group %s has no figures; are its controllers enabled?", c.dir)
	}
	return out, nil
}

func (c *cgroup) limit() (float64, string) {
	if n, ok := c.number("memory.max"); ok {
		return n, "the control group's memory limit"
	}
	return memoryTotal(c.proc), "the machine's memory"
}

func (c *cgroup) number(file string) (float64, bool) {
	data, err := os.ReadFile(filepath.Join(c.dir, file))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
	return n, err == nil
}

// table reads a file of lines with a name and a number each.
func (c *cgroup) table(file string) map[string]float64 {
	out := map[string]float64{}
	data, err := os.ReadFile(filepath.Join(c.dir, file))
	if err != nil {
		return out
	}
	for l := range strings.Lines(string(data)) {
		if f := strings.Fields(l); len(f) == 2 {
			if n, err := strconv.ParseFloat(f[1], 64); err == nil {
				out[f[0]] = n
			}
		}
	}
	return out
}

// io adds up io.stat, whose lines are a device and name=number each.
func (c *cgroup) io() Sample {
	data, err := os.ReadFile(filepath.Join(c.dir, "io.stat"))
	if err != nil {
		return nil
	}
	sum := map[string]float64{}
	for l := range strings.Lines(string(data)) {
		for _, f := range strings.Fields(l) {
			if name, number, ok := strings.Cut(f, "="); ok {
				n, _ := strconv.ParseFloat(number, 64)
				sum[name] += n
			}
		}
	}
	counter := func(name, unit, field string) Value {
		return Value{Metric: Metric{Name: name, Unit: unit, Counter: true}, Value: sum[field]}
	}
	return Sample{
		counter("read_bytes", Bytes, "rbytes"), counter("written_bytes", Bytes, "wbytes"),
		counter("reads", Count, "rios"), counter("writes", Count, "wios"),
	}
}
