package campaign

import (
	"fmt"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// goals is the first chapter: the goals of the campaign, and the load at 100 %.
func (d *document) goals() {
	p := part{id: "goals", title: d.say("Goals and load profile")}
	goals := d.program.Goals
	if len(goals) == 0 {
		for i := range d.program.Steps {
			if s := &d.program.Steps[i]; s.Kind != campaignfile.StepDocument {
				goals = append(goals, d.program.does(d.l, s))
			}
		}
	}
	list := cell.Table{ID: "goals-list", Title: d.say("GOALS"), Columns: []cell.Column{{}, {Left: true, Wrap: true}}}
	for i, g := range goals {
		list.Add(cell.Count(i+1), cell.Text(g))
	}
	p.tables = append(p.tables, list)
	if load := d.profile(); load != nil {
		p.tables = append(p.tables, d.profileTable(load, 1, "profile", d.say("LOAD PROFILE")))
	}
	d.add(p)
}

// profile returns the plan of the search, or of the first step that sends a load.
func (d *document) profile() (load *plan.Plan) {
	for i := range d.program.Steps {
		s := &d.program.Steps[i]
		if s.Load == nil || !s.sends() {
			continue
		}
		if load == nil || s.Kind == campaignfile.StepSearch {
			load = s.Load
		}
		if s.Kind == campaignfile.StepSearch {
			break
		}
	}
	return load
}

// profileTable returns the table of a profile times n, by operation.
func (d *document) profileTable(load *plan.Plan, n float64, id, title string) cell.Table {
	rate, err := program.ProfileRate(load)
	if err != nil {
		d.fail(err)
		return cell.Table{}
	}
	t := cell.Table{ID: id, Title: title, Columns: []cell.Column{{Head: "№"}, {Head: d.say("operation"), Left: true},
		{Head: d.say("rate")}, {Head: "%"}}}
	sum := 0.0
	weight := func(op *plan.Operation) float64 {
		if op.Weight == 0 {
			return float64(op.Count)
		}
		return op.Weight
	}
	for i := range load.Operations {
		sum += weight(&load.Operations[i])
	}
	for i := range load.Operations {
		op := &load.Operations[i]
		share := weight(op) / max(sum, 1e-300)
		t.Add(cell.Count(i+1), cell.Text(op.Name), cell.Rate(rate*n*share), cell.Figure(share, "share"))
	}
	t.Add(cell.Text(""), cell.Text(d.say("all")).Marked(cell.Strong), cell.Rate(rate*n).Marked(cell.Strong),
		cell.Figure(1, "share"))
	return t
}

func (d *document) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// outcome is the chapter of results: before the fixes and after.
func (d *document) outcome() {
	d.add(part{id: "results", title: d.say("Results"),
		tables: []cell.Table{summary(d.program, d.results, d.failures, d.l)}})
	searches := d.ofKind(campaignfile.StepSearch)
	for k, r := range searches {
		b := &r.Search.Bracket
		if b.Lower == 0 {
			continue
		}
		p := part{id: fmt.Sprintf("result-%d", k+1), section: true, title: d.round("Maximum", r, len(searches))}
		p.paragraphs = append(p.paragraphs, r.Sentence(d.l))
		if load := d.profile(); load != nil {
			p.tables = append(p.tables, d.profileTable(load, b.Lower, fmt.Sprintf("maximum-%d", k+1),
				d.say("MAXIMUM BY OPERATION")))
		}
		d.add(p)
	}
	if !d.gain(searches) {
		d.statements()
	}
}

// ofKind returns the results of the steps of a kind.
func (d *document) ofKind(kind string) (all []*Result) {
	for i := range d.results {
		if r := &d.results[i]; r.Kind == kind {
			all = append(all, r)
		}
	}
	return all
}

// round adds the round of a result to a title, if there are several rounds.
func (d *document) round(title string, r *Result, rounds int) string {
	title = d.say(title)
	switch {
	case rounds < 2:
		return title
	case r.Round == 0:
		return d.say("%s, before the fixes", title)
	}
	return d.say("%s, after the fixes", title)
}

// inspected returns the record of a result's run if its database was inspected, otherwise nil.
func (d *document) inspected(r *Result) *record.Run {
	if r.Trial == nil {
		return nil
	}
	b := d.open(r, r.Trial.Dir)
	if b == nil || !looked(b.Run) {
		return nil
	}
	return b.Run
}

// statements shows the statements of the last analysis.
func (d *document) statements() {
	var run *record.Run
	for _, r := range d.ofKind(campaignfile.StepAnalyse) {
		if seen := d.inspected(r); seen != nil {
			run = seen
		}
	}
	if run == nil {
		return
	}
	t := cell.Table{ID: "statements", Title: d.say("STATEMENTS"), Columns: []cell.Column{
		{Head: d.say("statement"), Left: true, Wrap: true}, {Head: d.say("calls")}, {Head: d.say("mean")},
	}}
	all := run.Inspections[0].Windows[0].Statements
	for i := range all[:min(len(all), mostStatements)] {
		t.Add(append([]cell.Cell{cell.Text(oneLine(all[i].Text))}, calls(&all[i])...)...)
	}
	d.add(part{id: "statements-list", section: true, title: d.say("Statements of the database"), tables: []cell.Table{t}})
}

func oneLine(s string) string { return strings.Join(strings.Fields(units.Clean(s)), " ") }

// tools is the chapter about the tools and their versions.
func (d *document) tools() {
	t := cell.Table{ID: "tools-list", Title: d.say("TOOLS"), Columns: []cell.Column{{Head: d.say("tool"), Left: true},
		{Head: d.say("version"), Left: true}, {Head: d.say("for"), Left: true, Wrap: true}}}
	t.Add(cell.Texts("brunt", d.header.Brunt, d.say("load, search, measurement, this document"))...)
	known := map[string]bool{}
	add := func(name, version, for_ string) {
		if name != "" && !known[name+version] {
			known[name+version] = true
			t.Add(cell.Texts(name, version, for_)...)
		}
	}
	for _, run := range d.runs() {
		for i := range run.Targets {
			target := &run.Targets[i]
			add(target.Product, target.Version, d.say("what was tested, over %s", target.Protocol))
		}
		for i := range run.Inspections {
			in := &run.Inspections[i]
			add(in.Product, in.Version, d.say("the database behind it"))
		}
	}
	d.add(part{id: "tools", title: d.say("Tools"), tables: []cell.Table{t}})
}

// runs returns the records of the steps with one run, and of the first trial of each search.
func (d *document) runs() (all []*record.Run) {
	for i := range d.results {
		r := &d.results[i]
		dir := ""
		switch {
		case r.Trial != nil:
			dir = r.Trial.Dir
		case r.Search != nil && len(r.Search.Trials) > 0:
			dir = r.Search.Trials[0].Dir
		default:
			continue
		}
		if run := d.open(r, dir); run != nil {
			all = append(all, run.Run)
		}
	}
	return all
}

func (d *document) open(r *Result, dir string) *record.Recorded {
	b, err := r.bundle(d.dir, dir)
	if err != nil {
		d.fail(err)
		return nil
	}
	return b
}

// stand is the chapter about the test environment.
func (d *document) stand() {
	runs := d.runs()
	if len(runs) == 0 {
		return
	}
	e := &runs[0].Environment
	t := cell.Table{ID: "stand-machine", Title: d.say("MACHINE"), Note: d.say("that generated the load"), Kind: cell.Tree}
	row := func(label, value string) {
		if value != "" {
			t.Add(cell.Texts(d.say(label), value, "")...)
		}
	}
	row("host", e.Hostname)
	row("CPU", e.CPU)
	row("cores", d.l.Figure(fmt.Sprint(e.Cores)))
	row("memory", d.l.Figure(units.Size(e.MemoryB)))
	row("system", strings.TrimSpace(e.OS+" "+e.Kernel+" "+e.Arch))
	disks(func(name, size string) { row("disk", strings.TrimSpace(name+" "+d.l.Figure(size))) })
	row("go", e.Go)
	p := part{id: "stand", title: d.say("Test stand"), tables: []cell.Table{t}}
	addresses := cell.Table{ID: "stand-targets", Title: d.say("TARGETS"),
		Columns: []cell.Column{{Head: d.say("address"), Left: true}, {Head: d.say("product"), Left: true},
			{Head: d.say("version"), Left: true}}}
	local := true
	for i := range runs[0].Targets {
		target := &runs[0].Targets[i]
		local = local && loopback(target.Address)
		addresses.Add(cell.Texts(target.Address, target.Product, target.Version)...)
	}
	if local {
		p.paragraphs = append(p.paragraphs,
			d.say("The service and the load generator ran on one machine, so they shared its cores."))
	}
	p.tables = append(p.tables, addresses)
	if len(d.program.Settings) > 0 {
		s := cell.Table{ID: "stand-settings", Title: d.say("SETTINGS OF THE SERVICE"), Kind: cell.Tree}
		for _, one := range d.program.Settings {
			s.Add(cell.Texts(one.Name, secret.Value(one.Name, one.Value), "")...)
		}
		p.tables = append(p.tables, s)
	}
	p.tables = append(p.tables, d.serverSettings(runs)...)
	d.add(p)
}

// serverSettings returns the settings of the database that differ from its defaults.
func (d *document) serverSettings(runs []*record.Run) []cell.Table {
	for _, run := range runs {
		for i := range run.Inspections {
			in := &run.Inspections[i]
			if len(in.Settings) == 0 {
				continue
			}
			t := cell.Table{ID: "stand-database", Title: d.say("SETTINGS OF THE DATABASE"),
				Note: d.say("that differ from the defaults"), Columns: []cell.Column{{Head: d.say("setting"), Left: true},
					{Head: d.say("value"), Left: true}, {Head: d.say("default"), Left: true}}}
			for _, s := range in.Settings {
				t.Add(cell.Texts(s.Name, d.l.Figure(units.Setting(s.Value)), d.l.Figure(units.Setting(s.Default)))...)
			}
			return []cell.Table{t}
		}
	}
	return nil
}
