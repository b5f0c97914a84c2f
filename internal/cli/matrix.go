package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/program/campaign"
)

// matrixFlags are the flags of a comparison of settings.
type matrixFlags struct {
	campaignFlags
	set, cells, addresses    []string
	run, reconfigure, ready  string
	within, warmUp, duration time.Duration
	at, tolerance            float64
	repetitions              int
	by                       string
}

func newMatrix(s *streams) *cobra.Command {
	f := &matrixFlags{}
	cmd := &cobra.Command{
		Use:   "matrix PLAN --set NAME=VALUE,VALUE… --reconfigure COMMAND",
		Short: "Compare settings of a service at one load",
		Long: `Measure a service with different settings at one load. Each cell (a combination of settings) is
applied by a command that has them as environment variables, warmed up and measured; repetitions are
in shuffled order, so that what changes meanwhile meets all cells alike. The table marks cells that
can't be told from the best, and advises the smallest that is within the tolerance of it.`,
		Example: "  brunt matrix plan.yml --set THREADS=5,10,20 --set POOL=3,6 --at 19 --reconfigure './restart.sh' --ready http://127.0.0.1:8080/health",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := f.language()
			if err != nil {
				return err
			}
			text, err := f.text(args[0])
			if err != nil {
				return usage(err)
			}
			p, err := campaign.Parse(filepath.Join(filepath.Dir(args[0]), "matrix.yml"), text, f.scale, s.readPlan)
			if err != nil {
				return usage(err)
			}
			p.Anyway = f.anyway
			return s.beginCampaign(&f.campaignFlags, l, p, p.Name)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringArrayVar(&f.set, "set", nil, "a setting and its values, NAME=VALUE,VALUE… (repeatable: all are tried with all)")
	fs.StringArrayVar(&f.cells, "cell", nil, "settings that are tried together, NAME=VALUE,NAME=VALUE… (repeatable, instead of --set)")
	fs.StringVar(&f.reconfigure, "reconfigure", "", "command that applies the settings, which are environment variables, and returns")
	fs.StringVar(&f.run, "run", "", "or: command that is kept running, and started anew for other settings")
	fs.StringVar(&f.ready, "ready", "", "the service is ready when this URL answers")
	fs.DurationVar(&f.within, "within", time.Minute, "how long it may take to be ready")
	fs.StringSliceVarP(&f.addresses, "addr", "a", nil, "addresses, instead of the plan's")
	fs.Float64Var(&f.at, "at", 1, "N, what the rates of the plan are multiplied by")
	fs.DurationVar(&f.warmUp, "warm-up", 10*time.Second, "before each measurement")
	fs.DurationVar(&f.duration, "duration", time.Minute, "of each measurement")
	fs.IntVar(&f.repetitions, "repetitions", 3, "of each cell")
	fs.Float64Var(&f.tolerance, "tolerance", 0.05, "how much worse than the best is as good, as a share")
	fs.StringVar(&f.by, "by", "response.p(95)", "figure that decides: response.p(95) or another quantile, response.avg, or rate")
	f.campaignFlags.bind(cmd, true, true)
	return cmd
}

// text is the campaign of one step that the flags ask for: a matrix is done, kept and resumed as one.
func (f *matrixFlags) text(plan string) ([]byte, error) {
	q := strconv.Quote
	if (f.run == "") == (f.reconfigure == "") {
		return nil, errors.New("say how settings are applied: --reconfigure COMMAND, or --run COMMAND")
	}
	if _, err := os.Stat(plan); err != nil {
		return nil, fmt.Errorf("plan: %w; check the path", err)
	}
	name := strings.TrimSuffix(filepath.Base(plan), filepath.Ext(plan))
	var b strings.Builder
	fmt.Fprintf(&b, "campaign: %s\nplan: %s\n", q(name+"-matrix"), q(filepath.Base(plan)))
	if len(f.addresses) > 0 {
		var quoted []string
		for _, address := range f.addresses {
			quoted = append(quoted, q(address))
		}
		fmt.Fprintf(&b, "addresses: [%s]\n", strings.Join(quoted, ", "))
	}
	how, command := "reconfigure", f.reconfigure
	if f.run != "" {
		how, command = "run", f.run
	}
	fmt.Fprintf(&b, "service:\n  %s: %s\n  within: %s\n", how, q(command), f.within)
	if f.ready != "" {
		fmt.Fprintf(&b, "  ready: [{url: %s}]\n", q(f.ready))
	}
	fmt.Fprintf(&b, "steps:\n  - matrix:\n      at: %g\n      warm_up: %s\n      duration: %s\n      repetitions: %d\n      tolerance: %g\n      by: %s\n",
		f.at, f.warmUp, f.duration, f.repetitions, f.tolerance, q(f.by))
	for i, one := range f.set {
		name, values, ok := strings.Cut(one, "=")
		if !ok || name == "" || values == "" {
			return nil, fmt.Errorf("--set %s: write NAME=VALUE,VALUE…", one)
		}
		if i == 0 {
			b.WriteString("      grid:\n")
		}
		var quoted []string
		for v := range strings.SplitSeq(values, ",") {
			quoted = append(quoted, q(v))
		}
		fmt.Fprintf(&b, "        %s: [%s]\n", q(name), strings.Join(quoted, ", "))
	}
	for i, one := range f.cells {
		if i == 0 {
			b.WriteString("      cells:\n")
		}
		var quoted []string
		for pair := range strings.SplitSeq(one, ",") {
			name, value, ok := strings.Cut(pair, "=")
			if !ok || name == "" {
				return nil, fmt.Errorf("--cell %s: write NAME=VALUE,NAME=VALUE…", one)
			}
			quoted = append(quoted, q(name)+": "+q(value))
		}
		fmt.Fprintf(&b, "        - {%s}\n", strings.Join(quoted, ", "))
	}
	return []byte(b.String()), nil
}
