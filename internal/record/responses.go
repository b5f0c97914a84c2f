package record

import (
	"cmp"
	"slices"
)

// OperationTime is how long a server took for one execution of an operation, on average and without warm-up, and what
// it took that time for. An inspector returns those that its server lets it know.
type OperationTime struct {
	Operation string `json:"operation"`
	// TotalNs is the time in the server, as the server measured it, of all requests of one execution.
	TotalNs float64 `json:"total_ns"`
	// Parts are the parts of TotalNs that are known, each kind at most once, with kinds from TimeExecuting to TimeOther.
	// A kind that is not among them is unknown; one that is known to be absent has 0 ns.
	Parts []TimePart `json:"parts,omitempty"`
}

// TimePart is a part of a mean response time.
type TimePart struct {
	Kind string  `json:"kind"`
	Ns   float64 `json:"ns"`
}

// The kinds of parts of a response time, in the order in which they are shown.
const (
	TimeOwnLag    = "own-lag"   // the generator sent the request late by its own fault
	TimeSession   = "session"   // the request waited for a free session
	TimeNetwork   = "network"   // network and kernel: a round trip of an empty request, as measured at rest
	TimeExecuting = "executing" // the server computed, on a CPU
	TimeCPUWait   = "cpu-wait"  // the server could have computed, but had no CPU
	TimeDisk      = "disk"      // the server waited for its disk
	TimeLocks     = "locks"     // the server waited for another transaction or for itself
	TimeOther     = "other"     // the server waited for something else that is known
	TimeServer    = "server"    // the rest of the server's time: it isn't known for what
	TimeUnknown   = "unknown"   // the rest of the response time
)

// TimeKinds returns the kinds of parts in the order in which they are shown.
func TimeKinds() []string {
	return []string{TimeOwnLag, TimeSession, TimeNetwork, TimeExecuting, TimeCPUWait, TimeDisk, TimeLocks, TimeOther,
		TimeServer, TimeUnknown}
}

// KnownSums returns ResponseSums if anything is known of what servers did in the responses, and nothing otherwise.
func (r *Run) KnownSums() []ResponseSum {
	if len(r.Processes) == 0 && !slices.ContainsFunc(r.Inspections, func(in Inspection) bool {
		return len(in.ServerTimes) > 0
	}) {
		return nil
	}
	return r.ResponseSums()
}

// TimeName returns the name of a kind of time, as a label in English.
func TimeName(kind string) string {
	return map[string]string{
		TimeOwnLag: "generator's lag", TimeSession: "waiting for a session", TimeNetwork: "network and kernel",
		TimeExecuting: "executing", TimeCPUWait: "waiting for a CPU", TimeDisk: "waiting for the disk",
		TimeLocks: "waiting for locks", TimeOther: "other waits", TimeServer: "in the server, not known for what",
		TimeUnknown: "unknown",
	}[kind]
}

// ResponseSum is the mean response time of an operation and its parts, which add up to it.
type ResponseSum struct {
	Operation string
	MeanNs    float64
	Parts     []TimePart // in the order of TimeKinds, without those of 0 ns
}

// Of returns the time of a kind.
func (s *ResponseSum) Of(kind string) float64 {
	for _, p := range s.Parts {
		if p.Kind == kind {
			return p.Ns
		}
	}
	return 0
}

// ResponseSums returns the sum of the response of each operation that has been done. The generator's own lag and the
// waiting for a session come from the operation's figures; what the server and the network took comes from the
// inspections. What none of these knows is TimeUnknown.
func (r *Run) ResponseSums() []ResponseSum {
	var out []ResponseSum
	for i := range r.Operations {
		if o := &r.Operations[i]; o.Response.MeanNs > 0 {
			out = append(out, r.responseSum(o))
		}
	}
	return out
}

