package plan

import (
	"slices"
	"time"

	"brunt/internal/protocol"
)

// FaultKind is a kind of fault, as its key in the plan.
type FaultKind string

// The kinds.
const (
	FaultProcess FaultKind = "process" // signals to a process
	FaultCommand FaultKind = "command" // commands for the shell
	FaultHTTP    FaultKind = "http"    // HTTP requests
	FaultRequest FaultKind = "request" // requests over the plan's protocol, an administrator's SQL for example
	FaultNetwork FaultKind = "network" // in brunt's proxies in front of servers
	FaultFlood   FaultKind = "flood"   // connections that are opened and held
)

// FaultKinds are all kinds.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultProcess, FaultCommand, FaultHTTP, FaultRequest, FaultNetwork, FaultFlood}
}

// Fault is something that is done to servers while the load goes on, once or several times, and undone.
// What its Kind doesn't have is zero.
type Fault struct {
	Name    string
	Kind    FaultKind
	Start   time.Duration // from the beginning of the load, or of Phase
	For     time.Duration // until it is healed; 0 means until the load ends, or that there is nothing to heal
	Every   time.Duration // from one to the next; 0 means once
	Times   int           // with Every: how many; 0 means until the load ends
	Jitter  time.Duration // each comes later by a time drawn uniformly from 0 to it
	Spacing string        // with Every: "even" or "poisson", gaps drawn exponentially; "" means even
	Phase   string        // of the load, that Start counts from; "" means the load itself
	Pick    string        // of several nodes: "all", "turn" or "random"; "" means all
	Affects []string      // addresses of the target that it concerns, for the record; nil means those of its kind
	Process ProcessFault
	Command CommandFault
	HTTP    HTTPFault
	Request RequestFault
	Network NetworkFault
	Flood   FloodFault
	At      Position
	Where   Places // of its keys
}

// ProcessFault says which processes get a signal: those of exactly one of PID, PIDFile, Match and CGroup.
type ProcessFault struct {
	Do      string // "stop", "kill" or "signal"
	Signal  string // "signal", "kill": its name, such as SIGHUP; "" means SIGKILL
	PID     int
	PIDFile string // whose first line is the process
	Match   string // a regular expression on command lines, whose words are joined by spaces
	CGroup  string // a folder below /sys/fs/cgroup, or a path that starts there
	// Children says that the processes that these have started are meant too, and those of those.
	Children bool
	Restart  string // "kill": a command for the shell that starts it again
	Where    Places
}

// CommandFault is commands for the shell.
type CommandFault struct {
	Inject, Heal string
	Timeout      time.Duration // of each; 0 means 30 s
}

// HTTPFault is HTTP requests, each of which must be answered by a status from 200 to 299.
type HTTPFault struct {
	Inject, Heal protocol.Web  // with an Origin
	Timeout      time.Duration // of each; 0 means 30 s
}

// RequestFault is requests over the plan's protocol, each address by a connection of its own.
type RequestFault struct {
	Inject, Heal     []protocol.Request
	Addresses        []string // of the target; nil means all
	User, Database   string   // "" means the target's
	PasswordVariable string   // environment variable of User's password; "" means the target's password
	Timeout          time.Duration
}

// What a NetworkFault does.
const (
	NetLatency   = "latency"   // what is sent arrives later by Delay, and a draw from 0 to Jitter
	NetBandwidth = "bandwidth" // at most BytesPerS a connection and direction
	NetReset     = "reset"     // connections end by RST at once, and new ones while it lasts
	NetBlackhole = "blackhole" // nothing arrives, and all of it when it is healed
	NetHandshake = "handshake" // a new connection waits for Delay before anything is sent through it
	NetHalfOpen  = "half-open" // connections to servers end, and clients don't hear of it
	NetPartition = "partition" // a black hole between groups of nodes
	NetRefuse    = "refuse"    // new connections end by RST; those that are there stay
)

// NetworkFault is done in the proxies in front of Addresses.
type NetworkFault struct {
	Do            string
	Addresses     []string // of the target, or names of Proxies; nil means all of the target
	Clients       []string // IP addresses or prefixes of clients that it is for; nil means all
	Direction     string   // "both", "to-server" or "to-client"; "" means both
	Delay, Jitter time.Duration
	BytesPerS     float64
	Between       [][]string // partition: groups of nodes; see Proxy
	Where         Places
}

// FloodFault opens connections to each of Addresses and holds them.
type FloodFault struct {
	Addresses   []string // of the target, or others; nil means all of the target
	Connections int      // to each
	PerS        float64  // how many a second; 0 means as fast as they are taken
}

// Proxy is a proxy with an address of its own, for traffic that isn't the load's: between servers.
type Proxy struct {
	Name   string
	Listen string // host:port
	To     string // host:port
	From   string // name of the node whose connections come here; "" means that they are anyone's
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

// LoadNode is the name of the load in the groups of a partition.
const LoadNode = "brunt"

// named are the addresses and proxies that a network fault names; nil means all of the target.
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

// ProxiedAddresses are the addresses of the target that network faults are done to, each once, in the target's
// order. The load goes through proxies to them.
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
