package observe

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// sameGroup is the folders of a group of version 1 in the other hierarchies, which are mounted beside
// its own under the names of their controllers.
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

// first is the figures that only version 1 has in this form.
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

// blkio adds up what the devices did for the group and those below it. A line is a device, what, and
// a number.
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
