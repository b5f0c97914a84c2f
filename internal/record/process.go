package record

import (
	"cmp"
	"slices"
)

// Process is what a server's process did during the load, from /proc of the machine that it runs on, without warm-up.
// Processor times are in cores: 1 is one core all the time.
type Process struct {
	Source    string  `json:"source"` // the target's address, or as given by the user: "pid:4711"
	PID       int     `json:"pid"`
	Command   string  `json:"command"`
	Members   int     `json:"members"`     // processes at the end, with all descendants
	Samples   int     `json:"samples"`     // of the threads' states
	PeriodNs  int64   `json:"period_ns"`   // mean time between these
	LengthNs  int64   `json:"duration_ns"` // of what was observed
	CostShare float64 `json:"cost_share"`  // fraction of one core that observing took

	OnCPU  float64 `json:"on_cpu"`  // cores used
	Queued float64 `json:"queued"`  // threads that could run but had no core, on average
	InDisk float64 `json:"in_disk"` // threads in uninterruptible sleep, on average
	// DiskSeen is the fraction of the samples in which at least one thread was in uninterruptible sleep.
	DiskSeen float64 `json:"disk_seen"`
	// DiskBusy is the fraction of the time in which the machine's busiest disk had a request under way; −1 if it isn't
	// known: most of what the process read and wrote wasn't seen at a disk of the machine.
	DiskBusy float64       `json:"disk_busy"`
	Threads  []ThreadUse   `json:"threads,omitempty"` // the busiest first, at most 20
	Sleeps   []ThreadSleep `json:"sleeps,omitempty"`  // what threads in uninterruptible sleep waited for

	ReadBPerS    float64 `json:"read_b_per_s"`            // from disks
	WrittenBPerS float64 `json:"written_b_per_s"`         // to disks
	IOUnreadable bool    `json:"io_unreadable,omitempty"` // another user's process

	Connections float64 `json:"connections"`  // of clients, on average
	UnreadB     float64 `json:"unread_b"`     // sent bytes that clients haven't taken yet, on average, all connections
	UnreadMaxB  float64 `json:"unread_max_b"` // the most at one time
	UnreadShare float64 `json:"unread_share"` // fraction of the samples in which a client had more than 100 kB to take
	// UnreadLoadShare is the fraction of the samples in which one had that isn't known not to be the load's.
	UnreadLoadShare float64 `json:"unread_load_share,omitzero"`
	// Unread are those who had more than 100 kB to take, the most often first, at most 5.
	Unread []UnreadPeer `json:"unread,omitempty"`

	Cores      float64 `json:"cores"`       // that the process may use
	OthersCPU  float64 `json:"others_cpu"`  // cores used by all other processes of the machine, except at lowered priority
	StolenCPU  float64 `json:"stolen_cpu"`  // cores taken by the hypervisor
	ThrottleNs int64   `json:"throttle_ns"` // time that a CPU quota stopped it

	// Findings say what limits it, at most one, and then which client that isn't the load's doesn't read; none if nothing
	// does.
	Findings []Finding `json:"findings,omitempty"`
}

// The kinds of an UnreadPeer.
const (
	PeerGenerator = "generator" // brunt, or a worker on this machine
	PeerProcess   = "process"   // another process of this machine
	PeerMember    = "member"    // another process of the same program, which listens too, such as a replica
	PeerReplica   = "replica"   // a replica at another address, by the server's own word
	PeerAddress   = "address"   // a client at an address from which no session of the load comes
	PeerUnknown   = "unknown"
)

// UnreadPeer is who has the other ends of connections on which more than 100 kB waited to be taken.
type UnreadPeer struct {
	Kind    string  `json:"kind"`
	Command string  `json:"command,omitempty"` // of a process
	PID     int     `json:"pid,omitzero"`
	Address string  `json:"address,omitempty"`
	UnreadB float64 `json:"unread_b"`     // on these connections, on average over all samples
	MaxB    float64 `json:"unread_max_b"` // on all of them at one time
	Share   float64 `json:"share"`        // fraction of the samples
}

// ReplicaAddresses returns the addresses from which replicas of inspected servers are connected, without ports, as far
// as they are known.
func (r *Run) ReplicaAddresses() (all []string) {
	for i := range r.Inspections {
		all = append(all, r.Inspections[i].Activity.ReplicaHosts...)
		for _, l := range r.Inspections[i].Activity.Replicas {
			if l.Address != "" {
				all = append(all, l.Address)
			}
		}
	}
	return all
}

// ThreadUse is the use of processors by one thread, or by all threads with one name.
type ThreadUse struct {
	Name   string  `json:"name"`
	Number int     `json:"number"` // threads with this name
	OnCPU  float64 `json:"on_cpu"` // of the busiest of them, in cores
	Queued float64 `json:"queued"` // of the same thread
	InDisk float64 `json:"in_disk"`
}

// ThreadSleep is what threads in uninterruptible sleep waited for.
type ThreadSleep struct {
	Thread string  `json:"thread"`
	For    string  `json:"for"`   // the kernel's function; "" if it isn't known
	Share  float64 `json:"share"` // of the samples
}

// Causes returns the findings about the servers of the run, over all inspections and processes, the most severe first.
// Among equally severe findings, those of an inspection come before those of a process, since they are more specific,
// and those that concern a greater share of the time come first. The first is what the run names as the cause; if there
// is none, the cause is unknown.
func (r *Run) Causes() []Finding {
	var out []Finding
	for i := range r.Inspections {
		out = append(out, r.Inspections[i].Findings...)
	}
	inspected := len(out)
	rank := []string{Critical, Serious, Minor}
	bySeverity := func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(rank, a.Severity), slices.Index(rank, b.Severity)))
	}
	slices.SortStableFunc(out[:inspected], func(a, b Finding) int {
		return cmp.Or(bySeverity(a, b), cmp.Compare(b.Share, a.Share))
	})
	for i := range r.Processes {
		out = append(out, r.Processes[i].Findings...)
	}
	slices.SortStableFunc(out, bySeverity)
	return out
}
