// Package machine keeps this machine awake during a load, so that operations are sent on schedule. An idle core
// sleeps, and on a virtual machine the hypervisor then gives it to other machines: the next task waits until
// it is given back, which can take milliseconds.
//
// The package does three things. A child process runs a spinning thread of idle priority (SCHED_IDLE) on every core
// that this process may use, so that no core sleeps and all other threads take precedence. /dev/cpu_dma_latency is
// held at 0, which keeps physical cores out of deep sleep (the kernel's Documentation/power/pm_qos_interface.rst).
// The threads of this process get a higher priority. What isn't permitted is skipped and reported in State.
package machine

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

// LoopThread is the name of event loops' threads (/proc/PID/task/TID/comm).
const LoopThread = "brunt loop"

// The modes.
const (
	Auto = "auto" // keep cores awake where it helps and takes CPU time from nobody
	On   = "on"   // keep cores awake unless a CPU quota would be charged for it
	Off  = "off"
)

// Options describe the load and its machine.
type Options struct {
	Mode      string // "" means Auto
	Quota     string // of the control group, in cores; "" if there is none
	Container bool   // other containers may share the machine's cores
	// Servers are the addresses under load, whose processes may share the machine's cores; without servers embedded
	// in this process.
	Servers   []string
	Scheduled bool // requests are due at set times, and the generator doesn't wait for them by spinning
}

// nice is the nice value that the generator's threads get, from -20 (highest priority) to 19; the default is 0.
const nice = -10

// mostCores is the largest number of cores that Auto keeps awake. On larger machines some cores are always awake,
// and keeping all awake lowers the clock rate and costs electricity.
const mostCores = 16

// State describes what was done to keep the machine awake.
type State struct {
	Mode          string // Auto, On or Off
	Threads       int    // number of spinning threads of idle priority, one per core
	ThreadsReason string // why there are none
	CPUNs         int64  // CPU time of these threads, ns
	DMALatency    bool   // whether /dev/cpu_dma_latency is held at 0
	Nice          int    // nice value of the generator's threads
	NiceReason    string // why it is 0
}

// Keeper keeps the machine awake until Stop is called.
type Keeper struct {
	state    State
	spinners *spinners // nil if there are none
	latency  func()
	priority func()
}

// Start begins to keep the machine awake. It never fails: State describes what was done and why the rest wasn't.
// The caller must call Stop in the end.
func Start(ctx context.Context, o Options) *Keeper {
	k := &Keeper{state: State{Mode: cmp.Or(o.Mode, Auto)}, latency: func() {}, priority: func() {}}
	if o.Mode == Off {
		k.state.ThreadsReason, k.state.NiceReason = "not asked for", "not asked for"
		return k
	}
	m := thisMachine()
	if k.state.ThreadsReason = m.objection(ctx, &o); k.state.ThreadsReason == "" {
		var err error
		if k.spinners, err = m.spin(); err != nil {
			k.state.ThreadsReason = err.Error()
		} else {
			k.state.Threads = len(m.cores)
		}
	}
	k.latency, k.state.DMALatency = m.holdLatency()
	// The spinners are started before this, so that they don't inherit the priority.
	if k.state.NiceReason = m.niceObjection(&o); k.state.NiceReason == "" {
		var err error
		if k.priority, err = m.raise(nice); err != nil {
			k.state.NiceReason = err.Error()
		} else {
			k.state.Nice = nice
		}
	}
	return k
}

// State returns what was done, with the CPU time that the spinning threads have used so far.
func (k *Keeper) State() State {
	s := k.state
	s.CPUNs = k.CPUNs()
	return s
}

// CPUNs returns the CPU time, in ns, that the threads of idle priority have used.
func (k *Keeper) CPUNs() int64 {
	if k.spinners == nil {
		return 0
	}
	return k.spinners.cpuNs()
}

// Stop undoes everything. State and CPUNs may be called afterwards.
func (k *Keeper) Stop() {
	k.priority()
	k.latency()
	if k.spinners != nil {
		k.spinners.stop()
	}
}

// objection returns why threads of idle priority must not be started, or "" if they may.
func (m *machine) objection(ctx context.Context, o *Options) string {
	switch {
	case !m.linux:
		return "only Linux has threads of idle priority"
	case o.Quota != "":
		return fmt.Sprintf("a CPU quota of %s cores would pay for them", o.Quota)
	case len(m.cores) == 0:
		return "the cores that may be used are unknown"
	case o.Mode != On && !m.virtual:
		return "this is no virtual machine, whose cores others get while they sleep"
	case o.Mode != On && len(m.cores) > mostCores:
		return fmt.Sprintf("there are %d cores, and more than %d are left to sleep: name fewer by taskset", len(m.cores),
			mostCores)
	case m.idleForAll() || o.Mode == On:
		return ""
	case o.Container:
		return "idle priority counts only within a container: they would take time from others"
	case local(ctx, o.Servers):
		return "idle priority counts only within a session or control group: they would take time from the server on this machine"
	}
	return ""
}

// niceObjection returns why the priority isn't to be raised, or "" if it is.
func (m *machine) niceObjection(o *Options) string {
	switch {
	case !m.linux:
		return "only done on Linux"
	case !o.Scheduled:
		return "nothing is due at a time, or it is waited for by spinning"
	}
	return ""
}

// lookupTimeout limits the time for resolving the names of servers.
const lookupTimeout = time.Second

// local reports whether one of the addresses belongs to this machine or may belong to it.
func local(ctx context.Context, addresses []string) bool {
	here, unknown := Local(ctx, addresses)
	return here || unknown
}

// Local reports whether one of the addresses (host:port, a URL or the path of a socket) belongs to this machine
// (here), and whether this couldn't be determined for an address before it (unknown). It sends nothing to the
// servers: it asks the kernel for the source address that it would use.
func Local(ctx context.Context, addresses []string) (here, unknown bool) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	for _, a := range addresses {
		if u, err := url.Parse(a); err == nil && u.Host != "" {
			a = u.Host
			if u.Port() == "" {
				a = net.JoinHostPort(u.Hostname(), "80")
			}
		}
		if strings.Contains(a, "/") {
			return true, unknown
		}
		c, err := (&net.Dialer{}).DialContext(ctx, "udp", a)
		if err != nil {
			unknown = true
			continue
		}
		own, other := c.LocalAddr().(*net.UDPAddr), c.RemoteAddr().(*net.UDPAddr)
		c.Close()
		if other.IP.IsLoopback() || own.IP.Equal(other.IP) {
			return true, unknown
		}
	}
	return false, unknown
}
