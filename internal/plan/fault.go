package plan

import (
	"slices"
	"time"

	"brunt/internal/protocol"
)

// FaultKind is a kind of fault. Its value is the key in the plan file.
type FaultKind string

// The kinds of faults.
const (
	FaultProcess FaultKind = "process" // signals to a process
	FaultCommand FaultKind = "command" // commands for the shell
	FaultHTTP    FaultKind = "http"    // HTTP requests
	FaultRequest FaultKind = "request" // requests over the plan's protocol, for example an administrator's SQL
	FaultNetwork FaultKind = "network" // in brunt's proxies in front of servers
	FaultFlood   FaultKind = "flood"   // connections that are opened and held
)

// FaultKinds returns all kinds.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultProcess, FaultCommand, FaultHTTP, FaultRequest, FaultNetwork, FaultFlood}
}

// The values of Fault.Must.
const (
	MustHappen = "happen" // the result is invalid if it was not carried out
	MustTry    = "try"    // there is a warning if it was not carried out
)

// Fault is a disturbance of servers during the load, done once or several times and then undone ("healed"). Fields that
// don't apply to its Kind are zero.
type Fault struct {
	Name    string
	Kind    FaultKind
	Start   time.Duration // since the beginning of the load, or of Phase
	For     time.Duration // time until it is healed; 0: until the load ends, or nothing to heal
	Every   time.Duration // time from one occurrence to the next; 0: once
	Times   int           // with Every: number of occurrences; 0: until the load ends
	Jitter  time.Duration // each occurrence is delayed by a time drawn uniformly from 0 to Jitter
	Spacing string        // with Every: "even", or "poisson" for exponentially distributed gaps; "" means even
	Phase   string        // phase of the load that Start counts from; "" means the load itself
	Pick    string        // which of several nodes: "all", "turn" or "random"; "" means all
	Must    string        // "happen" or "try"; "" means happen if the plan has thresholds, and try otherwise
	Affects []string      // affected addresses of the target, for the record; nil: those that its kind implies
	Process ProcessFault
	Command CommandFault
	HTTP    HTTPFault
	Request RequestFault
	Network NetworkFault
	Flood   FloodFault
	At      Position
	Where   Places // positions of its keys
}

// ProcessFault says which processes get a signal. Exactly one of PID, PIDFile, Match and CGroup must be set.
type ProcessFault struct {
	Do      string // "stop", "kill" or "signal"
	Signal  string // for "signal" and "kill": the signal's name, such as SIGHUP; "" means SIGKILL
	PID     int
	PIDFile string // file whose first line is the process ID
	Match   string // regular expression for command lines, with arguments joined by spaces
	CGroup  string // folder below /sys/fs/cgroup, relative or absolute
	// Children says that all descendants of these processes get the signal, too.
	Children bool
	Restart  string // for "kill": a shell command that starts the process again
	Where    Places
}

// CommandFault consists of shell commands.
type CommandFault struct {
	Inject, Heal string
	Timeout      time.Duration // of each; 0 means 30 s
}

// HTTPFault consists of HTTP requests. Each must be answered with a status from 200 to 299.
type HTTPFault struct {
	Inject, Heal protocol.Web  // with an Origin
	Timeout      time.Duration // of each; 0 means 30 s
}

// RequestFault consists of requests over the plan's protocol, with a separate connection to each address.
type RequestFault struct {
	Inject, Heal     []protocol.Request
	Addresses        []string // of the target; nil means all
	User, Database   string   // "" means the target's
	PasswordVariable string   // environment variable with User's password; "" means the target's password
	Timeout          time.Duration
}

// The values of NetworkFault.Do.
const (
	NetLatency   = "latency"   // data arrives later by Delay and a random time from 0 to Jitter
	NetBandwidth = "bandwidth" // at most BytesPerS for each connection and direction
	NetReset     = "reset"     // connections are reset at once, and new ones while the fault lasts
	NetBlackhole = "blackhole" // no data arrives until the fault is healed; then all of it does
	NetHandshake = "handshake" // a new connection waits for Delay before it carries data
	NetHalfOpen  = "half-open" // connections to servers are closed without notice to clients
	NetPartition = "partition" // a black hole between groups of nodes
	NetRefuse    = "refuse"    // new connections are reset; existing ones stay open
)

// NetworkFault is carried out by the proxies in front of Addresses.
type NetworkFault struct {
	Do            string
	Addresses     []string // of the target, or names of Proxies; nil means all of the target
	Clients       []string // IP addresses or prefixes of the clients that it affects; nil means all
	Direction     string   // "both", "to-server" or "to-client"; "" means both
	Delay, Jitter time.Duration
	BytesPerS     float64
	Between       [][]string // for partition: groups of nodes; see Proxy
	Where         Places
}

// FloodFault opens connections to each of Addresses and keeps them open.
type FloodFault struct {
	Addresses   []string // of the target, or others; nil means all of the target
	Connections int      // to each
	PerS        float64  // connections opened a second; 0 means as fast as they are accepted
}

// Proxy is a proxy with its own address, for traffic other than the load's: between servers.
type Proxy struct {
	Name   string
	Listen string // host:port
	To     string // host:port
	From   string // name of the node whose connections it accepts; "" means any
	Node   string // name of the node behind it; "" means Name
	At     Position
	Where  Places
}

// Limits of faults.
const (
	MaxFaultTimes       = 10_000
	MaxFloodConnections = 50_000
	MaxProxies          = 1000
)

// LoadNode is the name of the load generator in the groups of a partition.
const LoadNode = "brunt"

// named returns the addresses and proxies that a network fault applies to; nil means all of the target.
func (f *NetworkFault) named() []string {
	if f.Do != NetPartition {
		return f.Addresses
	}
	nodes := slices.Concat(f.Between...)
	if !slices.Contains(nodes, LoadNode) {
		return []string{""}
	}
	return nodes
}

// ProxiedAddresses returns the addresses of the target that network faults apply to, each once, in the target's order.
// The load reaches these addresses through proxies.
func (p *Plan) ProxiedAddresses() (out []string) {
	addresses, _ := p.Target.Weighted()
	wanted := map[string]bool{}
	for i := range p.Faults {
		if p.Faults[i].Kind != FaultNetwork {
			continue
		}
		named := p.Faults[i].Network.named()
		if len(named) == 0 {
			named = addresses
		}
		for _, a := range named {
			wanted[a] = true
		}
	}
	for _, a := range addresses {
		if wanted[a] {
			out = append(out, a)
		}
	}
	return out
}
