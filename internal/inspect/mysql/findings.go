package mysql

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// The IDs of findings. They must not change.
const (
	FindFullScan    = "full-scan"
	FindMismatch    = "type-mismatch"
	FindFilesort    = "filesort"
	FindTmpDisk     = "tmp-disk"
	FindRowLocks    = "row-locks"
	FindIdleXact    = "idle-in-transaction"
	FindDeadlocks   = "deadlocks"
	FindMetadata    = "metadata-lock"
	FindCache       = "cache-misses"
	FindCommitFlush = "commit-flush"
	FindConnections = "connections"
	FindCPU         = "cpu-bound"
	FindUnusedIndex = "unused-index"
)

const (
	leastExamined = 1000 // rows a call
	timesSent     = 20
	leastSamples  = 10
	lockShare     = 0.05 // of the statements' time
	lockPerS      = 0.05 // sessions that wait for rows, on average
	missShare     = 0.05
	leastMisses   = 1000
	commitShare   = 0.3 // of the sessions that write
	leastWrites   = 10  // sessions seen writing
	leastFlush    = 5 * time.Millisecond
	usedShare     = 0.9
	perCore       = 2
	oldXact       = 5 * time.Second
	fewRows       = 50 // written to a table whose index isn't used
)

// judge derives the findings, and copies the plans to the inspection.
func (c *caseFile) judge() {
	for _, rule := range []func(*caseFile){
		idleTransactions, metadataLocks, deadlocks, rowLocks, statements, scansWithoutStatements,
		commitFlush, cacheMisses, connections, cpuBound, unusedIndexes,
	} {
		rule(c)
	}
	inspect.Rank(c.inspection.Findings)
	c.recordPlans()
}

func (c *caseFile) add(f record.Finding) { c.inspection.Findings = append(c.inspection.Findings, f) }

func (c *caseFile) found(id string) bool {
	return slices.ContainsFunc(c.inspection.Findings, func(f record.Finding) bool { return f.ID == id })
}

// status returns a status variable's increase during the load; for one that may decrease, its value at the end.
func (c *caseFile) status(name string) float64 {
	if slices.Contains(gauges, name) {
		return inspect.Figures(c.load, kindGauge, "server")[name]
	}
	return inspect.Figures(c.load, kindStatus, "server")[name]
}

func (c *caseFile) seconds() float64 { return max(float64(c.load.DurationNs)/1e9, 1e-3) }

// statementNs returns the time that statements took: as counted or, if they aren't, by samples.
func (c *caseFile) statementNs() float64 {
	sum := 0.0
	for _, s := range c.load.Statements {
		sum += s.TotalNs
	}
	if sum > 0 {
		return sum
	}
	active := 0.0
	for _, w := range c.inspection.Activity.Waits {
		active += w.Mean
	}
	return active * float64(c.load.DurationNs)
}

// subject returns a name for a statement: its operation, or else its text.
func subject(s *record.Statement) string {
	if len(s.Operations) > 0 {
		return strings.Join(s.Operations, ", ") + ": " + inspect.Headline(s.Text)
	}
	return inspect.Headline(s.Text)
}

func weight(s *record.Statement) message.Message {
	if s.ID == "" {
		return message.Message{}
	}
	return message.New("find.weight", message.Share("share", s.Share), message.Ns("mean", s.MeanNs))
}

func about(id string, s *record.Statement, evidence, advice message.Message) record.Finding {
	severity := inspect.Grave(s.Share)
	if s.ID == "" {
		severity = record.Serious
	}
	return record.Finding{ID: id, Severity: severity, Subject: subject(s),
		Evidence: message.Sentences(evidence, weight(s)), Advice: advice, Statement: s.ID, Share: s.Share}
}

// statements finds statements that read, sort or write more than they need.
func statements(c *caseFile) {
	for k := range c.load.Statements {
		s := &c.load.Statements[k]
		if s.Share < leastExplained {
			continue
		}
		p := c.planOf(s.ID)
		scanned := c.fullScan(s, p)
		if n := s.More["created_tmp_disk_tables"]; n >= s.Calls && s.Share >= 0.01 {
			c.add(about(FindTmpDisk, s, message.New("find.mysql.tmp-disk", message.Number("tables", n/s.Calls),
				message.Text("memory", c.bytes(cmp.Or(c.has("tmp_memory_table_size"), "tmp_table_size")))),
				message.New("find.mysql.tmp-disk.advice")))
			if p == nil || !conditional(p) {
				scanned = nil
			}
		} else if passes := s.More["sort_merge_passes"]; passes >= 1 && s.Share >= 0.01 {
			c.add(about(FindFilesort, s, message.New("find.mysql.filesort", message.Number("passes", passes/s.Calls),
				message.Number("rows", s.More["sort_rows"]/s.Calls), message.Text("buffer", c.bytes("sort_buffer_size"))),
				message.New("find.mysql.filesort.advice")))
			scanned = nil
		}
		if scanned != nil {
			c.add(*scanned)
		}
	}
}

