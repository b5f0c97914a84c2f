package machine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const virtualProcessor = "processor\t: 0\nflags\t\t: fpu hypervisor lm\n"

// tree returns a machine with these files under its root. A name that ends with / is a folder.
func tree(t *testing.T, files map[string]string) *machine {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			path = filepath.Join(path, "x")
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &machine{root: root, linux: true, virtual: true, cores: []int{0, 1}}
}

// outermost is a v1 hierarchy in which no group can be created, because a file has the folder's name.
var (
	session = map[string]string{"proc/self/cgroup": "1:cpu:/\n0::/\n", "sys/fs/cgroup/cpu/cpu.shares": "1024",
		"sys/fs/cgroup/cpu/release_agent": "", "sys/fs/cgroup/cpu/brunt-awake": ""}
	inContainer = map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.type": "domain",
		"sys/fs/cgroup/cgroup.subtree_control": "cpu", "sys/fs/cgroup/cpu.weight": "100"}
	scope = map[string]string{"proc/self/cgroup": "0::/user.slice/a.scope\n",
		"sys/fs/cgroup/user.slice/cpu.weight": "100"}
)

func with(files map[string]string, more ...string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		out[name] = text
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

func TestWhomIdlePriorityIsIdleFor(t *testing.T) {
	const autogroup = "proc/sys/kernel/sched_autogroup_enabled"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  bool
	}{
		{"no groups at all", nil, true},
		{"sessions aren't groups", with(session, autogroup, "0\n"), true},
		{"sessions are groups", with(session, autogroup, "1\n"), false},
		{"a scope that is weighed", scope, false},
		{"a scope that isn't", map[string]string{"proc/self/cgroup": "0::/user.slice/a.scope\n",
			"sys/fs/cgroup/user.slice/memory.max": "max"}, true},
		{"a container", inContainer, false},
		{"a v1 group", map[string]string{"proc/self/cgroup": "4:cpu,cpuacct:/box\n",
			"sys/fs/cgroup/cpu,cpuacct/box/cpu.shares": "1024"}, false},
	} {
		if got := tree(t, c.files).idleForAll(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestAGroupOfIdlePriorityIsMade(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"version 1": with(session, "proc/sys/kernel/sched_autogroup_enabled", "1", "sys/fs/cgroup/cpu/brunt-awake", ""),
		"version 2": {"proc/self/cgroup": "0::/user.slice\n", "sys/fs/cgroup/cgroup.subtree_control": "memory cpu\n",
			"sys/fs/cgroup/user.slice/cpu.weight": "100", "sys/fs/cgroup/user.slice/cgroup.type": "domain"},
	} {
		m := tree(t, files)
		if name == "version 1" {
			os.Remove(filepath.Join(m.root, "sys/fs/cgroup/cpu/brunt-awake"))
		}
		if !m.idleForAll() || m.group == "" {
			t.Errorf("%s: no group", name)
			continue
		}
		if b, err := os.ReadFile(filepath.Join(m.group, "cpu.idle")); err != nil || string(b) != "1" {
			t.Errorf("%s: %s/cpu.idle is %q (%v)", name, m.group, b, err)
		}
	}
}

func TestWhatAutoTakes(t *testing.T) {
	remote, here := []string(nil), []string{"127.0.0.1:1"}
	for _, c := range []struct {
		name  string
		files map[string]string
		o     Options
		m     func(*machine)
		want  string // part of the error; "" for none
	}{
		{"a virtual machine", nil, Options{Mode: Auto, Servers: here, Container: true}, nil, ""},
		{"a server elsewhere", scope, Options{Mode: Auto, Servers: remote}, nil, ""},
		{"a server here", scope, Options{Mode: Auto, Servers: here}, nil, "from the server on this machine"},
		{"the same, asked for", scope, Options{Mode: On, Servers: here}, nil, ""},
		{"a container", inContainer, Options{Mode: Auto, Servers: remote, Container: true}, nil, "within a container"},
		{"a real machine", nil, Options{Mode: Auto}, func(m *machine) { m.virtual = false }, "no virtual machine"},
		{"the same, asked for", nil, Options{Mode: On}, func(m *machine) { m.virtual = false }, ""},
		{"many cores", nil, Options{Mode: Auto}, func(m *machine) { m.cores = make([]int, mostCores+1) },
			"there are 17 cores"},
		{"unknown cores", nil, Options{Mode: On}, func(m *machine) { m.cores = nil }, "unknown"},
		{"a quota", nil, Options{Mode: On, Quota: "2"}, nil, "quota of 2 cores"},
	} {
		m := tree(t, c.files)
		if c.m != nil {
			c.m(m)
		}
		got := m.objection(context.Background(), &c.o)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestVirtualMachinesAreTold(t *testing.T) {
	for text, want := range map[string]bool{virtualProcessor: true, "flags : fpu lm\n": false, "": false,
		"flags : hypervisors\n": false} {
		if got := tree(t, map[string]string{"proc/cpuinfo": text}).runsVirtually(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if !tree(t, map[string]string{"sys/class/dmi/id/sys_vendor": "QEMU\n"}).runsVirtually() {
		t.Error("QEMU isn't told")
	}
}

func TestLatencyIsHeldWherePermitted(t *testing.T) {
	m := tree(t, map[string]string{"dev/cpu_dma_latency": "...."})
	release, ok := m.holdLatency()
	b, err := os.ReadFile(filepath.Join(m.root, "dev/cpu_dma_latency"))
	release()
	if !ok || err != nil || string(b) != "\x00\x00\x00\x00" {
		t.Errorf("%v: %q (%v)", ok, b, err)
	}
	release, ok = tree(t, nil).holdLatency()
	if release(); ok {
		t.Error("held without the device")
	}
}