func (r *Run) responseSum(o *Operation) ResponseSum {
	all := &adder{rest: o.Response.MeanNs}
	own := 0.0
	if m := o.WithoutGenerator.MeanNs; m > 0 {
		own = o.Response.MeanNs - m
	}
	all.add(TimeOwnLag, own)
	all.add(TimeSession, o.Response.MeanNs-o.Service.MeanNs-own)
	server, roundTripNs := r.serverTime(o.Name)
	if server != nil {
		total := min(server.TotalNs, all.rest)
		within := &adder{rest: total}
		parts := r.splitCPU(server.Parts)
		for _, kind := range TimeKinds() {
			for _, p := range parts {
				if p.Kind == kind {
					within.add(kind, p.Ns)
				}
			}
		}
		within.add(TimeServer, within.rest)
		all.parts, all.rest = append(all.parts, within.parts...), all.rest-total
	}
	if server == nil && len(r.Processes) == 1 && r.alone(o) {
		p, each := &r.Processes[0], float64(r.Processes[0].LengthNs)/float64(o.Done)
		all.add(TimeExecuting, p.OnCPU*each)
		all.add(TimeCPUWait, p.Queued*each)
		all.add(TimeDisk, p.InDisk*each)
	}
	all.add(TimeNetwork, roundTripNs)
	all.add(TimeUnknown, all.rest)
	slices.SortStableFunc(all.parts, func(a, b TimePart) int {
		return cmp.Compare(slices.Index(TimeKinds(), a.Kind), slices.Index(TimeKinds(), b.Kind))
	})
	return ResponseSum{Operation: o.Name, MeanNs: o.Response.MeanNs, Parts: all.parts}
}

// alone reports whether an operation is the only one that was done, so that what the server's process did was for it.
func (r *Run) alone(o *Operation) bool {
	for i := range r.Operations {
		if other := &r.Operations[i]; other.Name != o.Name && other.Done > 0 {
			return false
		}
	}
	return o.Done > 0
}

// splitCPU divides the time in which servers could execute into the time on a CPU and the wait for one, in the
// proportion that their processes on this machine had. If there are none, or the parts have this already, it returns
// them unchanged.
func (r *Run) splitCPU(parts []TimePart) []TimePart {
	var cpu, queue float64
	for i := range r.Processes {
		cpu, queue = cpu+r.Processes[i].OnCPU, queue+r.Processes[i].Queued
	}
	at := slices.IndexFunc(parts, func(p TimePart) bool { return p.Kind == TimeExecuting })
	known := slices.ContainsFunc(parts, func(p TimePart) bool { return p.Kind == TimeCPUWait })
	if at < 0 || known || cpu+queue == 0 {
		return parts
	}
	out := slices.Clone(parts)
	waited := parts[at].Ns * queue / (cpu + queue)
	out[at].Ns -= waited
	return append(out, TimePart{TimeCPUWait, waited})
}

// serverTime returns the time of an operation in the servers, over all inspections that know it, and the shortest round
// trip that one of these measured.
func (r *Run) serverTime(operation string) (sum *OperationTime, roundTripNs float64) {
	for i := range r.Inspections {
		in := &r.Inspections[i]
		for _, t := range in.ServerTimes {
			if t.Operation != operation {
				continue
			}
			if sum == nil {
				sum = &OperationTime{Operation: operation}
			}
			sum.TotalNs += t.TotalNs
			sum.Parts = addParts(sum.Parts, t.Parts)
			if in.RoundTripNs > 0 && (roundTripNs == 0 || in.RoundTripNs < roundTripNs) {
				roundTripNs = in.RoundTripNs
			}
		}
	}
	return sum, roundTripNs
}

func addParts(sum, more []TimePart) []TimePart {
	for _, p := range more {
		k := slices.IndexFunc(sum, func(q TimePart) bool { return q.Kind == p.Kind })
		if k < 0 {
			sum = append(sum, p)
		} else {
			sum[k].Ns += p.Ns
		}
	}
	return sum
}

// adder adds parts as long as there is something left of the whole.
type adder struct {
	parts []TimePart
	rest  float64
}

func (a *adder) add(kind string, ns float64) {
	if ns = min(ns, a.rest); ns > 0 {
		a.parts = append(a.parts, TimePart{kind, ns})
		a.rest -= ns
	}
}
