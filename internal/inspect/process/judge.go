package process

import (
	"slices"
	"strconv"
	"strings"

	"brunt/internal/record"
	"brunt/internal/render/message"
)

// The IDs of findings. They must not change.
const (
	FindUnread = "process-unread" // clients, or the network, don't take the answers
	FindDisk   = "process-disk"   // threads wait for the disk
	FindQuota  = "process-quota"  // a CPU quota stops it
	FindThread = "process-thread" // one thread's CPU
	FindTaken  = "process-taken"  // other processes have the cores
	FindCores  = "process-cores"  // too few cores
	FindWaits  = "process-waits"  // requests wait inside, for a lock or for something else than this process
)

// The rules. docs/causes.md has the figures of healthy servers and of planted causes.
const (
	leastSamples  = 50
	unreadShare   = 0.5  // of the looks at the sockets
	leastLooks    = 5    // at the sockets
	diskShare     = 0.04 // of the samples
	leastInDisk   = 5    // samples
	mostlyDisk    = 0.2  // of the samples, if less than one request was in it on average: durable writes always flush
	quotaShare    = 0.1  // of the time
	threadShare   = 0.7  // CPU and queue of the busiest thread
	threadCPU     = 0.2  // of that: on a CPU at least
	threadOfAll   = 0.5  // of the CPU and queue of all threads
	queuedCores   = 1.0  // threads
	queuedTimes   = 2.0  // as much as on CPU
	allCores      = 0.8  // of the cores in use, and threads that wait for one
	wholeMachine  = 0.9  // of the cores in use, even if no thread waits: a runtime may have as many threads as cores
	queuedAlike   = 1.0  // as much as on CPU, where the whole machine is in use and requests wait
	leastQueued   = 0.75 // threads, where others have the whole machine
	idleDisk      = 0.33 // busy for at most this part of the time in which a thread waited for it
	leastInFlight = 2.0  // requests
	insideShare   = 0.3  // of the requests in flight
)

// judge says what limits a process, by the first test that applies, and then which client that isn't the load's doesn't
// read. inFlight is the mean number of requests that brunt had sent and that weren't answered yet.
func judge(p *record.Process, inFlight float64) []record.Finding {
	if p.Samples < leastSamples {
		return nil
	}
	var out []record.Finding
	for _, test := range []func(*record.Process, float64) *record.Finding{unread, disk, quota, taken, oneThread,
		tooFewCores, waits} {
		if f := test(p, inFlight); f != nil {
			out = append(out, *f)
			break
		}
	}
	if f := unreadByOthers(p); f != nil {
		if len(out) > 0 { // that one limits the load
			f.Severity = record.Minor
		}
		out = append(out, *f)
	}
	return out
}

// Settle makes hints of findings that blame the disk because writing took long, if other processes have the cores of
// the server's process: writing takes long then, too. It must be called when a run has its inspections and processes.
func Settle(run *record.Run) {
	for k := range run.Processes {
		p := &run.Processes[k]
		if !slices.ContainsFunc(p.Findings, func(f record.Finding) bool { return f.ID == FindTaken }) {
			continue
		}
		for i := range run.Inspections {
			in := &run.Inspections[i]
			for j := range in.Findings {
				f := &in.Findings[j]
				of := f.Subject == p.Source || strings.Contains(in.Source+"/", " "+p.Source+"/")
				if of && f.Blames == record.TimeDisk {
					f.Severity = record.Minor
				}
			}
		}
	}
}

func finding(p *record.Process, id string, share float64, evidence, advice message.Message) *record.Finding {
	return &record.Finding{ID: id, Severity: record.Serious, Subject: p.Command, Evidence: evidence, Advice: advice,
		Share: min(share, 1)}
}

