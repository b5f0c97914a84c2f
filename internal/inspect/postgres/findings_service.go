package postgres

import (
	"cmp"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/inspect"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

const (
	heldShare     = 0.5  // of the waits for locks
	burstShare    = 0.5  // of the samples, at most
	hiddenPages   = 100  // read by a call
	plannedRows   = 100  // expected of a step
	outsideNs     = 10e6 // of an operation
	outsideShare  = 0.5
	leastMeasured = 10
	roundTripNs   = 0.3e6 // of a statement, with a service's own work for it; chosen
)

// heldAcrossCall finds locks that clients hold while they wait for something else: the sessions that others wait for
// are idle in a transaction. share is the fraction of the active sessions that wait.
func (c *caseFile) heldAcrossCall(share float64, where message.Message) bool {
	a := &c.inspection.Activity
	idle, all, longest := 0.0, 0.0, int64(0)
	var worst *record.Blocking
	for i := range a.Blocked {
		b := &a.Blocked[i]
		if strings.HasPrefix(b.Lock, "tuple ") {
			continue // it waits for its turn, behind one that waits for the holder
		}
		all += b.Mean
		if !strings.HasPrefix(b.HolderState, "idle in transaction") {
			continue
		}
		if idle, longest = idle+b.Mean, max(longest, b.LongestNs); worst == nil || b.Mean > worst.Mean {
			worst = b
		}
	}
	if worst == nil || idle < heldShare*all {
		return false
	}
	severity := record.Serious
	if share >= 0.5 {
		severity = record.Critical
	}
	c.add(record.Finding{ID: FindLockHeld, Severity: severity, Subject: inspect.Headline(worst.Waiting),
		Evidence: message.New("find.lock-held", message.Number("waiting", idle), message.Nested("where", where),
			message.Ns("longest", longest), message.Text("holder", inspect.Headline(worst.Holder))),
		Advice: message.New("find.lock-held.advice")})
	return true
}

// stampedes finds long statements that several sessions execute at once, from time to time: as when a cached value
// expires, and all requests that miss it compute it again. If a statement always runs several times, it is just slow.
func stampedes(c *caseFile) {
	a := &c.inspection.Activity
	for i := range a.AtOnce {
		s := &a.AtOnce[i]
		if a.Samples < leastSamples || s.Samples < 2 || s.Share > burstShare || s.Max < leastAtOnce {
			continue
		}
		c.add(record.Finding{ID: FindStampede, Severity: record.Serious, Subject: inspect.Headline(s.Text),
			Evidence: message.New("find.stampede", message.Count("n", s.Max), message.Share("share", s.Share),
				message.Ns("longest", s.LongestNs)),
			Advice: message.New("find.stampede.advice")})
	}
}

// hiddenScans finds statements that read far more pages than their own plans do: in their triggers, or in functions
// that they call.
func hiddenScans(c *caseFile) {
	for k := range c.plans {
		p := &c.plans[k]
		s := &p.statement
		if p.root == nil || s.Calls == 0 || !plain(p.root) {
			continue
		}
		pages := (s.More["shared_blks_hit"] + s.More["shared_blks_read"]) / s.Calls
		rows := s.Rows / s.Calls
		if pages < max(hiddenPages, hiddenPages*rows/10) {
			continue
		}
		for _, r := range c.routinesOf(p) {
			table, scans := c.scannedBy(&r)
			var read message.Message
			if table != "" {
				read = message.New("find.hidden.table", message.Text("table", shown(table)), count("scans", scans))
			}
			c.add(p.finding(FindHidden, p.grave(), message.Sentences(message.New("find.hidden", count("pages", pages),
				message.Text("routine", r.name)), read), message.New("find.hidden.advice", message.Text("routine", r.name))))
			break
		}
	}
}

// plain reports whether a plan finds few rows, by indexes only.
func plain(root *node) bool {
	few := true
	root.walk(func(n *node, _ int) {
		few = few && n.Type != "Seq Scan" && n.Type != "Sort" && n.Type != "Hash" && n.PlanRows <= plannedRows
	})
	return few
}

// routine is a function of a user's, and the table on which it is a trigger, if it is one.
type routine struct{ name, trigger, table, source string }

// routinesOf returns the functions that a statement calls, and those of the triggers of the tables that it writes to;
// those first that read a table in full.
func (c *caseFile) routinesOf(p *queryPlan) (out []routine) {
	written := map[string]bool{}
	p.root.walk(func(n *node, _ int) {
		if n.Type == "ModifyTable" {
			written[n.table()] = true
		}
	})
	for _, r := range c.catalog.routines {
		switch {
		case r.trigger != "" && written[r.table]:
			r.name = r.trigger + " (" + r.name + ")"
		case r.trigger == "" && sqltext.Mentions(p.Text, []string{r.name}):
		default:
			continue
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b routine) int {
		_, x := c.scannedBy(&a)
		_, y := c.scannedBy(&b)
		return cmp.Compare(y, x)
	})
	return out
}

// scannedBy returns the table that a function names and that was read in full most often during the load, and how
// often.
func (c *caseFile) scannedBy(r *routine) (table string, scans float64) {
	c.tables(func(name string, v map[string]float64) {
		if v["seq_scan"] <= scans || v["seq_tup_read"] < leastRows*v["seq_scan"] {
			return
		}
		if _, bare, ok := strings.Cut(name, "."); ok && sqltext.Mentions(r.source, []string{bare}) {
			table, scans = name, v["seq_scan"]
		}
	})
	return table, scans
}

// outside finds operations that wait for something other than the database. What all operations wait for, such as a
// connection of the pool, doesn't count.
func outside(c *caseFile) {
	type operation struct {
		*inspect.Operation
		databaseNs, outsideNs float64
	}
	var all []operation
	common := -1.0
	for i := range c.operations {
		o := &c.operations[i]
		if len(o.Statements) > 0 || o.Measured < leastMeasured || o.MeanNs == 0 {
			continue
		}
		one := operation{Operation: o, databaseNs: c.databaseNs(o)}
		one.outsideNs = max(o.MeanNs-one.databaseNs, 0)
		if all = append(all, one); common < 0 || one.outsideNs < common {
			common = one.outsideNs
		}
	}
	if len(all) == 1 {
		if common = 0; slices.ContainsFunc(c.inspection.Activity.Clients,
			func(p record.ClientPool) bool { return fullyUsed(&p) }) {
			return
		}
	}
	for _, o := range all {
		if slices.ContainsFunc(c.repeated, func(r repeated) bool { return r.operation == o.Name }) {
			continue // each of its statements has its own way to the database and back
		}
		if waits := o.outsideNs - common; waits >= max(outsideNs, outsideShare*o.MeanNs) {
			c.add(record.Finding{ID: FindOutside, Severity: record.Serious, Subject: o.Name, Effect: waits / o.MeanNs,
				Evidence: message.New("find.outside", message.Ns("mean", o.MeanNs), message.Ns("database", o.databaseNs),
					message.Ns("outside", o.outsideNs)),
				Advice: message.New("find.outside.advice")})
		}
	}
}

// databaseNs returns how much of an operation's time the database takes at most, ns: the time of the statements that
// are known to be its own, and of those of which nothing is known.
func (c *caseFile) databaseNs(o *inspect.Operation) float64 {
	total := 0.0
	for i := range c.load.Statements {
		s := &c.load.Statements[i]
		at := slices.IndexFunc(c.repeated, func(r repeated) bool { return r.ID == s.ID })
		switch {
		case slices.Contains(s.Operations, o.Name), at >= 0 && c.repeated[at].operation == o.Name:
			total += s.TotalNs
		case s.Operations == nil && (at < 0 || c.repeated[at].operation == ""):
			total += s.TotalNs
		}
	}
	return total / o.Measured
}

// effect returns which part of its operation's response time a statement takes that is executed each times for it; 0 if
// unknown. If the connections of a pool are all in use, each execution waits for one.
func (c *caseFile) effect(r *repeated) float64 {
	at := slices.IndexFunc(c.operations, func(o inspect.Operation) bool { return o.Name == r.operation })
	if at < 0 || c.operations[at].MeanNs == 0 {
		return 0
	}
	if slices.ContainsFunc(c.inspection.Activity.Clients, func(p record.ClientPool) bool {
		return !p.Generator && fullyUsed(&p)
	}) {
		return r.each / (r.each + 1)
	}
	return min(r.each*(r.MeanNs+roundTripNs)/c.operations[at].MeanNs, 1)
}