// conditional reports whether a plan's scan discards rows by a condition.
func conditional(p *plan) bool {
	s := p.scanned()
	return s != nil && strings.Contains(s.extra, "Using where")
}

// fullScan returns the finding about a statement that examines many more rows than it needs; nil if it doesn't.
func (c *caseFile) fullScan(s *record.Statement, p *plan) *record.Finding {
	examined := s.More["rows_examined"] / s.Calls
	if examined < leastExamined || examined < timesSent*max(s.Rows/s.Calls, 1) {
		return nil
	}
	evidence := message.New("find.mysql.full-scan", message.Count("examined", uint64(examined)),
		message.Number("rows", s.Rows/s.Calls))
	if p == nil {
		if s.More["no_index_used"] == 0 {
			return nil
		}
		f := about(FindFullScan, s, evidence, message.New("find.mysql.full-scan.unknown"))
		return &f
	}
	step := p.scanned()
	if step == nil {
		return nil
	}
	table := message.Text("table", step.table)
	var f record.Finding
	switch {
	case len(p.notes) > 0 || step.access == "ALL" && step.possible != "":
		why := message.New("find.mysql.mismatch.keys", message.Text("keys", step.possible))
		if len(p.notes) > 0 {
			why = message.Literal(p.notes[0])
		}
		f = about(FindMismatch, s, message.Sentences(evidence, why), message.New("find.mysql.mismatch.advice"))
	case !strings.Contains(step.extra, "Using where") && s.More["sort_rows"] == 0:
		f = about(FindFullScan, s, evidence, message.New("find.mysql.full-scan.whole", table))
	default:
		f = about(FindFullScan, s, evidence, message.New("find.mysql.full-scan.advice", table))
	}
	return &f
}

// scansWithoutStatements finds scans by the server's counters, if it doesn't count statements, and names the statements
// of the load whose plans scan.
func scansWithoutStatements(c *caseFile) {
	read := c.status("Handler_read_rnd_next")
	if !c.uncounted || read < leastExamined*max(c.status("Select_scan"), 1) {
		return
	}
	for k := range c.plans {
		p := &c.plans[k]
		step := p.scanned()
		if p.Failed != "" || p.Statement != "" || step == nil || step.rows < leastExamined {
			continue
		}
		id, advice := FindFullScan, message.New("find.mysql.full-scan.advice", message.Text("table", step.table))
		if len(p.notes) > 0 || step.possible != "" && step.key == "" {
			id, advice = FindMismatch, message.New("find.mysql.mismatch.advice")
		}
		c.add(about(id, &record.Statement{Text: p.Text, Operations: p.Operations},
			message.New("find.mysql.scan-counted", message.Rate("read", read/c.seconds()),
				message.Count("rows", uint64(step.rows))), advice))
		return
	}
	if c.found(FindFullScan) || c.found(FindMismatch) || c.inspector.digests {
		return
	}
	c.add(record.Finding{ID: FindFullScan, Severity: record.Serious, Subject: c.mostSeen(),
		Evidence: message.New("find.mysql.scan-counted", message.Rate("read", read/c.seconds()),
			message.Count("rows", uint64(read/max(c.status("Select_scan"), 1)))),
		Advice: message.New("find.mysql.full-scan.unknown")})
}

// mostSeen returns the statement that most samples saw.
func (c *caseFile) mostSeen() string {
	best, most := "Handler_read_rnd_next", 0
	for text, n := range c.inspector.seen.texts {
		if n > most || n == most && text < best {
			best, most = text, n
		}
	}
	return inspect.Headline(best)
}

// rowLocks finds statements that wait for rows.
func rowLocks(c *caseFile) {
	ns := c.status("Innodb_row_lock_time") * 1e6
	share := min(ns/max(c.statementNs(), 1), 1)
	if ns < lockPerS*float64(c.load.DurationNs) || share < lockShare {
		return
	}
	f := record.Finding{ID: FindRowLocks, Severity: inspect.Grave(share), Subject: "InnoDB", Share: share}
	var where message.Message
	if b := c.inspection.Activity.Blocked; len(b) > 0 {
		f.Subject = c.nameOf(b[0].Waiting)
		where = message.New("find.mysql.row-locks.of", message.Text("table", b[0].Relation),
			message.Text("holder", inspect.Headline(b[0].Holder)), message.Text("state", b[0].HolderState))
	}
	f.Evidence = message.Sentences(message.New("find.mysql.row-locks", message.Share("share", share),
		message.Number("waiting", ns/max(float64(c.load.DurationNs), 1)),
		message.Ns("mean", ns/max(c.status("Innodb_row_lock_waits"), 1))), where)
	f.Advice = message.New("find.mysql.row-locks.advice")
	c.add(f)
}