// unread: what the server has sent stays in its sockets.
func unread(p *record.Process, _ float64) *record.Finding {
	if p.UnreadLoadShare < unreadShare || p.UnreadMaxB < unreadB {
		return nil
	}
	return finding(p, FindUnread, p.UnreadShare, message.New("find.process-unread", message.Bytes("unread", p.UnreadB),
		message.Bytes("most", p.UnreadMaxB), message.Share("share", p.UnreadShare)),
		message.New("find.process-unread.advice"))
}

// unreadByOthers: the same, but it is known that the load isn't the one that doesn't read.
func unreadByOthers(p *record.Process) *record.Finding {
	at := slices.IndexFunc(p.Unread, func(u record.UnreadPeer) bool {
		return u.Share >= unreadShare && u.Kind != record.PeerGenerator && u.Kind != record.PeerUnknown
	})
	if at < 0 || p.UnreadLoadShare >= unreadShare {
		return nil
	}
	u := &p.Unread[at]
	severity := record.Serious
	pid := strconv.Itoa(u.PID)
	var who message.Message
	switch u.Kind {
	case record.PeerMember: // it reads later what it replicates
		severity = record.Minor
		who = message.New("find.process-unread.member", message.Text("command", u.Command), message.Text("pid", pid))
	case record.PeerReplica:
		severity = record.Minor
		who = message.New("find.process-unread.replica", message.Text("address", u.Address))
	case record.PeerProcess:
		who = message.New("find.process-unread.process", message.Text("command", u.Command), message.Text("pid", pid))
	default:
		who = message.New("find.process-unread.address", message.Text("address", u.Address))
	}
	f := finding(p, FindUnread, u.Share, message.New("find.process-unread.others", message.Nested("who", who),
		message.Bytes("unread", u.UnreadB), message.Bytes("most", u.MaxB), message.Share("share", u.Share)),
		message.New("find.process-unread.others.advice"))
	f.Severity = severity
	return f
}

// disk: a thread waits in uninterruptible sleep.
func disk(p *record.Process, inFlight float64) *record.Finding {
	if !waitsForDisk(p, inFlight) || diskForCore(p) || p.Queued >= queuedTimes*p.InDisk && taken(p, inFlight) != nil {
		return nil
	}
	var where message.Message
	if len(p.Sleeps) > 0 && p.Sleeps[0].For != "" {
		where = message.New("find.process-disk.in", message.Text("thread", p.Sleeps[0].Thread),
			message.Text("function", p.Sleeps[0].For))
	}
	return finding(p, FindDisk, p.DiskSeen, message.Sentences(message.New("find.process-disk",
		message.Share("share", p.DiskSeen), message.Bytes("read", p.ReadBPerS), message.Bytes("written", p.WrittenBPerS)),
		where), message.New("find.process-disk.advice"))
}

// waitsForDisk reports whether a thread is often in uninterruptible sleep.
func waitsForDisk(p *record.Process, inFlight float64) bool {
	return p.DiskSeen >= diskShare && p.DiskSeen*float64(p.Samples) >= leastInDisk &&
		(inFlight >= 1 || p.DiskSeen >= mostlyDisk)
}

// diskForCore reports whether what seems to be the disk waits for a core, too: others have all of them, and the disk
// itself does little. What the kernel has to do after a request is then late.
func diskForCore(p *record.Process) bool {
	return othersHaveAll(p) && p.DiskBusy >= 0 && p.DiskBusy <= idleDisk*p.DiskSeen
}

// othersHaveAll reports whether all cores of the machine are in use, mostly by other processes.
func othersHaveAll(p *record.Process) bool {
	return p.Cores > 0 && p.OthersCPU > p.OnCPU && p.OnCPU+p.OthersCPU >= wholeMachine*p.Cores
}

// quota: the control group has used up its time.
func quota(p *record.Process, _ float64) *record.Finding {
	share := float64(p.ThrottleNs) / max(float64(p.LengthNs), 1)
	if share < quotaShare {
		return nil
	}
	return finding(p, FindQuota, share, message.New("find.process-quota", message.Share("share", min(share, 1)),
		message.Number("cpu", p.OnCPU)), message.New("find.process-quota.advice"))
}

