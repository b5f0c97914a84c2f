package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/page"
	"brunt/internal/render/units"
)

// inspectedRun returns a run with an inspected database that has rows in every table.
func inspectedRun() *record.Run {
	run := passes()
	name := run.Operations[0].Name
	statements := []record.Statement{
		{ID: "1", Text: "select *\n  from book where author = $1", Operations: []string{name}, Match: record.MatchText,
			Calls: 12000, Rows: 12000, TotalNs: 12000 * 41e6, MeanNs: 41e6, StddevNs: 3e6, Share: .97,
			More: map[string]float64{"shared_blks_hit": 12000 * 12345}},
		{ID: "2", Text: "select count(*) from book", Operations: []string{"page", "list"}, Match: record.MatchCount,
			Calls: 20, Rows: 20, TotalNs: 20 * 75e6, MeanNs: 75e6, Share: .02},
		{ID: "3", Text: "COMMIT", Calls: 20, MeanNs: 1500, Share: .01},
	}
	run.Inspections = []record.Inspection{{
		Source: "pg 127.0.0.1:5432/shop", Product: "PostgreSQL", Version: "15.4", File: "observe/inspect-1.json",
		Windows: []record.ServerWindow{
			{DurationNs: 12e9, Statements: statements, Omitted: 4, Counters: []record.Counters{
				{Kind: "database", Name: "shop", Values: map[string]float64{"blks_hit": 990, "blks_read": 10, "xact_commit": 5000,
					"xact_rollback": 3, "temp_bytes": 1 << 20}},
				{Kind: "table", Name: "public.book", Values: map[string]float64{"seq_scan": 12020, "seq_tup_read": 12e9,
					"n_tup_upd": 40, "n_tup_hot_upd": 30, "n_live_tup": 1e6}},
				{Kind: "index", Name: "public.book_pkey", Values: map[string]float64{"idx_blks_hit": 4, "relpages": 2745}},
				{Kind: "wal", Name: "wal", Values: map[string]float64{"wal_bytes": 5 << 20}},
			}},
			{Phase: "low", Statements: statements[:1]},
			{Phase: "high", Statements: []record.Statement{{ID: "1", MeanNs: 80e6}, {ID: "2", MeanNs: 90e6}}},
		},
		Activity: record.ServerActivity{Samples: 60, Waits: []record.Wait{{Class: "CPU", Mean: 2.7, Share: .9},
			{Class: "Lock", Event: "transactionid", Mean: .3, Share: .1}},
			Clients: []record.ClientPool{{Application: "book", Address: "127.0.0.1", Mean: 3, Max: 3, ActiveMean: 2.9,
				AllActive: .95}},
			Blocked: []record.Blocking{{Waiting: "update a", Holder: "update b", HolderState: "idle in transaction",
				Relation: "a", Lock: "transactionid ShareLock", Mean: .3, LongestNs: 2e9}},
			Replicas: []record.ReplicaLag{{Name: "r1", State: "streaming", BytesMax: 1 << 16, LagNsMax: 15e8}}},
		Settings: []record.Setting{{Name: "shared_buffers", Value: "16MB"}},
		Plans: []record.QueryPlan{
			{Statement: "1", Text: statements[0].Text, Arguments: []string{"'Пахомий'"}, Source: record.ArgumentsTable,
				Analyzed: true, Nodes: []record.PlanNode{
					{Text: "Gather", Estimate: 1, Rows: 1, TotalNs: 112e6},
					{Depth: 1, Text: "Parallel Seq Scan on book", Detail: "Filter: (book.author = 'Пахомий'::text)", Estimate: 1,
						Rows: 1, Removed: 999999, TotalNs: 39e6, Note: message.New("find.seq-scan.note",
							message.Nested("share", message.New("find.percent", message.Figure("percent", 99.9999, "count"))))}}},
			{Statement: "3", Text: "fine", Nodes: []record.PlanNode{{Text: "Index Scan"}}},
		},
		Findings: []record.Finding{
			{ID: "seq-scan", Severity: record.Critical, Subject: "select * from book",
				Evidence: message.Sentences(message.New("find.seq-scan", message.Text("table", "book"),
					message.Count("rows", 1_000_000),
					message.Nested("share", message.New("find.percent", message.Figure("percent", 99.9999, "count"))),
					message.Text("filter", "(book.author = $1)")),
					message.New("find.weight", message.Share("share", 0.97), message.Ns("mean", 41e6))),
				Advice: message.New("find.seq-scan.advice", message.Text("table", "book"), message.Text("columns", "author"))},
			{ID: "stale-statistics", Severity: record.Minor, Subject: "book", Evidence: message.New("find.stale.never",
				message.Count("rows", 1_000_000)), Advice: message.Literal("ANALYZE book")},
		},
		Missing: []record.Warning{record.NewWarning("inspect-hidden", message.Text("user", "me"))},
		Cost:    record.InspectionCost{Queries: 130, Share: .004, AfterNs: 2e8},
	}}
	return run
}

// The chapter on the database is complete in both languages.
func TestDatabaseChapter(t *testing.T) {
	for _, l := range []units.Language{units.English, units.Russian} {
		tables := Tables(inspectedRun(), Options{Language: l})
		from := slices.IndexFunc(tables, func(t cell.Table) bool { return t.ID == "database" })
		to := slices.IndexFunc(tables, func(t cell.Table) bool { return t.ID == "plan-1" })
		if from < 0 || to < from || to-from != 10 {
			t.Fatalf("tables %d to %d", from, to)
		}
		var b bytes.Buffer
		if err := cell.WriteText(&b, cell.Look{Columns: 120, Language: l}, tables[from:to+1]...); err != nil {
			t.Fatal(err)
		}
		golden(t, "database-"+string(l)+".txt", b.Bytes())
	}
}

// The wait events of sessions are drawn over time.
func TestWaitsAreDrawn(t *testing.T) {
	run := inspectedRun()
	b := &builder{l: units.English}
	if got := b.waitCharts(&Result{Run: run}, nil); got != nil {
		t.Errorf("%d charts of no samples", len(got))
	}
	run.Inspections[0].Activity.Points = []record.ActivityPoint{{AtNs: 1e9, Samples: 5,
		Classes: map[string]float64{"CPU": 2}}, {AtNs: 2e9, Samples: 5, Classes: map[string]float64{"Lock": 1}}}
	got := b.waitCharts(&Result{Run: run}, nil)
	if len(got) != 1 {
		t.Fatalf("%d charts", len(got))
	}
	if svg := got[0].(page.Chart).SVG; !strings.Contains(svg, "Lock") || !strings.Contains(svg, "CPU") ||
		!strings.Contains(svg, "</svg>") {
		t.Error(svg)
	}
}

// Control characters in texts from a server don't reach the terminal.
func TestDatabaseChapterIsClean(t *testing.T) {
	run := inspectedRun()
	run.Inspections[0].Windows[0].Statements[0].Text = "select '\x1b[2J'"
	run.Inspections[0].Findings[0].Subject = "a\x1bb"
	run.Inspections[0].Activity.Clients[0].Application = "\x07"
	var b bytes.Buffer
	if err := Terminal(&b, run, Options{}); err != nil || strings.ContainsAny(b.String(), "\x1b\x07") {
		t.Errorf("%q, %v", b.String(), err)
	}
}