// nameOf returns the operation that sends a statement, and the statement.
func (c *caseFile) nameOf(text string) string {
	s := record.Statement{Text: text}
	want := normal(text)
	for _, o := range c.operations {
		if slices.ContainsFunc(o.Statements, func(sent string) bool { return normal(sent) == want }) {
			s.Operations = append(s.Operations, o.Name)
		}
	}
	return subject(&s)
}

// idleTransactions finds sessions that keep transactions open without working, while others wait for their locks or
// for long.
func idleTransactions(c *caseFile) {
	a := &c.inspection.Activity
	seen := &c.inspector.seen
	if seen.idleBlocking >= 3 {
		share := min(c.status("Innodb_row_lock_time")*1e6/max(c.statementNs(), 1), 1)
		at := slices.IndexFunc(a.Blocked, func(b record.Blocking) bool { return b.HolderState == stateIdle })
		if at >= 0 {
			b := &a.Blocked[at]
			severity := inspect.Grave(share)
			if severity == record.Minor {
				severity = record.Serious
			}
			c.add(record.Finding{ID: FindIdleXact, Severity: severity, Subject: c.nameOf(b.Waiting), Share: share,
				Evidence: message.New("find.mysql.idle", message.Text("table", b.Relation),
					message.Share("share", min(seen.idleSeconds/c.inspector.activity.Seconds(), 1)),
					message.Ns("longest", b.LongestNs)),
				Advice: message.New("find.mysql.idle.advice")})
			return
		}
	}
	for _, p := range a.Clients {
		if p.LongestIdle >= int64(oldXact) {
			c.add(record.Finding{ID: FindIdleXact, Severity: record.Minor, Subject: p.Application + " at " + p.Address,
				Evidence: message.New("find.mysql.open", message.Span("longest", time.Duration(p.LongestIdle))),
				Advice:   message.New("find.mysql.idle.advice")})
			return
		}
	}
}

// deadlocks finds transactions that the server rolled back because they waited for each other.
func deadlocks(c *caseFile) {
	n := c.status("Innodb_deadlocks")
	if n < 1 {
		return
	}
	// Waits for rows that follow from the same order of locks are part of it.
	share := min(c.status("Innodb_row_lock_time")*1e6/max(c.statementNs(), 1), 1)
	severity := inspect.Grave(share)
	if n/c.seconds() >= 1 && severity == record.Minor {
		severity = record.Serious
	}
	name := "InnoDB"
	if b := c.inspection.Activity.Blocked; len(b) > 0 {
		name = c.nameOf(b[0].Waiting)
	}
	c.add(record.Finding{ID: FindDeadlocks, Severity: severity, Subject: name, Share: share,
		Evidence: message.New("find.mysql.deadlocks", message.Count("n", uint64(n)), message.Rate("rate", n/c.seconds())),
		Advice:   message.New("find.mysql.deadlocks.advice")})
}

// metadataLocks finds statements that wait for a change of a table.
func metadataLocks(c *caseFile) {
	seen := &c.inspector.seen
	if seen.metadataWaits < 2 {
		return
	}
	share := float64(seen.metadataWaits) / float64(max(seen.running, 1))
	name := "metadata"
	if seen.ddl != "" {
		name = inspect.Headline(seen.ddl)
	}
	c.add(record.Finding{ID: FindMetadata, Severity: inspect.Grave(share), Subject: name, Share: share,
		Evidence: message.New("find.mysql.metadata", message.Count("n", seen.metadataWaits), message.Share("share", share)),
		Advice:   message.New("find.mysql.metadata.advice")})
}

// cacheMisses finds a buffer pool that is too small for the pages that are read.
func cacheMisses(c *caseFile) {
	read, asked := c.status("Innodb_buffer_pool_reads"), c.status("Innodb_buffer_pool_read_requests")
	if read < leastMisses || read < missShare*asked {
		return
	}
	c.add(record.Finding{ID: FindCache, Severity: record.Serious, Subject: "innodb_buffer_pool_size",
		Evidence: message.New("find.mysql.cache", message.Part("share", read, asked),
			message.Rate("rate", read/c.seconds()), message.Text("pool", c.bytes("innodb_buffer_pool_size"))),
		Advice: message.New("find.mysql.cache.advice")})
}

