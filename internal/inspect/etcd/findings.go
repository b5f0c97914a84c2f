package etcd

import (
	"slices"
	"strings"

	"brunt/internal/inspect"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// The IDs of findings. They must not change.
const (
	FindDisk          = "slow-disk"
	FindFollower      = "slow-follower"
	FindStarved       = "starved"
	FindRange         = "large-range"
	FindLeases        = "lease-storm"
	FindWatchers      = "watchers"
	FindLeader        = "leader-change"
	FindQuota         = "quota"
	FindFragmentation = "fragmentation"
	FindDefrag        = "defrag"
	FindCompaction    = "compaction"
	FindErrors        = "request-errors"
	FindBigValue      = "big-value"
	FindSnapshot      = "snapshot"
	FindPeers         = "peer-rtt"
)

// The thresholds of the findings.
const (
	slowFsyncNs     = 10e6  // mean
	slowCommitNs    = 100e6 // etcd commits every 100 ms, independently of requests
	leastFsyncs     = 20
	followerTimes   = 3 // as much as the other members
	starvedThreads  = 1 // that wait for a core
	bigAnswerB      = 100_000
	leaseShare      = 0.2 // of the puts
	leastLeases     = 20
	watcherEvents   = 20 // for each put
	leastPuts       = 5
	quotaShare      = 0.8
	fragmentedShare = 0.5
	fragmentedB     = 100 << 20
	compactionShare = 0.1
	errorsShare     = 0.01
	leastErrors     = 5
	bigValueB       = 100_000
	slowPeerNs      = 10e6
	fsyncsOfPut     = 4
	largeB          = 100 << 20 // of a database, from which reading it as a whole costs
)

// caseFile holds what findings are derived from, and the findings.
type caseFile struct {
	members    []*member
	load       *record.ServerWindow
	operations []inspect.Operation
	findings   []record.Finding
}

func judge(i *Inspector, out *record.Inspection, operations []inspect.Operation) {
	c := &caseFile{members: i.members, load: &out.Windows[0], operations: operations}
	for _, rule := range []func(*caseFile){maintenance, snapshots, disks, peers, ranges, values, leases,
		watchers, leader, space, failures} {
		rule(c)
	}
	inspect.Rank(c.findings)
	out.Findings = c.findings
}

func (c *caseFile) add(id, severity, subject string, evidence, advice message.Message) {
	c.findings = append(c.findings, record.Finding{ID: id, Severity: severity, Subject: subject, Evidence: evidence,
		Advice: advice})
}

// figures returns the figures of a member during the load.
func (c *caseFile) figures(m *member) map[string]float64 {
	return inspect.Figures(c.load, kindMember, m.target.Address)
}

// sum returns the sum of a figure over all members.
func (c *caseFile) sum(names ...string) (sum float64) {
	for _, m := range c.members {
		v := c.figures(m)
		for _, name := range names {
			if v[name] != 0 { // the names that a figure has in different versions
				sum += v[name]
				break
			}
		}
	}
	return sum
}

// method returns the statistics of a method.
func (c *caseFile) method(id string) record.Statement {
	for _, s := range c.load.Statements {
		if s.ID == id {
			return s
		}
	}
	return record.Statement{}
}

// subject names a method with the operations that call it.
func subject(method string, operations []string) string {
	if len(operations) == 0 {
		return method
	}
	return method + " (" + strings.Join(operations, ", ") + ")"
}

// mean returns the mean of a histogram, in ns, and the number of its values.
func mean(v map[string]float64, name string) (ns, n float64) {
	n = v[name+"_count"]
	if n == 0 {
		return 0, 0
	}
	return v[name+"_sum"] / n * 1e9, n
}

const (
	fsync  = "etcd_disk_wal_fsync_duration_seconds"
	commit = "etcd_disk_backend_commit_duration_seconds"

	roundTrip = "etcd_network_peer_round_trip_time_seconds"
)

// disks finds members that write slowly: because of the disk, or because they don't get a core.
func disks(c *caseFile) {
	for _, m := range c.members {
		v := c.figures(m)
		sync, n := mean(v, fsync)
		committed, _ := mean(v, commit)
		if n < leastFsyncs {
			continue
		}
		slow := sync >= slowFsyncNs || committed >= slowCommitNs
		if others := c.others(m); slow && others > 0 && sync >= followerTimes*others {
			c.add(FindFollower, record.Serious, m.target.Address, message.New("find.etcd.follower",
				message.Ns("fsync", sync), message.Ns("others", others)), message.New("find.etcd.follower.advice"))
			continue
		}
		switch {
		case m.queue >= starvedThreads && sync >= slowFsyncNs/2:
			c.add(FindStarved, record.Serious, m.target.Address, message.New("find.etcd.starved",
				message.Number("queue", m.queue), message.Ns("fsync", sync)), message.New("find.etcd.starved.advice"))
		case !slow:
		case m.queue < 0:
			c.add(FindDisk, record.Critical, m.target.Address, message.New("find.etcd.disk.unsure",
				message.Ns("fsync", sync), message.Ns("commit", committed)), message.New("find.etcd.disk.advice"))
			c.findings[len(c.findings)-1].Blames = record.TimeDisk
		default:
			c.add(FindDisk, record.Critical, m.target.Address, message.New("find.etcd.disk", message.Ns("fsync", sync),
				message.Ns("commit", committed)), message.New("find.etcd.disk.advice"))
			c.findings[len(c.findings)-1].Blames = record.TimeDisk
		}
	}
}

// others returns the mean time of fsync of all other members; 0 if there are none.
func (c *caseFile) others(m *member) float64 {
	sum, n := 0.0, 0.0
	for _, o := range c.members {
		if o != m {
			v := c.figures(o)
			sum, n = sum+v[fsync+"_sum"], n+v[fsync+"_count"]
		}
	}
	if n < leastFsyncs {
		return 0
	}
	return sum / n * 1e9
}

// ranges finds large answers: of operations or, if none is known to have them, of all Range requests.
func ranges(c *caseFile) {
	found := false
	for k := range c.operations {
		o := &c.operations[k]
		reads := slices.ContainsFunc(o.Requests, func(r *protocol.Request) bool { return methodOf(r) == "Range" })
		if !reads || o.Done == 0 || o.BytesIn/o.Done < bigAnswerB {
			continue
		}
		found = true
		c.add(FindRange, record.Serious, subject("Range", []string{o.Name}), message.New("find.etcd.range",
			message.Bytes("size", o.BytesIn/o.Done), message.Count("n", uint64(o.Done))), message.New("find.etcd.range.advice"))
	}
	calls := c.method("Range").Calls
	sent := c.sum("etcd_network_client_grpc_sent_bytes_total")
	if found || calls < 1 || sent/calls < bigAnswerB || c.events() >= calls || c.method("Snapshot").Calls > 0 {
		return
	}
	c.add(FindRange, record.Serious, subject("Range", c.method("Range").Operations), message.New("find.etcd.range.server",
		message.Bytes("size", sent/calls), message.Count("n", uint64(calls))), message.New("find.etcd.range.advice"))
}

// values finds large values that are written: each is in the log of every member, and again in the database.
func values(c *caseFile) {
	puts := c.method("Put").Calls
	received := c.sum("etcd_network_client_grpc_received_bytes_total")
	if puts < leastPuts || received/puts < bigValueB {
		return
	}
	c.add(FindBigValue, record.Serious, subject("Put", c.method("Put").Operations), message.New("find.etcd.value",
		message.Bytes("size", received/puts), message.Count("n", uint64(puts))), message.New("find.etcd.value.advice"))
}

// peers finds members that are far from each other: a write waits for a round trip to the nearer half of them. What
// members say of round trips is a mean that begins at zero and takes some minutes to rise; if writes take much longer
// than fsync, a part of it is enough.
func peers(c *caseFile) {
	var worst *member
	trip, flushed, queue := 0.0, 0.0, 0.0
	for _, m := range c.members {
		v := c.figures(m)
		sync, _ := mean(v, fsync)
		if t, _ := mean(v, roundTrip); t > trip {
			worst, trip = m, t
		}
		flushed, queue = max(flushed, sync), max(queue, m.queue)
	}
	took := c.method("Put").MeanNs
	slow := took >= 2*slowPeerNs && took >= fsyncsOfPut*flushed && queue < starvedThreads
	if worst == nil || c.puts() < leastPuts || trip < flushed || trip < slowPeerNs && (!slow || trip < slowPeerNs/5) {
		return
	}
	evidence := message.New("find.etcd.peers", message.Ns("trip", trip))
	if slow {
		evidence = message.New("find.etcd.peers.put", message.Ns("trip", trip), message.Ns("took", took),
			message.Ns("fsync", flushed))
	}
	c.add(FindPeers, record.Serious, worst.target.Address, evidence, message.New("find.etcd.peers.advice"))
}

// snapshots finds snapshots that were taken during the load: each reads the whole database.
func snapshots(c *caseFile) {
	n := c.method("Snapshot").Calls
	if n < 1 {
		return
	}
	size := 0.0
	for _, m := range c.members {
		size = max(size, c.figures(m)["etcd_mvcc_db_total_size_in_bytes"])
	}
	severity := record.Minor
	if n*size >= largeB {
		severity = record.Serious
	}
	c.add(FindSnapshot, severity, "Snapshot", message.New("find.etcd.snapshot", message.Count("n", uint64(n)),
		message.Bytes("size", size)), message.New("find.etcd.snapshot.advice"))
}

func (c *caseFile) events() float64 { return c.sum("etcd_debugging_mvcc_events_total") }

func (c *caseFile) puts() float64 {
	return c.sum("etcd_mvcc_put_total", "etcd_debugging_mvcc_put_total") / float64(len(c.members))
}

// leases finds loads that grant leases as if they cost nothing.
func leases(c *caseFile) {
	granted := c.sum("etcd_debugging_lease_granted_total") / float64(len(c.members))
	puts := c.puts()
	if granted < leastLeases || granted < leaseShare*puts {
		return
	}
	c.add(FindLeases, record.Serious, subject("LeaseGrant", c.method("LeaseGrant").Operations),
		message.New("find.etcd.lease", message.Count("n", uint64(granted)), message.Count("each", uint64(puts/granted+0.5))),
		message.New("find.etcd.lease.advice"))
}

// watchers finds puts that are sent to many watchers.
func watchers(c *caseFile) {
	puts, events := c.puts(), c.events()
	if puts < leastPuts || events/puts < watcherEvents {
		return
	}
	c.add(FindWatchers, record.Serious, subject("Watch", c.method("Watch").Operations), message.New("find.etcd.watchers",
		message.Count("each", uint64(events/puts+0.5)),
		message.Bytes("size", c.sum("etcd_network_client_grpc_sent_bytes_total")/puts),
		message.Count("n", uint64(c.sum("etcd_debugging_mvcc_watcher_total")))), message.New("find.etcd.watchers.advice"))
}

// leader finds elections.
func leader(c *caseFile) {
	most := 0.0
	for _, m := range c.members {
		if len(m.starts) < 2 { // a member that starts sees its leader for the first time
			most = max(most, c.figures(m)["etcd_server_leader_changes_seen_total"])
		}
	}
	if most > 0 {
		c.add(FindLeader, record.Critical, "etcd", message.New("find.etcd.leader", message.Count("n", uint64(most))),
			message.New("find.etcd.leader.advice"))
	}
}

// space finds databases near their quota, and those that are mostly empty.
func space(c *caseFile) {
	for k, m := range c.members {
		v := c.figures(m)
		size, used, quota := v["etcd_mvcc_db_total_size_in_bytes"], v["etcd_mvcc_db_total_size_in_use_in_bytes"],
			v["etcd_server_quota_backend_bytes"]
		advice := message.New("find.etcd.quota.advice")
		switch {
		case m.alarm:
			c.add(FindQuota, record.Critical, "etcd", message.New("find.etcd.quota.alarm", message.Bytes("quota", quota)),
				advice)
		case quota > 0 && size/quota >= quotaShare && !c.members[0].alarm:
			c.add(FindQuota, record.Critical, m.target.Address, message.New("find.etcd.quota", message.Bytes("size", size),
				message.Share("share", min(size/quota, 1)), message.Bytes("quota", quota)), advice)
		}
		if k == 0 && size >= fragmentedB && used > 0 && 1-used/size >= fragmentedShare {
			c.add(FindFragmentation, record.Minor, m.target.Address, message.New("find.etcd.fragmentation",
				message.Share("share", 1-used/size), message.Bytes("size", size)),
				message.New("find.etcd.fragmentation.advice"))
		}
	}
}

// maintenance finds defragmentation and compaction during the load.
func maintenance(c *caseFile) {
	for _, m := range c.members {
		v := c.figures(m)
		if n := v["etcd_disk_backend_defrag_duration_seconds_count"]; n > 0 {
			c.add(FindDefrag, record.Serious, m.target.Address, message.New("find.etcd.defrag", message.Count("n", uint64(n)),
				message.Ns("took", v["etcd_disk_backend_defrag_duration_seconds_sum"]*1e9)), message.New("find.etcd.defrag.advice"))
		}
		took := v["etcd_debugging_mvcc_db_compaction_total_duration_milliseconds_sum"] * 1e6
		if share := took / max(float64(c.load.DurationNs), 1); share >= compactionShare {
			c.add(FindCompaction, record.Serious, m.target.Address, message.New("find.etcd.compaction",
				message.Share("share", min(share, 1))), message.New("find.etcd.compaction.advice"))
		}
	}
}

// failures finds errors that many requests met.
func failures(c *caseFile) {
	calls := 0.0
	var methods, operations []string
	for _, s := range c.load.Statements {
		calls += s.Calls
		if s.More["failed_calls"] > 0 {
			methods, operations = append(methods, s.ID), append(operations, s.Operations...)
		}
	}
	for _, e := range c.load.Counters {
		n := e.Values["count"]
		if e.Kind != kindError || n < leastErrors || n < errorsShare*calls {
			continue
		}
		c.add(FindErrors, record.Serious, subject(e.Name, operations), message.New("find.etcd.errors",
			message.Count("n", uint64(n)), message.Share("share", min(n/max(calls, 1), 1)),
			message.Text("methods", strings.Join(methods, ", "))), message.New("find.etcd.errors.advice"))
	}
}
