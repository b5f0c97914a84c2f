package tpcc

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/dialect/tpc"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/internal/report"
	"brunt/internal/server/schema/fill"
)

//go:embed help/*.txt
var helpFiles embed.FS

func texts() command.Texts { return command.Texts{Files: helpFiles, Folder: "help"} }

var benchmark = tpc.Benchmark{Name: LanguageName, Notes: notesTable, More: map[protocol.Flavor][]string{
	protocol.FlavorPicodata:  {rollbackGap, numbersGap},
	protocol.FlavorTarantool: {rollbackGap, numbersGap, exactGap},
	protocol.FlavorSQLite:    {exactGap},
}}

// What systems don't guarantee of TPC-C.
const (
	rollbackGap = "rollback: a New-Order with an unused item leaves its order, its other lines and their stock behind"
	numbersGap  = "numbers: an order number can be given twice; the second insert then fails"
	exactGap    = "exact amounts: there is no decimal type; amounts are doubles"
)

// Tool declares TPC-C.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: "tpcc", Formats: []string{"tpcc"},
		Commands:  []dialect.Command{{Name: "tpcc", New: newTPCC}},
		Languages: []script.Language{Language{Now: time.Now}},
		Reports:   []report.Format{{Name: "tpcc", Write: writeReport}},
	}
}

func newTPCC(s *command.Env) *cobra.Command {
	return texts().Group("tpcc", newLoad(s), newRun(s), newCheck(s), newDrop(s))
}

func newLoad(s *command.Env) *cobra.Command {
	f := &tpc.TargetFlags{}
	l := Loading{Now: time.Now}
	var shrink int64
	var quiet bool
	cmd := texts().New("tpcc-load", cobra.NoArgs, func(*cobra.Command, []string) (err error) {
		if l.Sizes, err = Shrunk(shrink); err != nil {
			return exitcode.Usage(err)
		}
		if err := l.check(); err != nil {
			return err
		}
		p, err := f.Plan(s, "tpcc")
		if err != nil {
			return err
		}
		l.Seed = p.Seed
		return benchmark.LoadData(s, p, quiet, func(ctx context.Context, d *tpc.Database,
			progress func(fill.Progress)) ([]tpc.Result, error) {
			l.Progress = progress
			return Load(ctx, d, l)
		})
	})
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Int64Var(&l.Warehouses, "warehouses", 1, "warehouses of the whole database")
	fs.Int64Var(&l.From, "from", 0, "first warehouse that is loaded, if others are loaded by other commands")
	fs.Int64Var(&l.To, "to", 0, "last warehouse that is loaded")
	fs.IntVar(&l.Sessions, "sessions", 4, "sessions that load at the same time")
	fs.Int64Var(&shrink, "shrink", 1, "divide items, customers and orders by this number, for trials: not TPC-C")
	usage.InGroup(fs, usage.Data, "warehouses")
	fs.BoolVar(&quiet, "quiet", false, "no progress")
	usage.InGroup(fs, usage.Output)
	f.Bind(cmd)
	return cmd
}

func newCheck(s *command.Env) *cobra.Command {
	f := &tpc.TargetFlags{}
	var quiet bool
	cmd := texts().New("tpcc-check", cobra.NoArgs, func(*cobra.Command, []string) error {
		p, err := f.Plan(s, "tpcc")
		if err != nil {
			return err
		}
		return benchmark.CheckData(s, p, quiet, func(ctx context.Context, d *tpc.Database) ([]tpc.Condition, bool, error) {
			data, err := Read(ctx, d)
			if err != nil {
				return nil, false, err
			}
			return Conditions(data.Sizes), data.Fresh(), nil
		})
	})
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress")
	usage.InGroup(cmd.Flags(), usage.Output)
	f.Bind(cmd)
	return cmd
}

func newDrop(s *command.Env) *cobra.Command {
	f := &tpc.TargetFlags{}
	var force bool
	cmd := texts().New("tpcc-drop", cobra.NoArgs, func(*cobra.Command, []string) error {
		p, err := f.Plan(s, "tpcc")
		if err != nil {
			return err
		}
		return benchmark.DropData(s, p, schema(), force)
	})
	cmd.Flags().BoolVar(&force, "force", false, "drop tables too that brunt didn't load")
	usage.InGroup(cmd.Flags(), usage.Data)
	f.Bind(cmd)
	return cmd
}

// runFlags are the flags of brunt tpcc run.
type runFlags struct {
	tpc.TargetFlags
	command.LoadFlags
	cmd        *cobra.Command
	warehouses int64
	terminals  int
	duration   time.Duration
	noThink    bool
	rate       float64
	mix        string
	isolation  string
	retries    int
	noCheck    bool
}

