package campaign

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/internal/run/advise"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
	"brunt/internal/run/runner"
	"brunt/internal/server/fault"
	"brunt/internal/server/schema"
	"brunt/internal/server/target"
)

// The test binary also runs campaigns, so that they can be killed. These environment variables name the campaign.
const (
	childFile = "CAMPAIGN_TEST_FILE"
	childDir  = "CAMPAIGN_TEST_DIR"
	// After it has started another process, the process writes that process's id into this file and is killed.
	childProcess = "CAMPAIGN_TEST_PROCESS"
)

// password is the environment variable with the password of the plans' servers.
const password = "CAMPAIGN_TEST_PASSWORD"

// watchdog is the argument by which the test binary becomes the watchdog of a campaign.
const watchdog = "heal"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == watchdog {
		if err := fault.Watch(os.Stdin, os.Stdout, advise.Restore); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(os.Getenv(childFile), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child begins or resumes a campaign.
func child(file, dir string) error {
	var c *Campaign
	if _, err := os.Stat(filepath.Join(dir, program.JournalName)); err == nil {
		if c, err = Resume(dir, readPlan, options(dir)); err != nil {
			return err
		}
		c.least = 300 * time.Millisecond
	} else {
		p, err := parse(file)
		if err != nil {
			return err
		}
		if c, err = Begin(p, options(dir)); err != nil {
			return err
		}
	}
	if path := os.Getenv(childProcess); path != "" {
		c.service.started = func(pid int) error {
			if err := os.WriteFile(path, fmt.Append(nil, pid), 0o644); err != nil {
				return err
			}
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			return err
		}
	}
	return errors.Join(c.Run(context.Background()), c.Close())
}

func parse(file string) (*Program, error) {
	text, err := ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := Parse(file, text, 0.001, readPlan)
	if err == nil {
		p.least, p.Anyway = 300*time.Millisecond, true // other tests use the same machine
	}
	return p, err
}

func readPlan(path string) (*plan.Plan, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := planfile.Read(path, data)
	if err == nil {
		p.Target.Password = os.Getenv(password)
	}
	return p, err
}

func options(dir string) Options {
	return Options{Dir: dir, Version: "test", Language: units.English, Read: readPlan, Say: func(string, ...any) {},
		Drive: execute,
		Guard: func() (advise.Guard, error) {
			return fault.NewGuard([]string{os.Args[0], watchdog}, func(record.Warning) {})
		},
		Schema: func(ctx context.Context, p *plan.Plan) error {
			_, _, err := schema.Up(ctx, p, schema.FillOptions{Version: "test"})
			return err
		}}
}

// execute sends real loads.
func execute(ctx context.Context, r Run) (*program.Outcome, error) {
	one, err := runner.Open(ctx, r.Plan,
		runner.Options{NoSetup: true, Recording: runner.Recording{Dir: r.Dir, Extra: r.Extra}, PeakPerS: r.PeakPerS})
	if err != nil {
		return nil, err
	}
	defer one.Close()
	if err = one.SetUp(ctx); err == nil {
		if err = one.Drive(ctx, nil, r.Next); err == nil {
			err = one.Finish()
		}
	}
	if err != nil {
		return nil, err
	}
	return program.ReadOutcome(record.OS{}, one.Dir)
}

// serve starts an HTTP server on loopback that answers at once.
func serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// files writes the file of a campaign and its plan.
func files(t *testing.T, text, addr string) (file string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("plan.yml", fmt.Sprintf(`config_name: pages
target: {protocol: http, addresses: [%q]}
queries:
  - {name: page, http: {path: /}, rate: 80}
  - {name: other, http: {path: /other}, rate: 20}
thresholds: ["errors < 1%%"]
`, addr))
	return write("campaign.yml", text)
}

func TestFailuresAreOneLine(t *testing.T) {
	addr := serve(t)
	for _, c := range []struct{ name, text, want string }{
		{"command", "plan: plan.yml\nsteps:\n  - prepare: {commands: [\"echo bad thing >&2; exit 3\"]}\n",
			`campaign.yml:3:26: command "echo bad thing >&2; exit 3" failed: exit status 3: bad thing; see `},
		{
			"service that ends",
			"plan: plan.yml\nservice: {run: \"echo no port >&2; exit 1\", ready: [{exec: \"false\"}], within: 5s}\nsteps:\n  - search: {}\n", "the service ended by itself: exit status 1: no port; see "},
		{"service that isn't ready",
			"plan: plan.yml\nservice: {run: sleep 100, ready: [{url: \"http://127.0.0.1:1/\"}], within: 300ms}\nsteps:\n  - search: {}\n", "the service isn't ready after 300 ms: Get "},
		{"no database", "plan: plan.yml\ninspect: pg=postgres://127.0.0.1:1/x\nsteps:\n  - fix: {sql: [plan.yml]}\n",
			"inspect: pg 127.0.0.1:1/x: "},
		{"nothing sustained", "plan: broken.yml\nsteps:\n  - search: {min: 1, max: 2, trials: 3}\n  - confirm: {}\n",
			"the search found none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := files(t, c.text, addr)
			text := "config_name: broken\ntarget: {protocol: http, addresses: [\"" + addr +
				"\"]}\nqueries: [{name: page, http: {path: /}, rate: 50}]\nthresholds: [\"p(50) < 1ns\"]\n"
			if err := os.WriteFile(filepath.Join(filepath.Dir(file), "broken.yml"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			p, err := parse(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			run, err := Begin(p, options(dir))
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			err = run.Run(context.Background())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %q, want one line with %q", err, c.want)
			}
			want := "failed"
			if c.name == "no database" { // the database is needed before the first step
				want = ""
			}
			if state := run.journal.State(p.Steps[len(p.Steps)-1].ID()); state != want {
				t.Errorf("the step is %q in the journal", state)
			}
		})
	}
}

func TestTwoCampaignsInOneFolder(t *testing.T) {
	file := files(t, "plan: plan.yml\nsteps: [{prepare: {}}]\n", serve(t))
	p, err := parse(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c, err := Begin(p, options(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Begin(p, options(dir)); err == nil || !strings.Contains(err.Error(), "a program is running in") {
		t.Errorf("a second campaign beside the first: %v", err)
	}
	if _, err := Resume(dir, readPlan, options(dir)); err == nil ||
		!strings.Contains(err.Error(), "a program is running in") {
		t.Errorf("resumed while it runs: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Begin(p, options(dir)); err == nil || !strings.Contains(err.Error(), "holds a campaign already") {
		t.Errorf("a second campaign after the first: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, FileName),
		[]byte("plan: plan.yml\nsteps: [{prepare: {}}, {prepare: {}}]\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(dir, readPlan, options(dir)); err == nil ||
		!strings.Contains(err.Error(), "isn't the file that the campaign began with") {
		t.Errorf("resumed with another file: %v", err)
	}
	if _, err := Resume(t.TempDir(), readPlan, options(dir)); err == nil ||
		!strings.Contains(err.Error(), "holds no campaign") {
		t.Errorf("resumed nothing: %v", err)
	}
}

func TestDiskTooSmall(t *testing.T) {
	file := files(t, "plan: plan.yml\nsteps: [{search: {}}, {reliability: {}}]\n", serve(t))
	p, err := parse(file)
	if err != nil {
		t.Fatal(err)
	}
	o := options(t.TempDir())
	o.Free = func(string) (uint64, bool) { return 100 << 10, true }
	c, err := Begin(p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "are free") {
		t.Errorf("got %v", err)
	}
	if n := len(c.journal.Entries()); n != 1 {
		t.Errorf("%d lines in the journal: something was begun", n)
	}
}

func TestUselessCampaigns(t *testing.T) {
	addr := serve(t)
	const changed = "service: {reconfigure: x}\n"
	for name, c := range map[string]struct{ text, want string }{
		"no plan":      {"steps: [{search: {}}]\n", "step search names no plan; add plan: FILE"},
		"missing plan": {"plan: none.yml\nsteps: [{search: {}}]\n", "none.yml"},
		"no rates":     {"plan: closed.yml\nsteps: [{search: {}}]\n", "has no rates"},
		"bounds": {"plan: plan.yml\nsteps: [{search: {start: 5, max: 2}}]\n",
			"the search starts at N 5; start between its bounds 0.1 and 2"},
		"no search":         {"plan: plan.yml\nsteps: [{confirm: {}}]\n", "no search comes before it"},
		"nothing to repeat": {"plan: plan.yml\nsteps: [{repeat: [search]}]\n", "no search comes before it"},
		"empty fix":         {"plan: plan.yml\nsteps: [{fix: {}}]\n", "says nothing to do"},
		"no database":       {"plan: plan.yml\nsteps: [{fix: {advisor: true}}]\n", "add inspect: pg=DSN"},
		"no analysis": {"plan: plan.yml\ninspect: pg=x\nsteps: [{fix: {advisor: true}}]\n",
			"needs an analysis to go by"},
		"two kinds": {"plan: plan.yml\nsteps: [{search: {}, fix: {}}]\n", "both search and fix"},
		"no settings": {"plan: plan.yml\nservice: {reconfigure: x}\nsteps: [{matrix: {at: 1}}]\n",
			"needs either a grid or cells"},
		"no service":   {"plan: plan.yml\nsteps: [{matrix: {at: 1, grid: {A: [1]}}}]\n", "doesn't say how"},
		"typing error": {"plan: plan.yml\nsteps: [{serch: {}}]\n", "did you mean search?"},
		"empty":        {"", "write at least plan and steps"},
		"no such database": {"plan: plan.yml\ninspect: oracle=x\nsteps: [{analyse: {at: 1}}]\n",
			"there is no kind of server"},
		"missing SQL": {"plan: plan.yml\ninspect: pg=postgres://127.0.0.1/x\nsteps: [{prepare: {sql: [none.sql]}}]\n",
			"none.sql"},
		"analysis of nothing": {"plan: plan.yml\nsteps: [{analyse: {at: 1}}]\n", "add inspect: pg=DSN"},
		"at the maximum of nothing": {"plan: plan.yml\nsteps: [{reliability: {at: maximum}}]\n",
			"no search comes before it"},
		"no such figure": {"plan: plan.yml\n" + changed +
			"steps: [{matrix: {at: 1, grid: {A: [1, 2]}, by: response.q95}}]\n",
			`"response.q95" is no figure to compare settings by`},
		"no such figure, at the end": {"plan: plan.yml\n" + changed +
			"steps: [{search: {}}, {matrix: {grid: {A: [1, 2]}, by: q95}}]\n", `"q95" is no figure`},
		"tolerance": {"plan: plan.yml\n" + changed + "steps: [{matrix: {at: 1, grid: {A: [1, 2]}, tolerance: 5}}]\n",
			"tolerance 5: give a share below 1"},
		"one cell": {"plan: plan.yml\n" + changed + "steps: [{matrix: {at: 1, grid: {A: [1]}}}]\n",
			"one cell compares nothing"},
		"a cell twice": {"plan: plan.yml\n" + changed + "steps: [{matrix: {at: 1, grid: {A: [1, 2, 1]}}}]\n",
			"cell A=1 is there twice"},
		"watch": {"plan: plan.yml\nwatch: ['proc:5']\nsteps: [{search: {}}]\n", `"proc" can't be watched; use host`},
		"profile": {"plan: plan.yml\nwatch: [server, 'host:off', 'profile:server', 'profile:http://127.0.0.1:1', " +
			"'profile:pid:x']\nsteps: [{search: {}}]\n", "watch: profile:pid:x: write profile:http://HOST:PORT"},
		"protocol": {"plan: other.yml\nsteps: [{search: {}}]\n", "httq"},
		"address": {"plan: plan.yml\naddresses: ['http://host:port/']\nsteps: [{search: {}}]\n",
			"http://host:port/"},
		"bad probe": {"plan: plan.yml\nservice: {ready: [{url: x, exec: y}]}\nsteps: [{search: {}}]\n",
			"a probe has 2 of them"},
	} {
		t.Run(name, func(t *testing.T) {
			file := files(t, c.text, addr)
			text := "config_name: closed\ntarget: {protocol: http, addresses: [x]}\nqueries: [{name: a, http: {path: /}, count: 5}]\n"
			if err := os.WriteFile(filepath.Join(filepath.Dir(file), "closed.yml"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			other := "config_name: other\ntarget: {protocol: httq, addresses: [x]}\nqueries: [{name: a, http: {path: /}, rate: 5}]\n"
			if err := os.WriteFile(filepath.Join(filepath.Dir(file), "other.yml"), []byte(other), 0o644); err != nil {
				t.Fatal(err)
			}
			p, err := parse(file)
			if err == nil {
				err = p.Check(target.Check)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A repeated step runs the commands of its repeat and its own commands.
func TestRepeatedCommands(t *testing.T) {
	text := "plan: plan.yml\nsteps:\n  - search: {}\n    before: [s]\n    after: [s]\n  - confirm: {}\n    before: [c]\n  - repeat: [search, confirm]\n    before: [x, y, z]\n    after: [e]\n"
	p, err := parse(files(t, text, "127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, s := range p.Steps[2:] {
		for _, list := range [][]campaignfile.Command{s.Before, s.After} {
			for _, c := range list {
				got += c.String()
			}
			got += "|"
		}
	}
	if got != "xyzs|se|xyzc|e|" {
		t.Errorf("%q", got)
	}
}

// A repeated analysis uses the load of the first one, even if the maximum has changed. An analysis with a load of its
// own uses that, and one after the repeat uses the new maximum.
func TestRepeatedAnalysisIsMadeAtEqualLoad(t *testing.T) {
	text := "plan: plan.yml\ninspect: pg=x\nsteps:\n  - search: {}\n  - analyse: {at: 2}\n  - analyse: {}\n  - repeat: [search, confirm, analyse]\n  - analyse: {at: maximum}\n  - repeat: [analyse]\n"
	text = strings.Replace(text, "  - repeat", "  - confirm: {}\n  - repeat", 1)
	p, err := parse(files(t, text, "127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	c := &Campaign{Program: p}
	maximum := 3.0
	var got []float64
	for i := range p.Steps {
		s := &p.Steps[i]
		r := Result{Number: s.Number, Kind: s.Kind, Round: s.Round}
		if s.Kind == campaignfile.StepSearch {
			r.Search = &program.SearchLog{Bracket: program.Bracket{Lower: maximum}}
			maximum *= 10
		} else {
			n, sessions, err := c.load(s)
			if err != nil {
				t.Fatal(err)
			}
			r.Trial = &program.Result{Trial: program.Trial{N: n, Sessions: sessions}}
			got = append(got, n)
		}
		c.results = append(c.results, r)
	}
	if want := []float64{2, 3, 3, 30, 3, 30, 30}; !slices.Equal(got, want) {
		t.Errorf("loads %v, want %v", got, want)
	}
	if said := p.does(units.English, &p.Steps[6]); said != "look into the database at the load of step 3" {
		t.Errorf("the timetable says %q", said)
	}
}

// The results of a campaign fit into 80 columns without losing text, in both languages.
func TestSummaryAtEightyColumns(t *testing.T) {
	p, err := parse(files(t, "plan: plan.yml\nsteps: [{search: {}}]\n", "127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	cells := []program.CellLog{{Settings: program.Cell{{Name: "THREADS", Value: "160"}, {Name: "POOL", Value: "96"}},
		Mean: 21e6}, {Settings: program.Cell{{Name: "THREADS", Value: "20"}, {Name: "POOL", Value: "12"}}, Mean: 17e6}}
	c := &Campaign{Program: p, journal: &program.Journal{}, results: []Result{
		{Number: 1, Kind: campaignfile.StepSearch, Search: &program.SearchLog{Options: program.SearchOptions{RatePerS: 34},
			Bracket: program.Bracket{End: program.OutOfTrials, Lower: 13.09, Upper: 13.28, UpperPerS: 452}}},
		{Number: 2, Kind: campaignfile.StepConfirm, Trial: &program.Result{Trial: program.Trial{N: 0.36}, Verdict: "fail",
			Why: []message.Message{message.New("verdict.broken", message.Text("threshold", "response.p(95) < 300ms"),
				message.Ns("value", 423e6))}}},
		{Number: 3, Kind: campaignfile.StepMatrix,
			Matrix: &program.MatrixLog{Options: program.MatrixOptions{N: 13, By: "response.p(95)", Tolerance: .05},
				Cells: cells,
				Best:  0, Advised: 1}},
	}}
	for l, wants := range map[units.Language][]string{
		units.English: {"and doesn't sustain N = 13.28 (452/s): out of trials.", "does not hold: it is 423 ms.",
			"THREADS=160, POOL=96", "advised: the smallest within 5.00 % of the best"},
		units.Russian: {"испытания исчерпаны.", "вышло 423 мс.", "THREADS=160, POOL=96",
			"советуем: наименьшая в пределах 5,00 % от лучшей"},
	} {
		var text strings.Builder
		if err := cell.WriteText(&text, cell.Look{Columns: 80, Language: l}, c.Tables(l)...); err != nil {
			t.Fatal(err)
		}
		said := strings.ReplaceAll(text.String(), "\u00a0", " ")
		for _, line := range strings.Split(text.String(), "\n") {
			if cell.Width(line) > 80 || strings.Contains(line, "…") || strings.Contains(line, "tables") {
				t.Errorf("%q", line)
			}
		}
		// Text in columns is wrapped word by word, so look for its words.
		for _, want := range wants {
			for _, word := range strings.Fields(want) {
				if !strings.Contains(said, word) {
					t.Errorf("%q is missing of %q:\n%s", word, want, text.String())
				}
			}
		}
	}
}

// A step of a kind that this version lacks is an error that names it.
func TestStepsOfAnUnknownKind(t *testing.T) {
	j, err := program.OpenJournal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c := &Campaign{Program: &Program{Campaign: &campaignfile.Campaign{}}, journal: j}
	err = c.perform(t.Context(), &Step{Number: 2, Step: campaignfile.Step{Kind: "dance"}}, &Result{})
	if err == nil || !strings.Contains(err.Error(), `no steps of the kind "dance"`) {
		t.Errorf("%v", err)
	}
}
