package process

import (
	"cmp"
	"slices"

	"brunt/internal/record"
)

// The most threads, sleeps and peers that are kept in the record.
const (
	mostThreads = 20
	mostSleeps  = 10
	mostUnread  = 5
)

// record returns what was seen of the process in the measured time.
func (o *observed) record() record.Process {
	s := &o.sum
	seconds := s.length.Seconds()
	ns := float64(s.length)
	n := float64(s.samples)
	p := record.Process{
		Source: o.Source, PID: o.PID, Command: command(o.proc, o.PID), Members: len(o.members), Samples: s.samples,
		PeriodNs: int64(ns / n), LengthNs: int64(s.length),
		OnCPU: float64(s.cpuNs) / ns, Queued: float64(s.queueNs) / ns,
		InDisk: float64(s.inDisk) / n, DiskSeen: float64(s.diskSeen) / n,
		ReadBPerS: float64(s.read) / seconds, WrittenBPerS: float64(s.written) / seconds,
		Cores: cores(), StolenCPU: s.stolen / seconds, ThrottleNs: int64(s.throttled),
	}
	p.OthersCPU = max(0, s.others/seconds-p.OnCPU)
	if p.DiskBusy = -1; s.diskBytes > 0 && s.diskBytes >= float64(s.read+s.written)/2 {
		p.DiskBusy = min(s.diskBusy/seconds, 1)
	}
	for _, m := range o.members {
		p.IOUnreadable = p.IOUnreadable || m.unreadable
	}
	if q := &s.unread; q.looks > 0 {
		looks := float64(q.looks)
		p.Connections, p.UnreadB = float64(q.connections)/looks, float64(q.unread)/looks
		p.UnreadMaxB, p.UnreadShare = float64(q.most), float64(q.full)/looks
		p.UnreadLoadShare, p.Unread = float64(q.fullOfLoad)/looks, q.record()
	}
	p.Threads = o.byName(ns, n)
	for k, count := range o.sleeps {
		p.Sleeps = append(p.Sleeps, record.ThreadSleep{Thread: k.thread, For: k.in, Share: float64(count) / n})
	}
	slices.SortFunc(p.Sleeps, func(a, b record.ThreadSleep) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.For, b.For))
	})
	p.Sleeps = p.Sleeps[:min(len(p.Sleeps), mostSleeps)]
	return p
}

// record returns who had more than unreadB to take, the most often first.
func (q *queues) record() (out []record.UnreadPeer) {
	for who, h := range q.peers {
		out = append(out, record.UnreadPeer{Kind: who.kind, Command: who.command, PID: who.pid, Address: who.address,
			UnreadB: float64(h.bytes) / float64(q.looks), MaxB: float64(h.most), Share: float64(h.looks) / float64(q.looks)})
	}
	slices.SortFunc(out, func(a, b record.UnreadPeer) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(b.UnreadB, a.UnreadB), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.PID, b.PID), cmp.Compare(a.Address, b.Address))
	})
	return out[:min(len(out), mostUnread)]
}

// byName returns the use of the threads by name, each that of the busiest thread with the name.
func (o *observed) byName(ns, samples float64) []record.ThreadUse {
	named := map[string]*record.ThreadUse{}
	for _, t := range o.threads {
		u := record.ThreadUse{Name: t.name, OnCPU: float64(t.sum.cpuNs) / ns, Queued: float64(t.sum.queueNs) / ns,
			InDisk: float64(t.sum.inDisk) / samples}
		have := named[t.name]
		if have == nil {
			have = &record.ThreadUse{Name: t.name}
			named[t.name] = have
		}
		number := have.Number + 1
		if number == 1 || u.OnCPU+u.Queued+u.InDisk > have.OnCPU+have.Queued+have.InDisk {
			*have = u
		}
		have.Number = number
	}
	var out []record.ThreadUse
	for _, u := range named {
		out = append(out, *u)
	}
	slices.SortFunc(out, func(a, b record.ThreadUse) int {
		return cmp.Or(cmp.Compare(b.OnCPU+b.Queued+b.InDisk, a.OnCPU+a.Queued+a.InDisk), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), mostThreads)]
}