func newRun(s *command.Env) *cobra.Command {
	f := &runFlags{}
	cmd := texts().New("tpcc-run", cobra.NoArgs, func(*cobra.Command, []string) error { return f.run(s) })
	f.cmd = cmd
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Int64Var(&f.warehouses, "warehouses", 0, "warehouses whose terminals work (default: all that are loaded)")
	fs.DurationVar(&f.duration, "duration", 10*time.Minute, "measurement interval; the specification wants 120m or more")
	fs.IntVar(&f.terminals, "terminals", 0, "terminals, at most 10 a warehouse (default: 10 a warehouse)")
	fs.BoolVar(&f.noThink, "no-think", false, "neither keying nor think times: not TPC-C, but what is often quoted as such")
	fs.Var((*usage.Rate)(&f.rate), "rate", "open load of so many transactions a second, instead of terminals that wait")
	fs.StringVar(&f.mix, "mix", "deck",
		"deck (23 cards a terminal), or shares in per cent of New-Order, Payment, Order-Status, Delivery, Stock-Level: 45,43,4,4,4")
	fs.StringVar(&f.isolation, "isolation", isolationAuto,
		"isolation: auto (see docs/tpcc.md), default (the server's), read committed, repeatable read or serializable")
	fs.IntVar(&f.retries, "retries", 10, "further attempts after a serialization failure or a deadlock")
	fs.BoolVar(&f.noCheck, "no-check", false, "don't check the conditions of consistency after the load")
	usage.InGroup(fs, usage.Load, "warehouses", "duration", "no-think")
	f.TargetFlags.Bind(cmd)
	f.LoadFlags.Bind(s, cmd, LanguageName)
	return command.HasPlan(cmd)
}

func (f *runFlags) check() error {
	switch {
	case f.warehouses < 0 || f.warehouses == 0 && f.cmd.Flags().Changed("warehouses"):
		return fmt.Errorf("--warehouses %d: give at least 1", f.warehouses)
	case f.duration <= 0:
		return fmt.Errorf("--duration %s: give a time above zero, such as 120m", f.duration)
	case f.rate < 0 || f.rate == 0 && f.cmd.Flags().Changed("rate"):
		return fmt.Errorf("--rate %g: give a rate above zero", f.rate)
	case f.rate > 0 && f.noThink:
		return errors.New("--rate and --no-think exclude each other: an open load has no think times anyway")
	case f.terminals < 0 || f.terminals == 0 && f.cmd.Flags().Changed("terminals"):
		return fmt.Errorf("--terminals %d: give at least 1", f.terminals)
	case f.retries < 0:
		return fmt.Errorf("--retries %d: give a number of at least 0", f.retries)
	}
	if f.Load.Pipeline != 1 {
		return errors.New("--pipeline: a terminal does one thing at a time")
	}
	return tpc.Isolation(f.isolation)
}

// run reads what the database says of itself, and sends the load.
func (f *runFlags) run(s *command.Env) error {
	if err := f.OutputFlags.Check(); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return exitcode.Usage(err)
	}
	p, err := f.TargetFlags.Plan(s, "tpcc")
	if err != nil {
		return err
	}
	system := tpc.ProtocolSystem(p.Target.Protocol)
	data := &Data{Sizes: Full(), Warehouses: max(f.warehouses, 1), Seed: p.Seed, LastNameC: loadConstant(p.Seed)}
	beyond, err := f.read(s, p, &data, &system)
	if err != nil {
		return err
	}
	if err := f.plan(p, data, system); err != nil {
		return exitcode.Usage(err)
	}
	if err := f.CheckWorkers(&f.Record, p); err != nil {
		return err
	}
	r := &tpc.Run{Benchmark: &benchmark, Plan: p, Options: &f.LoadFlags, Extra: f.extra(p, data, system)}
	r.Beyond = append(beyond,
		"that the database's constants and rows are compared before the load: a plan is sent to any database",
		"the report in TPC-C's terms: brunt report --output tpcc prints it",
		"the conditions of consistency after the load: brunt tpcc check")
	if s.PlanOnly {
		return r.Perform(s)
	}
	err = benchmark.With(s, p, func(ctx context.Context, d *tpc.Database) error { return data.sent(ctx, d) })
	if err != nil {
		return err
	}
	if !f.noCheck {
		r.Check = benchmark.Checker(p, Conditions(data.Sizes))
	}
	return r.Perform(s)
}

