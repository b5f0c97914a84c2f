package record

import (
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"brunt/internal/base/cgroup"
)

// Fingerprint describes this machine. Fields that the system doesn't report are left empty.
func Fingerprint() Environment {
	e := Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(),
		MaxProcs: runtime.GOMAXPROCS(0), ClockRes: clockResolutionNs(),
	}
	e.Hostname, _ = os.Hostname()
	fingerprintFiles(&e, os.DirFS("/"))
	return e
}

// fingerprintFiles adds what Linux reports in files under root.
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

// field returns the value of the first of keys that occurs in a file of "key: value" lines; "" if none does.
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

// cpuQuota returns the tightest CPU limit, in cores, of the control groups that the process is in, from cgroup v2
// (cpu.max) and v1 (cpu.cfs_quota_us); "" if there is none.
func cpuQuota(root fs.FS) string {
	least := 0.0
	consider := func(quota, period string) {
		q, err := strconv.ParseFloat(quota, 64)
		p, perr := strconv.ParseFloat(period, 64)
		if err == nil && perr == nil && q > 0 && p > 0 && (least == 0 || q/p < least) {
			least = q / p
		}
	}
	data, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return ""
	}
	for _, folder := range cgroup.Folders(string(data), "cpu") {
		dir := path.Join(cgroup.Root, folder)
		if f := strings.Fields(firstLine(root, path.Join(dir, "cpu.max"))); len(f) == 2 {
			consider(f[0], f[1])
		}
		consider(firstLine(root, path.Join(dir, "cpu.cfs_quota_us")), firstLine(root, path.Join(dir, "cpu.cfs_period_us")))
	}
	if least == 0 {
		return ""
	}
	return strconv.FormatFloat(least, 'g', 4, 64)
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
