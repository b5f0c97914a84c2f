package observe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// machine returns a file system with these paths and texts.
func machine(texts map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for path, text := range texts {
		out[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// sampled returns the values of a sample by name, including limits.
func sampled(t *testing.T, c *controlGroup) map[string]float64 {
	t.Helper()
	values, err := c.Sample(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, v := range values {
		got[v.Name] = v.Value
		if v.Limit > 0 {
			got["limit "+v.Name] = v.Limit
		}
	}
	return got
}

func TestControlGroupOfVersion2(t *testing.T) {
	const at = "sys/fs/cgroup/a.slice/"
	files := machine(map[string]string{
		at + "cgroup.procs": "1\n", at + "cgroup.controllers": "cpu memory\n",
		at + "memory.current": "5000\n", at + "memory.max": "8000\n", at + "memory.stat": "anon 3000\nfile 2000\n",
		at + "cpu.stat":     "usage_usec 2500000\nthrottled_usec 500000\n",
		at + "pids.current": "7\n", at + "pids.max": "max\n",
		at + "io.stat": "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n8:16 rbytes=5 wbytes=0 rios=1 wios=0\n",
		"proc/meminfo": "MemTotal: 100 kB\n",
	})
	c, err := newCgroup("cgroup:x", files, "/"+at)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"memory_bytes": 5000, "limit memory_bytes": 8000, "anonymous_bytes": 3000, "limit anonymous_bytes": 8000,
		"cpu_seconds": 2.5, "throttled_seconds": 0.5, "tasks": 7, "read_bytes": 15, "written_bytes": 20, "reads": 2,
		"writes": 2,
	}
	if got := sampled(t, c); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	files[at+"memory.max"] = &fstest.MapFile{Data: []byte("max\n")}
	if got := sampled(t, c); got["limit anonymous_bytes"] != 102400 {
		t.Errorf("without a limit: %v", got)
	}
	delete(files, at+"cgroup.procs")
	if _, err := c.Sample(context.Background()); !errors.Is(err, ErrGone) {
		t.Errorf("got %v, want that it is gone", err)
	}
}

// first returns a machine with version 1 of control groups: hierarchies with one controller and with two. One of them
// is linked under two names, as distributions do.
func first() map[string]string {
	const root = "sys/fs/cgroup/"
	out := map[string]string{"proc/meminfo": "MemTotal: 100 kB\n", root + "pids/other/cgroup.procs": "2\n"}
	for _, h := range []string{"memory", "cpu,cpuacct", "cpuacct", "pids", "blkio", "freezer", "systemd"} {
		out[root+h+"/docker/x/cgroup.procs"] = "1\n"
	}
	for file, text := range map[string]string{
		"memory/docker/x/memory.usage_in_bytes": "5000\n", "memory/docker/x/memory.limit_in_bytes": "9223372036854771712\n",
		"memory/docker/x/memory.stat":        "cache 9\nrss 1\nhierarchical_memory_limit 9000\ntotal_cache 10\ntotal_rss 3000\n",
		"cpu,cpuacct/docker/x/cpuacct.usage": "2500000000\n", "cpuacct/docker/x/cpuacct.usage": "2500000000\n",
		"cpu,cpuacct/docker/x/cpu.stat":                                "nr_periods 3\nnr_throttled 1\nthrottled_time 500000000\n",
		"pids/docker/x/pids.current":                                   "7\n",
		"pids/docker/x/pids.max":                                       "50\n",
		"blkio/docker/x/blkio.throttle.io_service_bytes":               "8:0 Read 1\nTotal 1\n",
		"blkio/docker/x/blkio.throttle.io_service_bytes_recursive":     "8:0 Read 10\n8:0 Write 20\n8:0 Total 30\n8:16 Read 5\nTotal 35\n",
		"blkio/docker/x/blkio.throttle.io_serviced":                    "8:0 Read 2\n8:0 Write 2\nTotal 4\n",
		"memory/docker/x/memory/cgroup.procs":                          "",
		"memory/docker/x/memory/memory.usage_in_bytes":                 "77\n",
		"memory/docker/x/memory/unrelated/file.with.no.meaning.at.all": "77\n",
	} {
		out[root+file] = text
	}
	return out
}

func TestControlGroupOfVersion1(t *testing.T) {
	want := map[string]float64{
		"memory_bytes": 5000, "limit memory_bytes": 9000, "anonymous_bytes": 3000, "limit anonymous_bytes": 9000,
		"cpu_seconds": 2.5, "throttled_seconds": 0.5, "tasks": 7, "limit tasks": 50, "read_bytes": 15, "written_bytes": 20,
		"reads": 2, "writes": 2,
	}
	// All hierarchies are read, whichever one is named.
	for _, h := range []string{"memory", "cpu,cpuacct", "pids", "freezer", "systemd"} {
		c, err := newCgroup("cgroup:x", machine(first()), "/sys/fs/cgroup/"+h+"/docker/x/")
		if err != nil {
			t.Fatal(err)
		}
		if got := sampled(t, c); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", h, got, want)
		}
	}
	// A group whose name is that of a controller is the group itself.
	c, err := newCgroup("cgroup:x", machine(first()), "/sys/fs/cgroup/memory/docker/x/memory")
	if err != nil {
		t.Fatal(err)
	}
	if got := sampled(t, c); fmt.Sprint(got) != fmt.Sprint(map[string]float64{"memory_bytes": 77,
		"limit memory_bytes": 102400}) {
		t.Errorf("got %v", got)
	}
	// The same holds for a group that only one controller has.
	if c, err = newCgroup("cgroup:x", machine(map[string]string{"g/cgroup.procs": "", "g/pids.current": "3\n"}),
		"/g"); err != nil {
		t.Fatal(err)
	}
	if got := sampled(t, c); fmt.Sprint(got) != fmt.Sprint(map[string]float64{"tasks": 3}) {
		t.Errorf("got %v", got)
	}
	files := machine(first())
	if c, err = newCgroup("cgroup:x", files, "/sys/fs/cgroup/pids/docker/x"); err != nil {
		t.Fatal(err)
	}
	delete(files, "sys/fs/cgroup/pids/docker/x/cgroup.procs")
	if _, err := c.Sample(context.Background()); !errors.Is(err, ErrGone) {
		t.Errorf("got %v, want that it is gone", err)
	}
}

func TestWhatIsNoControlGroup(t *testing.T) {
	files := first()
	files["sys/fs/cgroup/freezer/alone/cgroup.procs"] = "1\n"
	for folder, want := range map[string]string{
		"":                                    `"" is no control group: there is no such folder`,
		"/nonexistent":                        "there is no such folder; name a folder such as /sys/fs/cgroup/",
		"/proc/meminfo":                       "there is no such folder",
		"/proc":                               "it has no cgroup.procs; name a folder such as",
		"/sys/fs/cgroup":                      "in version 1 /sys/fs/cgroup/memory/NAME",
		"/sys/fs/cgroup/freezer/alone":        "without figures",
		"/sys/fs/cgroup/memory/docker/../..":  "it has no cgroup.procs",
		"/sys/fs/cgroup/memory/docker/x/cpu/": "there is no such folder",
	} {
		_, err := newCgroup("cgroup:"+folder, machine(files), folder)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", folder, err, want)
		}
	}
	if _, err := Parse("cgroup:some/folder"); err == nil || !strings.Contains(err.Error(), "give the whole path") {
		t.Error(err)
	}
}

// The groups of this process have figures, in both versions of control groups.
func TestControlGroupsOfThisMachine(t *testing.T) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for l := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(l), ":", 3)
		if len(f) != 3 {
			t.Fatalf("line %q", l)
		}
		for _, mount := range []string{strings.TrimPrefix(f[1], "name="), "unified"} {
			folder := filepath.Join("/sys/fs/cgroup", mount, f[2])
			if _, err := os.Stat(filepath.Join(folder, "cgroup.procs")); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			source, err := Parse("cgroup:" + folder)
			if err != nil {
				t.Logf("%s: %v", folder, err)
				continue
			}
			for name, n := range sampled(t, source.(*controlGroup)) {
				found[name] = n
			}
		}
	}
	if found["cpu_seconds"] <= 0 {
		t.Errorf("no group of this process says how much CPU it used: %v", found)
	}
	t.Log(found)
}