// read reads what the database says of its data. If only the plan is wanted, and it can't be read, the data is as the
// flags say.
func (f *runFlags) read(s *command.Env, p *plan.Plan, data **Data, system *string) (beyond []string, err error) {
	if s.PlanOnly && protocols.Of(p.Target.Protocol).Embedded {
		if _, err := os.Stat(p.Target.Addresses[0]); err != nil {
			return []string{"what the database says of its data: there is none yet"}, nil
		}
	}
	err = benchmark.With(s, p, func(ctx context.Context, d *tpc.Database) error {
		*system = tpc.Name(d.Product())
		if !s.PlanOnly {
			benchmark.PrintGaps(s.Err, d.Product())
		}
		found, err := Read(ctx, d)
		if err == nil {
			*data = found
		}
		return err
	})
	if err != nil && s.PlanOnly {
		return []string{"what the database says of its data: " + err.Error()}, nil
	}
	return nil, err
}

// plan writes the load into the plan.
func (f *runFlags) plan(p *plan.Plan, data *Data, system string) error {
	warehouses := data.Warehouses
	if f.warehouses > 0 {
		warehouses = f.warehouses
	}
	most := int(warehouses) * Districts
	switch {
	case warehouses > data.Warehouses:
		return fmt.Errorf("--warehouses %d: the database has %d", warehouses, data.Warehouses)
	case f.terminals > most:
		return fmt.Errorf("--terminals %d: %d warehouses have at most %d, ten each; load more warehouses", f.terminals,
			warehouses, most)
	}
	if f.terminals > 0 {
		most = f.terminals
	}
	weights, err := f.weights()
	if err != nil {
		return err
	}
	p.Scripts = plan.Scripts{Language: LanguageName, Options: map[string]string{
		optionSystem: system, optionWarehouses: itoa(warehouses), optionLastNameC: itoa(data.LastNameC),
		optionItems: itoa(data.Items), optionCustomers: itoa(data.Customers), optionIsolation: f.isolation,
		optionThink: tpc.YesNo(!f.noThink), optionDeck: tpc.YesNo(f.mix == "deck"),
	}}
	for k := range kinds {
		if weights[k] > 0 {
			p.Operations = append(p.Operations, plan.Operation{Name: profiles[k].name, Weight: weights[k],
				Script: profiles[k].name})
		}
	}
	p.Load = []plan.Phase{{Name: "terminals", Kind: plan.Closed, Duration: f.duration}}
	if f.rate > 0 {
		p.Load = plan.RateLoad(f.rate, f.duration).Phases
	}
	p.Settings.Sessions = most
	if p.Settings.Retries = f.retries; f.retries == 0 {
		p.Settings.Retries = -1
	}
	p.Settings.OperationTimeout = 2 * time.Minute
	if err := f.Load.Settings(&p.Settings); err != nil {
		return err
	}
	return f.Load.Shape(p)
}

// weights returns the weights of transactions.
func (f *runFlags) weights() (w [kinds]float64, err error) {
	if f.mix == "deck" {
		for k := range kinds {
			w[k] = float64(profiles[k].cards)
		}
		return w, nil
	}
	parts := strings.Split(f.mix, ",")
	total := 0.0
	for i, part := range parts {
		n, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || n < 0 || len(parts) != int(kinds) {
			return w, fmt.Errorf("--mix %s: write deck, or five shares in per cent such as 45,43,4,4,4", f.mix)
		}
		w[i] = n
		total += n
	}
	if total < 99.99 || total > 100.01 {
		return w, fmt.Errorf("--mix %s: the shares add up to %g, not to 100", f.mix, total)
	}
	return w, nil
}

// The names of values in the record.
const (
	extraWarehouses = "warehouses"
	extraTerminals  = "terminals"
	extraThink      = "think times"
	extraOpen       = "open load"
	extraSystem     = "system"
	extraLacks      = "lacks"
	extraIsolation  = "isolation"
	extraShrunk     = "shrunk"
)

// extra returns what the report must know beside the figures.
func (f *runFlags) extra(p *plan.Plan, data *Data, system string) map[string]string {
	flavor, _ := tpc.Flavor(system)
	out := map[string]string{
		"dialect": LanguageName, extraWarehouses: p.Scripts.Options[optionWarehouses],
		extraTerminals: strconv.Itoa(p.Settings.Sessions), extraThink: tpc.YesNo(!f.noThink && f.rate == 0),
		extraOpen: tpc.YesNo(f.rate > 0), extraSystem: system, extraIsolation: f.isolation,
		extraShrunk: tpc.YesNo(data.Sizes != Full()), extraLacks: strings.Join(benchmark.Gaps(flavor), tpc.GapSeparator),
	}
	return out
}
