package tpcb

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/tpc"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/record"
	"brunt/internal/server/schema/fill"
	"brunt/test/databases"
	"brunt/test/testserver"
)

var servers testserver.Pool

func init() { script.Register(Language{Now: time.Now}) }

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// system returns a plan for a server of a protocol.
func system(t *testing.T, name string) *plan.Plan {
	t.Helper()
	return databases.Plan(t, &servers, name, "tpcb")
}

func open(t *testing.T, p *plan.Plan) *tpc.Database {
	t.Helper()
	d, err := tpc.Open(context.Background(), p, notesTable)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Drop(context.Background(), schema()); err != nil {
			t.Error(err)
		}
		d.Close()
	})
	return d
}

func execute(p *plan.Plan, args ...string) (out, errs string, err error) {
	var o, e bytes.Buffer
	cmd := newTPCB(&command.Env{Out: &o, Err: &e, Reports: Tool().Reports})
	for name, value := range map[string]string{"--proto": p.Target.Protocol, "--user": p.Target.User,
		"--password": p.Target.Password, "--database": p.Target.Database} {
		if value != "" {
			args = append(args, name, value)
		}
	}
	for name, value := range p.Target.Options {
		args = append(args, "-o", name+"="+value)
	}
	cmd.SetArgs(append(args, "-a", p.Target.Addresses[0]))
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.Execute()
	return o.String(), e.String(), err
}

// After a load, all conditions hold, and the database holds what the record counts. Changes break each condition.
func TestEffects(t *testing.T) {
	testserver.SkipQuick(t)
	for _, name := range databases.Protocols {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			p := system(t, name)
			d := open(t, p)
			if _, err := Load(ctx, d, Loading{Branches: 3, Shrink: 1000, Seed: 3, Sessions: 4}); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "bundle")
			out, errs, err := execute(p, "run", "--rate", "300", "--duration", "1s", "--sessions", "4", "--bundle", dir,
				"--quiet", "--late", "queue")
			if name == "iproto" && !strings.Contains(errs, "lacks atomicity") {
				t.Errorf("what Tarantool lacks isn't said: %s", errs)
			}
			if !strings.Contains(out, "5 of 5 conditions hold") || exitcode.Of(err) == exitcode.BadPlan {
				t.Fatalf("%v\n%s\n%s", err, out, errs)
			}
			data, err := os.ReadFile(filepath.Join(dir, "run.json"))
			if err != nil {
				t.Fatal(err)
			}
			run := &record.Run{}
			if err := json.Unmarshal(data, run); err != nil {
				t.Fatal(err)
			}
			o := find(run)
			for query, want := range map[string]uint64{
				"SELECT COUNT(*) FROM tpcb_history": o.Counts.OK,
				"SELECT COUNT(*) FROM tpcb_history INNER JOIN tpcb_accounts ON tpcb_accounts.aid = tpcb_history.aid " +
					"WHERE tpcb_accounts.bid <> tpcb_history.bid": o.Script[0],
				"SELECT COUNT(*) FROM tpcb_history INNER JOIN tpcb_tellers ON tpcb_tellers.tid = tpcb_history.tid WHERE " +
					"tpcb_tellers.bid <> tpcb_history.bid": 0,
			} {
				if n, err := d.Number(ctx, query); err != nil || uint64(n) != want || o.Counts.OK == 0 {
					t.Errorf("%s: %d, %v, want %d", query, n, err, want)
				}
			}
			violations(ctx, t, d)
		})
	}
}

func violations(ctx context.Context, t *testing.T, d *tpc.Database) {
	t.Helper()
	for _, c := range []struct{ do, undo, breaks string }{
		{"UPDATE tpcb_branches SET bbalance = bbalance + 1 WHERE bid = 2", "UPDATE tpcb_branches SET bbalance = bbalance - 1 " +
			"WHERE bid = 2", "tellers, history, totals"},
		{"UPDATE tpcb_tellers SET tbalance = tbalance + 1 WHERE tid = 2", "UPDATE tpcb_tellers SET tbalance = tbalance - 1 " +
			"WHERE tid = 2", "tellers, teller history"},
		{"UPDATE tpcb_accounts SET abalance = abalance + 1 WHERE aid = 2", "UPDATE tpcb_accounts SET abalance = abalance - 1 " +
			"WHERE aid = 2", "account history, totals"},
	} {
		if err := d.Exec(ctx, c.do); err != nil {
			t.Fatal(err)
		}
		var broken []string
		for _, o := range d.Check(ctx, Conditions(), false, nil) {
			if o.Broken() {
				broken = append(broken, o.Name)
			}
		}
		if got := strings.Join(broken, ", "); got != c.breaks {
			t.Errorf("%s: broken are %q, want %q", c.do, got, c.breaks)
		}
		if err := d.Exec(ctx, c.undo); err != nil {
			t.Fatal(err)
		}
	}
}

// A load that was killed goes on; a changed database is refused.
func TestKilledLoadsGoOn(t *testing.T) {
	testserver.SkipQuick(t)
	d := open(t, system(t, "sqlite"))
	ctx, kill := context.WithCancel(context.Background())
	l := Loading{Branches: 2, Shrink: 100, Seed: 3, Sessions: 2, Progress: func(fill.Progress) { kill() }}
	if _, err := Load(ctx, d, l); err == nil {
		t.Fatal("the load wasn't killed")
	}
	l.Progress = nil
	if _, err := Read(context.Background(), d); err == nil || !strings.Contains(err.Error(), "didn't end") {
		t.Errorf("a half load: %v", err)
	}
	if _, err := Load(context.Background(), d, l); err != nil {
		t.Fatal(err)
	}
	data, err := Read(context.Background(), d)
	if err != nil || data.Branches != 2 || data.Accounts != 1000 {
		t.Errorf("%+v, %v", data, err)
	}
	if err := d.Exec(context.Background(), "DELETE FROM tpcb_tellers WHERE tid = 5"); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(context.Background(), d); exitcode.Of(err) != exitcode.BadPlan {
		t.Errorf("a missing teller: %v", err)
	}
}

// Accounts are of the teller's branch in 85 of 100 cases, and otherwise of each other branch equally often.
func TestAccountsOfOtherBranches(t *testing.T) {
	compiled, err := Language{Now: time.Now}.Compile(&script.Source{Seed: 9, Options: map[string]string{
		optionSystem: "postgresql", optionBranches: "5", optionAccounts: "100"},
		Operations: []script.Operation{{Name: "a", Text: transaction}}})
	if err != nil {
		t.Fatal(err)
	}
	p := compiled.(*program)
	s := p.Session(0).(*session)
	const n = 100_000
	other := map[int64]int{}
	away := 0
	for i := range uint64(n) {
		r := p.draws.At(i)
		s.enter(&r)
		at := (s.account-1)/p.accounts + 1
		if (at != s.branch) != (s.counts[0] == 1) || s.account < 1 || s.account > 500 || max(s.delta, -s.delta) > maxDelta {
			t.Fatalf("teller %d of branch %d, account %d, %d", s.teller, s.branch, s.account, s.delta)
		}
		if at != s.branch {
			away++
			other[(at-s.branch+5)%5]++
		}
	}
	if d := math.Abs(float64(away) - 0.15*n); d > 5*math.Sqrt(n*0.15*0.85) {
		t.Errorf("%d of %d accounts are of other branches", away, n)
	}
	for k, m := range other {
		if d := math.Abs(float64(m) - float64(away)/4); d > 5*math.Sqrt(float64(away)/4) {
			t.Errorf("branch +%d has %d of %d", k, m, away)
		}
	}
}
