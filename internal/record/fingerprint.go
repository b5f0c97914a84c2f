package record

import (
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// Fingerprint says what machine this is. What the system doesn't tell is left empty.
func Fingerprint() Environment {
	e := Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(),
		MaxProcs: runtime.GOMAXPROCS(0), ClockRes: clockResolutionNs(),
	}
	e.Hostname, _ = os.Hostname()
	fingerprintFiles(&e, os.DirFS("/"))
	return e
}

// fingerprintFiles adds what Linux tells in files under root.
func fingerprintFiles(e *Environment, root fs.FS) {
	e.Kernel = firstLine(root, "proc/sys/kernel/osrelease")
	e.CPU = field(root, "proc/cpuinfo", "model name", "Model", "Hardware", "cpu")
	if kB, ok := strings.CutSuffix(field(root, "proc/meminfo", "MemTotal"), " kB"); ok {
		n, _ := strconv.ParseUint(strings.TrimSpace(kB), 10, 64)
		e.MemoryB = n * 1024
	}
	e.Governor = firstLine(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	e.CPUQuota = cpuQuota(root)
	e.Container = inContainer(root)
}

func firstLine(root fs.FS, name string) string {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}

// field returns the value of the first of keys that a file of "key: value" lines has.
func field(root fs.FS, name string, keys ...string) string {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	for _, key := range keys {
		for line := range strings.Lines(string(data)) {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
				return strings.TrimSpace(v)
			}
		}
	}
	return ""
}

// cpuQuota is the tightest limit, in cores, of the control groups that the process is in, as
// cgroup v2 (cpu.max) and v1 (cpu.cfs_quota_us) have it; "" without one.
func cpuQuota(root fs.FS) string {
	least := 0.0
	consider := func(quota, period string) {
		q, err := strconv.ParseFloat(quota, 64)
		p, perr := strconv.ParseFloat(period, 64)
		if err == nil && perr == nil && q > 0 && p > 0 && (least == 0 || q/p < least) {
			least = q / p
		}
	}
	for _, group := range cgroups(root) {
		for dir := group; ; dir = path.Dir(dir) {
			if f := strings.Fields(firstLine(root, path.Join("sys/fs/cgroup", dir, "cpu.max"))); len(f) == 2 {
				consider(f[0], f[1])
			}
			v1 := path.Join("sys/fs/cgroup/cpu", dir)
			consider(firstLine(root, path.Join(v1, "cpu.cfs_quota_us")), firstLine(root, path.Join(v1, "cpu.cfs_period_us")))
			if dir == "/" || dir == "." {
				break
			}
		}
	}
	if least == 0 {
		return ""
	}
	return strconv.FormatFloat(least, 'g', 4, 64)
}

// cgroups are the paths of the process's groups that may limit its CPU.
func cgroups(root fs.FS) []string {
	out := []string{"/"}
	data, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return out
	}
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && (f[1] == "" || strings.Contains(","+f[1]+",", ",cpu,")) {
			out = append(out, path.Clean("/"+f[2]))
		}
	}
	return out
}

func inContainer(root fs.FS) bool {
	for _, name := range []string{".dockerenv", "run/.containerenv"} {
		if _, err := fs.Stat(root, name); err == nil {
			return true
		}
	}
	data, err := fs.ReadFile(root, "proc/1/cgroup")
	if err != nil {
		return false
	}
	for _, mark := range []string{"docker", "kubepods", "containerd", "lxc"} {
		if strings.Contains(string(data), mark) {
			return true
		}
	}
	return false
}
