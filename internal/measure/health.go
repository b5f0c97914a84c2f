package measure

// Health describes the state of the generator itself over a span of time.
type Health struct {
	// share of wall time for which the busiest loop was not asleep, 0–1; the mean over several intervals
	LoopBusy          float64 `json:"loop_busy"`
	ProcessCPU        float64 `json:"process_cpu"`                   // cores used by this process, the mean
	CgroupThrottledNs int64   `json:"cgroup_throttled_ns,omitempty"` // how long the cgroup was throttled
	// how long the process's threads waited for a core, summed over them
	RunQueueNs   int64  `json:"run_queue_ns,omitempty"`
	GCPauseNsMax int64  `json:"gc_pause_ns_max,omitempty"` // the longest stop-the-world pause
	GCCycles     uint32 `json:"gc_cycles,omitempty"`
	SendStalls   uint64 `json:"send_stalls,omitempty"` // writes that found the socket's buffer full
	RSSBytes     uint64 `json:"rss_bytes,omitempty"`   // the most
	// how long the whole process stood still (suspended, SIGSTOP)
	PausedNs int64 `json:"paused_ns,omitempty"`
	// how long the process was stopped in total, in stops too short for PausedNs
	HeldNs int64 `json:"held_ns,omitempty"`
	// how long the watchdog, a thread that wakes 100 times a second, waited for a core
	WakeWaitNs int64 `json:"wake_wait_ns,omitempty"`
	// CPU time of garbage collections that ended
	GCCPUNs        int64 `json:"gc_cpu_ns,omitempty"`
	LoopRunQueueNs int64 `json:"loop_run_queue_ns,omitempty"` // of RunQueueNs, the event loops' threads
	// how long the hypervisor took the cores that the process may use, summed over them
	StealNs int64 `json:"steal_ns,omitempty"`
	// how long other processes used the cores that the process may use, summed over them
	OthersNs int64 `json:"others_ns,omitempty"`
	// VoluntarySwitches and InvoluntarySwitches count how often the process's threads gave up a core to wait, and how
	// often the kernel took one from them.
	VoluntarySwitches   uint64 `json:"voluntary_switches,omitempty"`
	InvoluntarySwitches uint64 `json:"involuntary_switches,omitempty"`

	// The following fields are derived from intervals: see Interval.Settle.
	ObservedNs    int64   `json:"-"` // the time that the other figures cover
	LoopBusyMax   float64 `json:"-"` // of the intervals
	LoopFullNs    int64   `json:"-"` // time with the busiest loop above 95 %
	ProcessCPUMax float64 `json:"-"` // of the intervals
}

// loopFull is the share of wall time above which an event loop counts as fully busy.
const loopFull = 0.95

// settle computes the derived fields of one interval of ns.
func (h *Health) settle(ns int64) {
	h.ObservedNs, h.LoopBusyMax, h.ProcessCPUMax, h.LoopFullNs = ns, h.LoopBusy, h.ProcessCPU, 0
	if h.LoopBusy > loopFull {
		h.LoopFullNs = ns
	}
}

// Add adds o, which covers another span of time.
func (h *Health) Add(o *Health) {
	if all := float64(h.ObservedNs + o.ObservedNs); all > 0 {
		mean := func(a, b float64) float64 {
			return (a*float64(h.ObservedNs) + b*float64(o.ObservedNs)) / all
		}
		h.LoopBusy, h.ProcessCPU = mean(h.LoopBusy, o.LoopBusy), mean(h.ProcessCPU, o.ProcessCPU)
	}
	h.ObservedNs += o.ObservedNs
	h.LoopFullNs += o.LoopFullNs
	h.CgroupThrottledNs += o.CgroupThrottledNs
	h.RunQueueNs += o.RunQueueNs
	h.LoopRunQueueNs += o.LoopRunQueueNs
	h.StealNs += o.StealNs
	h.OthersNs += o.OthersNs
	h.VoluntarySwitches += o.VoluntarySwitches
	h.InvoluntarySwitches += o.InvoluntarySwitches
	h.GCCycles += o.GCCycles
	h.SendStalls += o.SendStalls
	h.PausedNs += o.PausedNs
	h.HeldNs += o.HeldNs
	h.WakeWaitNs += o.WakeWaitNs
	h.GCCPUNs += o.GCCPUNs
	h.GCPauseNsMax = max(h.GCPauseNsMax, o.GCPauseNsMax)
	h.RSSBytes = max(h.RSSBytes, o.RSSBytes)
	h.LoopBusyMax = max(h.LoopBusyMax, o.LoopBusyMax)
	h.ProcessCPUMax = max(h.ProcessCPUMax, o.ProcessCPUMax)
}

// HealthProbe measures this process and its machine.
type HealthProbe interface {
	// Sample returns the state since the last call, or since the probe was created. LoopBusy and SendStalls, which only
	// recorders know, are 0.
	Sample() Health
}
