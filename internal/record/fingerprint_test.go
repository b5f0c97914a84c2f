package record

import (
	"runtime"
	"testing"
	"testing/fstest"
)

func TestFingerprintFiles(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	root := fstest.MapFS{
		"proc/sys/kernel/osrelease": file("6.1.0-18-amd64\n"),
		"proc/cpuinfo":              file("processor\t: 0\nmodel name\t: AMD EPYC 7452 32-Core Processor\n"),
		"proc/meminfo":              file("MemTotal:       16384 kB\nMemFree:  1 kB\n"),
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": file("performance\n"),
		"proc/self/cgroup":                        file("3:cpu:/pod\n0::/pod/box\n"),
		"sys/fs/cgroup/pod/cpu.max":               file("150000 100000\n"),
		"sys/fs/cgroup/pod/box/cpu.max":           file("max 100000\n"),
		"sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us":  file("-1\n"),
		"sys/fs/cgroup/cpu/pod/cpu.cfs_period_us": file("100000\n"),
		".dockerenv": file(""),
	}
	var e Environment
	fingerprintFiles(&e, root)
	want := Environment{
		Kernel: "6.1.0-18-amd64", CPU: "AMD EPYC 7452 32-Core Processor", MemoryB: 16384 << 10,
		Governor: "performance", CPUQuota: "1.5", Container: true,
	}
	if e != want {
		t.Errorf("got %+v, want %+v", e, want)
	}
	root["sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us"] = file("50000\n")
	if e.CPUQuota = cpuQuota(root); e.CPUQuota != "0.5" {
		t.Errorf("v1 quota %q", e.CPUQuota)
	}
	var empty Environment
	if fingerprintFiles(&empty, fstest.MapFS{}); empty != (Environment{}) {
		t.Errorf("an empty system gives %+v", empty)
	}
}

func TestFingerprintOfThisMachine(t *testing.T) {
	e := Fingerprint()
	if e.OS != runtime.GOOS || e.Cores < 1 || e.MaxProcs < 1 || e.Go == "" {
		t.Errorf("got %+v", e)
	}
	if runtime.GOOS == "linux" && (e.Kernel == "" || e.MemoryB == 0 || e.ClockRes < 1) {
		t.Errorf("Linux told nothing: %+v", e)
	}
}