// queued reports whether threads wait for a core so much that there are too few of them.
func queued(p *record.Process) bool {
	if p.Cores > 0 && p.OnCPU >= wholeMachine*p.Cores {
		return true
	}
	return p.Queued >= queuedCores && (p.Queued >= queuedTimes*p.OnCPU || p.OnCPU >= allCores*p.Cores)
}

// saturated reports whether all processes together have the machine's cores in use, while requests wait in this one.
func saturated(p *record.Process, inFlight float64) bool {
	return p.Cores > 0 && inFlight >= leastInFlight && p.OnCPU+p.OthersCPU >= wholeMachine*p.Cores
}

// taken: threads wait for cores that other processes use more than this one.
func taken(p *record.Process, inFlight float64) *record.Finding {
	waits := queued(p) || saturated(p, inFlight) && p.Queued >= max(queuedAlike*p.OnCPU, insideShare*inFlight) ||
		othersHaveAll(p) && p.Queued >= max(leastQueued, queuedTimes*p.OnCPU, insideShare*inFlight)
	if len(p.Threads) > 0 {
		t := &p.Threads[0]
		waits = waits || t.OnCPU+t.Queued >= threadShare && t.Queued > queuedTimes*t.OnCPU
	}
	if !waits && waitsForDisk(p, inFlight) && diskForCore(p) {
		return finding(p, FindTaken, p.DiskSeen, message.New("find.process-taken.disk", message.Share("share", p.DiskSeen),
			message.Share("busy", p.DiskBusy), message.Number("others", p.OthersCPU), message.Number("cores", p.Cores)),
			message.New("find.process-taken.advice"))
	}
	if !waits || p.OthersCPU <= p.OnCPU {
		return nil
	}
	return finding(p, FindTaken, p.Queued/max(p.Queued+p.OnCPU, 1), message.New("find.process-taken",
		message.Number("queue", p.Queued), message.Number("cpu", p.OnCPU), message.Number("others", p.OthersCPU),
		message.Number("cores", p.Cores)), message.New("find.process-taken.advice"))
}

// oneThread: one thread has all the work.
func oneThread(p *record.Process, _ float64) *record.Finding {
	if len(p.Threads) == 0 {
		return nil
	}
	t := &p.Threads[0]
	if both := t.OnCPU + t.Queued; both < threadShare || t.OnCPU < threadCPU || both < threadOfAll*(p.OnCPU+p.Queued) {
		return nil
	}
	return finding(p, FindThread, t.OnCPU+t.Queued, message.New("find.process-thread", message.Text("thread", t.Name),
		message.Share("cpu", t.OnCPU), message.Share("queue", t.Queued)), message.New("find.process-thread.advice"))
}

// tooFewCores: more threads could run than there are cores.
func tooFewCores(p *record.Process, inFlight float64) *record.Finding {
	if !queued(p) && (!saturated(p, inFlight) || inFlight <= p.Cores || p.OnCPU <= p.OthersCPU) {
		return nil
	}
	return finding(p, FindCores, p.OnCPU/max(p.Cores, 1), message.New("find.process-cores",
		message.Number("queued", p.Queued), message.Number("cpu", p.OnCPU), message.Number("cores", p.Cores)),
		message.New("find.process-cores.advice"))
}

// waits: requests are in the server, and its threads neither compute nor read from the disk.
func waits(p *record.Process, inFlight float64) *record.Finding {
	work := p.OnCPU + p.Queued + p.InDisk
	if inFlight < leastInFlight || work > insideShare*inFlight {
		return nil
	}
	return finding(p, FindWaits, 1-work/inFlight, message.New("find.process-waits", message.Number("requests", inFlight),
		message.Number("cpu", p.OnCPU), message.Number("queue", p.Queued), message.Number("disk", p.InDisk)),
		message.New("find.process-waits.advice"))
}
