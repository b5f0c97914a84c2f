// Package machine keeps this machine ready to hold a load's schedule while the load goes on. An idle core
// sleeps, and on a virtual machine the hypervisor gives it to others in the meantime: what comes next waits until
// it is given back, which can take milliseconds.
//
// A child process has a thread of idle priority (SCHED_IDLE) spin on every core that this one may use, so
// that none sleeps and everybody else comes first; /dev/cpu_dma_latency is held at 0, which keeps bare
// cores out of deep sleep (the kernel's Documentation/power/pm_qos_interface.rst); and the threads of this
// process get a higher priority. What isn't permitted is left out and said.
package machine

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

// LoopThread is the name that event loops give their threads (/proc/PID/task/TID/comm).
const LoopThread = "brunt loop"

// The modes.
const (
	Auto = "auto" // where it helps and costs nobody else anything
	On   = "on"   // wherever no CPU quota would pay for it
	Off  = "off"
)

// Options say what is known of the load and its machine.
type Options struct {
	Mode      string // "" means Auto
	Quota     string // of the control group, in cores; "" without one
	Container bool   // other containers may share the machine's cores
	// addresses under load, whose processes may share the machine's cores; none embedded in this process
	Servers   []string
	Scheduled bool // requests have times at which they are due, and nothing spins until then
}

// nice is the priority that threads get; -20 is the highest, 0 the usual.
const nice = -10

// mostCores is how many cores Auto keeps awake at most: on larger machines there are always some awake,
// and keeping all of them so costs clock rate and electricity.
const mostCores = 16

// State is what was done to the machine.
type State struct {
	Mode          string // Auto, On or Off
	Threads       int    // of idle priority, each of which kept a core from sleeping
	ThreadsReason string // why there were none
	CPUNs         int64  // processor time of these threads, ns
	DMALatency    bool   // /dev/cpu_dma_latency was held at 0
	Nice          int    // of the generator's threads
	NiceReason    string // why it was left at 0
}

// Keeper keeps the machine awake until Stop.
type Keeper struct {
	state    State
	spinners *spinners // nil without any
	latency  func()
	priority func()
}

// Start begins. It never fails: State says what was done, and why the rest wasn't. Stop must be called in
// the end.
func Start(ctx context.Context, o Options) *Keeper {
	k := &Keeper{state: State{Mode: o.Mode}, latency: func() {}, priority: func() {}}
	if o.Mode == "" {
		k.state.Mode = Auto
	}
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
	// The spinners were started before, so that they don't inherit it.
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

// State is what was done, with the processor time that it took so far.
func (k *Keeper) State() State {
	s := k.state
	s.CPUNs = k.CPUNs()
	return s
}

// CPUNs is the processor time that the threads of idle priority have used, in ns.
func (k *Keeper) CPUNs() int64 {
	if k.spinners == nil {
		return 0
	}
	return k.spinners.cpuNs()
}

// Stop ends it all; State and CPUNs may still be called.
func (k *Keeper) Stop() {
	k.priority()
	k.latency()
	if k.spinners != nil {
		k.spinners.stop()
	}
}

// objection is why no threads of idle priority are to be started, "" if they are.
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

// niceObjection is why the priority is to stay, "" if it is to be raised.
func (m *machine) niceObjection(o *Options) string {
	switch {
	case !m.linux:
		return "only done on Linux"
	case !o.Scheduled:
		return "nothing is due at a time, or it is waited for by spinning"
	}
	return ""
}

// lookupTimeout is how long names of servers are looked up.
const lookupTimeout = time.Second

// local reports whether one of some addresses is this machine's own, or can't be told.
func local(ctx context.Context, addresses []string) bool {
	here, unknown := Local(ctx, addresses)
	return here || unknown
}

// Local reports whether one of some addresses (host:port, a URL, or a socket's path) is this machine's own, and whether
// that is unknown of one. Nothing is sent: the kernel is asked from which address it would.
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
