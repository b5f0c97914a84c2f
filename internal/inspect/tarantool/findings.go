package tarantool

import (
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/inspect"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// The IDs of findings. They must not change.
const (
	FindBlockedLoop = "blocked-loop"
	FindLuaScan     = "lua-function"
	FindSQLScan     = "sql-scan"
	FindBigReply    = "big-reply"
	FindSlowWAL     = "slow-wal"
	FindMsgMax      = "msg-max"
	FindMemory      = "memory"
	FindLuaGC       = "lua-gc"
	FindVinylDebt   = "vinyl-debt"
	FindReplicaLag  = "replica-lag"
)

const (
	leastSamples  = 10
	leastLagNs    = 3e6  // on average
	mostCalmNs    = 2e6  // lag up to which the disk may be blamed
	profileShare  = 0.2  // of the samples, in one function
	leastProfiled = 20   // samples
	searchedRows  = 1000 // for each execution
	leastReplyB   = 4096
	walTimes      = 10 // as long as a round trip
	leastWriteNs  = 5e6
	fullShare     = 0.9
	defaultMsgMax = 768
	msgMaxSamples = 3
	gcTimes       = 3
	leastLuaB     = 10 << 20
	gcFalls       = 3 // times that the memory shrank by a fifth or more
	leastLagS     = 0.3
	leastBehind   = 1000 // rows
	lateSamples   = 3
	starvedTimes  = 2 // as long as it ran, the tx thread waited for a core
)

// caseFile holds the facts that findings are derived from, and the findings.
type caseFile struct {
	seen       *sightings
	inspection *record.Inspection
	load       *record.ServerWindow // the load without its warm-up
	operations []inspect.Operation
	settings   map[string]string
	plans      []plan
	profile    *profile // nil if none was made
	starved    bool     // see Inspector.starved
	// vinyl are the reads of vinyl's indexes after the load, and vinylBefore those before it; nil if there are none.
	vinyl, vinylBefore vinylReads
}

// judge derives the findings, and copies the plans to the inspection.
func (c *caseFile) judge() {
	for _, rule := range []func(*caseFile){
		memoryFull, msgMax, sqlScans, luaFunctions, luaGC, blockedLoop, slowWAL, bigReplies, vinylDebt, manyRuns,
		replicaLag,
	} {
		rule(c)
	}
	inspect.Rank(c.inspection.Findings)
	for k := range c.plans {
		c.inspection.Plans = append(c.inspection.Plans, c.plans[k].QueryPlan)
	}
}

func (c *caseFile) add(f record.Finding) { c.inspection.Findings = append(c.inspection.Findings, f) }

func (c *caseFile) seconds() float64 { return max(float64(c.load.DurationNs)/1e9, 1e-3) }

func (c *caseFile) stat(object, figure string) float64 {
	return inspect.Figures(c.load, kindStat, object)[figure]
}

// lagNs returns the mean lag of the loop, and how many samples it is of.
func (c *caseFile) lagNs() (mean, most float64, n int) {
	for _, ns := range c.seen.lagsNs {
		mean, most = mean+ns, max(most, ns)
	}
	n = len(c.seen.lagsNs)
	return mean / float64(max(n, 1)), most, n
}

// sends returns the names of the operations for which a request is true.
func (c *caseFile) sends(is func(r *protocol.Request) bool) (names []string) {
	for _, o := range c.operations {
		if slices.ContainsFunc(o.Requests, is) {
			names = append(names, o.Name)
		}
	}
	return names
}

// blockedLoop finds a loop that answers late, because a function doesn't yield.
func blockedLoop(c *caseFile) {
	mean, most, n := c.lagNs()
	if n < leastSamples || mean < leastLagNs || c.starved {
		return
	}
	severity := loopSeverity(c)
	subject := "tx"
	calls := c.sends(func(r *protocol.Request) bool { return r.Verb == protocol.Call || r.Verb == protocol.Eval })
	if len(calls) == 1 {
		subject = "tx: " + calls[0]
	}
	c.add(record.Finding{ID: FindBlockedLoop, Severity: severity, Subject: subject,
		Evidence: message.New("find.tarantool.loop", message.Ns("mean", mean), message.Ns("most", most),
			message.Count("n", n)),
		Advice: message.New("find.tarantool.loop.advice")})
}

// loopSeverity returns the severity of what makes the loop late.
func loopSeverity(c *caseFile) string {
	if mean, _, _ := c.lagNs(); mean >= 10*leastLagNs {
		return record.Critical
	}
	return record.Serious
}

// luaFunctions finds functions that take much of the CPU's time.
func luaFunctions(c *caseFile) {
	p := c.profile
	if p == nil || p.Samples < leastProfiled || len(p.Sites) == 0 {
		return
	}
	const periodS = 0.01
	cpu := float64(p.Samples) * periodS / c.seconds()
	s := &p.Sites[0]
	share := float64(s.Samples) / float64(p.Samples)
	if share < profileShare {
		return
	}
	subject := s.Where
	if s.Name != "" {
		subject = s.Name + " (" + s.Where + ")"
		of := c.sends(func(r *protocol.Request) bool {
			return r.Verb == protocol.Call && strings.TrimSpace(r.Text) == s.Name
		})
		if len(of) > 0 {
			subject = strings.Join(of, ", ") + ": " + subject
		}
	}
	severity := loopSeverity(c)
	if share*cpu >= 0.3 {
		severity = record.Critical
	}
	c.add(record.Finding{ID: FindLuaScan, Severity: severity, Subject: subject, Share: min(share*cpu, 1),
		Evidence: message.New("find.tarantool.lua", message.Share("share", share), message.Count("n", p.Samples),
			message.Share("cpu", min(cpu, 1))),
		Advice: message.New("find.tarantool.lua.advice")})
}

// sqlScans finds SQL statements that read whole tables.
func sqlScans(c *caseFile) {
	searched, executed := c.stat("sql", "sql_search_count"), c.stat("requests", "EXECUTE.total")
	scanning := slices.IndexFunc(c.plans, func(p plan) bool { return len(p.scans) > 0 })
	if executed == 0 || scanning < 0 {
		return
	}
	// With several plans that scan, the one that was executed most is named.
	best, most, all := scanning, -1.0, 0.0
	for k := range c.plans {
		at := slices.IndexFunc(c.operations, func(o inspect.Operation) bool { return o.Name == c.plans[k].Operations[0] })
		if len(c.plans[k].scans) == 0 || at < 0 {
			continue
		}
		if all += c.operations[at].Done; c.operations[at].Done > most {
			best, most = k, c.operations[at].Done
		}
	}
	// Operations are counted with the warm-up, statements without.
	if all = max(min(all, executed), 1); searched < searchedRows*all {
		return
	}
	p := &c.plans[best]
	severity := record.Serious
	if searched/c.seconds() >= 1e6 {
		severity = record.Critical
	}
	c.add(record.Finding{ID: FindSQLScan, Severity: severity, Subject: p.Operations[0] + ": " + inspect.Headline(p.Text),
		Evidence: message.New("find.tarantool.scan", message.Text("table", p.scans[0]),
			message.Rate("rows", searched/c.seconds()), message.Number("each", searched/all)),
		Advice: message.New("find.tarantool.scan.advice", message.Text("table", p.scans[0]))})
}

// bigReplies finds requests whose answers are large.
func bigReplies(c *caseFile) {
	sent, requests := c.stat("net", "SENT.total"), c.stat("net", "REQUESTS.total")
	if requests < leastSamples || sent < leastReplyB*requests {
		return
	}
	worst := &inspect.Operation{}
	for k := range c.operations {
		if o := &c.operations[k]; o.Done > 0 && o.BytesIn > worst.BytesIn {
			worst = o
		}
	}
	subject, each := "net", sent/requests
	if worst.Name != "" {
		subject, each = worst.Name, worst.BytesIn/worst.Done
	}
	severity := record.Minor
	if sent/c.seconds() >= 10<<20 {
		severity = record.Serious
	}
	c.add(record.Finding{ID: FindBigReply, Severity: severity, Subject: subject,
		Evidence: message.New("find.tarantool.reply", message.Bytes("each", each), message.Bytes("mean", sent/requests),
			message.Bytes("sent", sent/c.seconds())),
		Advice: message.New("find.tarantool.reply.advice")})
}

// writes reports whether an operation only writes, and whether it only reads.
func writes(o *inspect.Operation) (only, none bool) {
	only, none = len(o.Requests) > 0, true
	for k := range o.Requests {
		wrote := false
		switch r := o.Requests[k]; r.Verb {
		case protocol.Insert, protocol.Replace, protocol.Update, protocol.Upsert, protocol.Delete, protocol.Batch:
			wrote = true
		case protocol.SQL:
			w := sqltext.FirstWord(r.Text)
			wrote = w == "INSERT" || w == "UPDATE" || w == "DELETE" || w == "REPLACE"
		case protocol.Call, protocol.Eval:
			return false, false // it isn't known
		}
		only, none = only && wrote, none && !wrote
	}
	return only, none
}

// slowWAL finds writes that wait for the disk, while requests that don't write are answered at once.
func slowWAL(c *caseFile) {
	lag, _, n := c.lagNs()
	worst, reads := &inspect.Operation{}, 0.0
	for k := range c.operations {
		o := &c.operations[k]
		only, none := writes(o)
		if only && o.MeanNs > worst.MeanNs {
			worst = o
		}
		if none {
			reads = max(reads, o.MeanNs)
		}
	}
	if n < leastSamples || lag >= mostCalmNs && !c.starved ||
		worst.MeanNs < max(leastWriteNs, walTimes*lag, gcTimes*reads) {
		return
	}
	severity := record.Serious
	if worst.MeanNs >= 4*leastWriteNs {
		severity = record.Critical
	}
	c.add(record.Finding{ID: FindSlowWAL, Severity: severity, Subject: worst.Name, Blames: record.TimeDisk,
		Evidence: message.New("find.tarantool.wal", message.Ns("mean", worst.MeanNs), message.Ns("lag", lag)),
		Advice:   message.New("find.tarantool.wal.advice")})
}

// msgMax finds a server that has as many requests under way as it accepts.
func msgMax(c *caseFile) {
	limit := float64(defaultMsgMax)
	if x, err := strconv.ParseFloat(c.settings["net_msg_max"], 64); err == nil {
		limit = x
	}
	full := 0
	for _, n := range c.seen.requests {
		if n+1 >= limit { // the question itself was subtracted
			full++
		}
	}
	// Questions wait too, so there may be few samples.
	if full == 0 || full < msgMaxSamples && 2*full < len(c.seen.requests) {
		return
	}
	c.add(record.Finding{ID: FindMsgMax, Severity: record.Critical, Subject: "net_msg_max",
		Evidence: message.New("find.tarantool.msg", message.Part("share", full, len(c.seen.requests)),
			message.Number("limit", limit)),
		Advice: message.New("find.tarantool.msg.advice")})
}

// memoryFull finds a memory of tuples that is nearly used up.
func memoryFull(c *caseFile) {
	v := inspect.Figures(c.load, kindGauge, "slab")
	if v["quota_used_ratio"] < fullShare || v["arena_used_ratio"] < fullShare {
		return
	}
	severity := record.Serious
	if v["arena_used_ratio"] >= 0.98 {
		severity = record.Critical
	}
	c.add(record.Finding{ID: FindMemory, Severity: severity, Subject: "memtx_memory",
		Evidence: message.New("find.tarantool.memory", message.Share("quota", v["quota_used_ratio"]),
			message.Share("arena", v["arena_used_ratio"]), message.Bytes("size", v["quota_size"])),
		Advice: message.New("find.tarantool.memory.advice")})
}

// luaGC finds Lua functions that make much garbage: the memory of Lua grows and is freed over and over.
func luaGC(c *caseFile) {
	least, most, falls, high := 0.0, 0.0, 0, 0.0
	for _, b := range c.seen.lua {
		if b == 0 {
			continue
		}
		if least == 0 || b < least {
			least = b
		}
		most, high = max(most, b), max(high, b)
		if b < 0.8*high {
			falls, high = falls+1, b
		}
	}
	if most < leastLuaB || most < gcTimes*least || falls < gcFalls {
		return
	}
	c.add(record.Finding{ID: FindLuaGC, Severity: record.Serious, Subject: "Lua",
		Evidence: message.New("find.tarantool.gc", message.Bytes("least", least), message.Bytes("most", most),
			message.Count("falls", falls)),
		Advice: message.New("find.tarantool.gc.advice")})
}

// replicaLag finds replicas that fall behind, or that don't replicate.
func replicaLag(c *caseFile) {
	var ids []string
	for id := range c.seen.replicas {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		r := c.seen.replicas[id]
		switch {
		case r.broken >= 2:
			c.add(record.Finding{ID: FindReplicaLag, Severity: record.Serious, Subject: "replica " + id,
				Evidence: message.New("find.tarantool.replica.stopped", message.Text("status", r.status)),
				Advice:   message.New("find.tarantool.replica.stopped.advice")})
		case r.late >= lateSamples && r.grown && r.behind >= leastBehind:
			c.add(record.Finding{ID: FindReplicaLag, Severity: record.Serious, Subject: "replica " + id,
				Evidence: message.New("find.tarantool.replica.rows", message.Count("n", r.late),
					message.Number("rows", r.behind)),
				Advice: message.New("find.tarantool.replica.advice")})
		case r.late >= lateSamples && r.grown:
			c.add(record.Finding{ID: FindReplicaLag, Severity: record.Serious, Subject: "replica " + id,
				Evidence: message.New("find.tarantool.replica", message.Count("n", r.late), message.Ns("worst", r.worstNs)),
				Advice:   message.New("find.tarantool.replica.advice")})
		}
	}
}
