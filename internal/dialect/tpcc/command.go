package tpcc

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/dialect/tpc"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
	"brunt/internal/report"
	"brunt/internal/server/schema/fill"
)

//go:embed help/*.txt
var helpFiles embed.FS

var benchmark = tpc.Benchmark{Name: LanguageName, Title: "TPC-C", Notes: notesTable,
	Texts: command.Texts{Files: helpFiles, Folder: "help"},
	More: map[protocol.Flavor][]string{
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
	var foreign bool
	bind := func(fs *pflag.FlagSet) {
		fs.BoolVar(&foreign, "foreign", false,
			"check tables that another program has loaded, by the conditions that hold at any time")
	}
	check := func(ctx context.Context, d *tpc.Database) ([]tpc.Condition, bool, error) {
		if foreign {
			return Conditions(Full()), false, nil
		}
		data, err := Read(ctx, d)
		if err != nil {
			return nil, false, err
		}
		return Conditions(data.Sizes), data.Fresh(), nil
	}
	return benchmark.Texts.Group(LanguageName, newLoad(s), newRun(s), benchmark.CheckCommand(s, bind, check),
		benchmark.DropCommand(s, schema()))
}

func newLoad(s *command.Env) *cobra.Command {
	l := Loading{Now: time.Now}
	var shrink int64
	return benchmark.LoadCommand(s, tpc.Loader{
		Bind: func(fs *pflag.FlagSet) {
			fs.Int64Var(&l.Warehouses, "warehouses", 1, "warehouses of the whole database")
			fs.Int64Var(&l.From, "from", 0, "first warehouse that is loaded, if others are loaded by other commands")
			fs.Int64Var(&l.To, "to", 0, "last warehouse that is loaded")
			fs.IntVar(&l.Sessions, "sessions", 4, "sessions that load at the same time")
			fs.Int64Var(&shrink, "shrink", 1, "divide items, customers and orders by this number, for trials: not TPC-C")
		},
		First: "warehouses",
		Check: func() (err error) {
			if l.Sizes, err = Shrunk(shrink); err != nil {
				return err
			}
			return l.check()
		},
		Load: func(ctx context.Context, d *tpc.Database, seed uint64, progress func(fill.Progress)) ([]tpc.Result, error) {
			l.Seed, l.Progress = seed, progress
			return Load(ctx, d, l)
		},
	})
}

// runFlags are the flags of brunt tpcc run.
type runFlags struct {
	tpc.RunFlags
	warehouses int64
	terminals  int
	noThink    bool
	mix        string
}

func newRun(s *command.Env) *cobra.Command {
	f := &runFlags{}
	return f.RunCommand(s, &benchmark, func() error { return f.run(s) }, func(fs *pflag.FlagSet) {
		fs.Int64Var(&f.warehouses, "warehouses", 0, "warehouses whose terminals work (default: all that are loaded)")
		fs.DurationVar(&f.Duration, "duration", 10*time.Minute, "measurement interval; the specification wants 120m or more")
		fs.IntVar(&f.terminals, "terminals", 0, "terminals, at most 10 a warehouse (default: 10 a warehouse)")
		fs.BoolVar(&f.noThink, "no-think", false, "neither keying nor think times: not TPC-C, but what is often quoted as such")
		fs.Var((*usage.Rate)(&f.Rate), "rate", "open load of so many transactions a second, instead of terminals that wait")
		fs.StringVar(&f.mix, "mix", "deck",
			"deck (23 cards a terminal), or shares in per cent of New-Order, Payment, Order-Status, Delivery, Stock-Level: 45,43,4,4,4")
		f.BindConsistency(fs, "see docs/tpcc.md")
	}, "warehouses", "duration", "no-think")
}

func (f *runFlags) check() error {
	if err := cmp.Or(f.Count("warehouses", f.warehouses), f.Count("terminals", int64(f.terminals))); err != nil {
		return err
	}
	if f.Rate > 0 && f.noThink {
		return errors.New("--rate and --no-think exclude each other: an open load has no think times anyway")
	}
	return f.Check("120m", "terminal does one thing")
}

// run reads what the database says of itself, and sends the load.
func (f *runFlags) run(s *command.Env) error {
	if err := f.OutputFlags.Check(); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return exitcode.Usage(err)
	}
	p, err := f.TargetFlags.Plan(s, LanguageName)
	if err != nil {
		return err
	}
	data := &Data{Sizes: Full(), Warehouses: max(f.warehouses, 1), Seed: p.Seed, LastNameC: loadConstant(p.Seed)}
	system, beyond, err := benchmark.Ask(s, p, func(ctx context.Context, d *tpc.Database) error {
		found, err := Read(ctx, d)
		if err == nil {
			data = found
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := f.plan(p, data, system); err != nil {
		return exitcode.Usage(err)
	}
	r := &tpc.Run{Benchmark: &benchmark, Plan: p, Extra: f.extra(p, data, system), Beyond: append(beyond,
		"that the database's constants and rows are compared before the load: a plan is sent to any database")}
	return f.Send(s, r, data.sent, Conditions(data.Sizes))
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
		optionItems: itoa(data.Items), optionCustomers: itoa(data.Customers), optionIsolation: f.Isolation,
		optionThink: tpc.YesNo(!f.noThink), optionDeck: tpc.YesNo(f.mix == "deck"),
	}}
	for k := range kinds {
		if weights[k] > 0 {
			p.Operations = append(p.Operations, plan.Operation{Name: profiles[k].name, Weight: weights[k],
				Script: profiles[k].name})
		}
	}
	p.Settings.OperationTimeout = 2 * time.Minute
	return f.Shape(p, "terminals", most)
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

// hasLeastShares reports whether --mix has the least shares of clause 5.2.3.
func (f *runFlags) hasLeastShares() bool {
	w, err := f.weights()
	if err != nil || f.mix == "deck" {
		return err == nil
	}
	for k, share := range w {
		if share < profiles[k].least {
			return false
		}
	}
	return true
}

// The names of values in the record, in addition to those of all benchmarks.
const (
	extraWarehouses = "warehouses"
	extraTerminals  = "terminals"
	extraThink      = "think times"
	extraMix        = "least shares"
)

// extra returns what the report must know beyond the figures.
func (f *runFlags) extra(p *plan.Plan, data *Data, system string) map[string]string {
	out := f.Extra(&benchmark, system, data.Sizes != Full())
	out[extraWarehouses], out[extraTerminals] = p.Scripts.Options[optionWarehouses], strconv.Itoa(p.Settings.Sessions)
	out[extraThink] = tpc.YesNo(!f.noThink && f.Rate == 0)
	out[extraMix] = tpc.YesNo(f.hasLeastShares())
	return out
}