// commitFlush finds commits that wait for the disk.
func commitFlush(c *caseFile) {
	seen := &c.inspector.seen
	writes := c.status("Com_insert") + c.status("Com_update") + c.status("Com_delete") + c.status("Com_replace")
	commits := writes
	if n := c.status("Com_commit"); n > 0 && c.status("Com_begin") >= 0.1*writes {
		commits = n
	}
	if seen.writes < leastWrites || float64(seen.committing) < commitShare*float64(seen.writes) || commits == 0 {
		return
	}
	share := float64(seen.committing) / float64(max(seen.running, 1))
	sessions := 0.0
	for _, w := range c.inspection.Activity.Waits {
		if w.Class == classCommit {
			sessions += w.Mean
		}
	}
	mean := time.Duration(sessions * c.seconds() / commits * 1e9)
	if mean < leastFlush {
		return
	}
	c.add(record.Finding{ID: FindCommitFlush, Severity: inspect.Grave(share), Subject: "COMMIT", Share: share,
		Blames: record.TimeDisk,
		Evidence: message.New("find.mysql.commit", message.Part("share", seen.committing, seen.writes),
			message.Ns("mean", mean), message.Text("flush", c.settings["innodb_flush_log_at_trx_commit"]),
			message.Text("binlog", cmp.Or(c.settings["sync_binlog"], "0"))),
		Advice: message.New("find.mysql.commit.advice")})
}

// connections finds clients that the server refused, or will soon.
func connections(c *caseFile) {
	limit := atoi(c.settings["max_connections"])
	refused, most := c.status("Connection_errors_max_connections"), 0.0
	for _, p := range c.inspection.Activity.Clients {
		most += float64(p.Max)
	}
	if limit > 0 { // sessions that are about to be refused are seen too
		most = min(most, limit)
	}
	if refused < 1 && (limit == 0 || most < usedShare*limit) {
		return
	}
	severity := record.Serious
	if refused >= 1 {
		severity = record.Critical
	}
	c.add(record.Finding{ID: FindConnections, Severity: severity, Subject: "max_connections",
		Evidence: message.New("find.mysql.connections", message.Count("refused", uint64(refused)),
			message.Count("n", uint64(most)), message.Count("limit", uint64(limit))),
		Advice: message.New("find.mysql.connections.advice")})
}

// cpuBound finds more sessions that compute than there are cores.
func cpuBound(c *caseFile) {
	a := &c.inspection.Activity
	running := 0.0
	for _, w := range a.Waits {
		if w.Class == classCPU {
			running += w.Mean
		}
	}
	if c.cores == 0 || a.Samples < leastSamples || running <= perCore*float64(c.cores) {
		return
	}
	c.add(record.Finding{ID: FindCPU, Severity: record.Serious, Subject: "CPU",
		Evidence: message.New("find.mysql.cpu", message.Number("n", running), message.Count("cores", c.cores)),
		Advice:   message.New("find.mysql.cpu.advice")})
}

// unusedIndexes finds indexes that are written but not read.
func unusedIndexes(c *caseFile) {
	for _, o := range c.load.Counters {
		if o.Kind != kindIndex || o.Values[everRead] > 0 || !c.inspector.droppable[o.Name] {
			continue
		}
		table := o.Name[:strings.LastIndexByte(o.Name, '.')]
		v := inspect.Figures(c.load, kindTable, table)
		written := v["inserted"] + v["updated"] + v["deleted"]
		if written < fewRows {
			continue
		}
		c.add(record.Finding{ID: FindUnusedIndex, Severity: record.Minor, Subject: o.Name,
			Evidence: message.New("find.mysql.unused", message.Text("table", table),
				message.Count("rows", uint64(written))),
			Advice: message.New("find.mysql.unused.advice", message.Text("index", quoteName(o.Name[len(table)+1:])),
				message.Text("table", quotePath(table)),
				message.Text("hide", c.hide()))})
	}
}

// hide returns the words by which the product hides an index from the optimizer.
func (c *caseFile) hide() string {
	if c.inspector.product == "MariaDB" {
		return "IGNORED"
	}
	return "INVISIBLE"
}

// quotePath quotes a table's name that begins with its database.
func quotePath(table string) string {
	database, name, _ := strings.Cut(table, ".")
	return quoteName(database) + "." + quoteName(name)
}

// has returns the name of a setting if the server has it, and "" if not.
func (c *caseFile) has(name string) string {
	if c.settings[name] == "" {
		return ""
	}
	return name
}

// bytes returns a setting with its size.
func (c *caseFile) bytes(name string) string { return name + "=" + cmp.Or(c.settings[name], "?") }
