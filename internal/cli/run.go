package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/plan"
)

func newRun(s *streams) *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run PLAN",
		Short: "Run a plan as its load section says",
		Long: `Run a plan: create and fill its tables where they are missing, send its load, record what
happened, print a report, and drop the tables that this run created.`,
		Example: "  brunt run examples/cars.yml\n  brunt run examples/shop.yml --proto pg -a 127.0.0.1:5432 -u stress --vu 16",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return f.run(s, args, nil) },
	}
	f.bind(s, cmd)
	return cmd
}

func newQueue(s *streams) *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "queue -c PLAN",
		Short: "Work off the plan's queries, each as often as its count says (closed load)",
		Long: `Work off a finite queue: every query of the plan as often as its count says, in an order
shuffled by the seed, each session sending its next query when it has the answer to the last.`,
		Example: "  brunt queue -c examples/cars.yml -u stress --proto iproto -a 127.0.0.1:3301,127.0.0.1:3302 --vu 2",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			l := plan.QueueLoad()
			return f.run(s, args, &l)
		},
	}
	f.bind(s, cmd)
	return cmd
}

func newRate(s *streams) *cobra.Command {
	f := &runFlags{}
	var rate float64
	var duration time.Duration
	cmd := &cobra.Command{
		Use:     "rate -c PLAN --rate N --duration TIME",
		Aliases: []string{"const_rps"},
		Short:   "Send at a fixed rate whatever the server does (open load)",
		Long: `Send a fixed number of operations a second. The rate doesn't bend when the server slows:
operations that can't be sent in time wait, and their response time counts from the moment at
which they were meant to start.`,
		Example: "  brunt rate -c examples/cars.yml --proto pg -a 127.0.0.1:5432 -u stress --rate 1000 --duration 1m --vu 16",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if rate <= 0 {
				return usage(errors.New("no rate given; add --rate with operations per second"))
			}
			if err := durationFlag("duration", duration); err != nil {
				return err
			}
			l := plan.RateLoad(rate, duration)
			return f.run(s, args, &l)
		},
	}
	f.bind(s, cmd)
	cmd.Flags().Var((*rateValue)(&rate), "rate", "operations per second, or N/unit such as 600/m")
	cmd.Flags().DurationVar(&duration, "duration", time.Minute, "how long")
	return cmd
}

func newSpike(s *streams) *cobra.Command {
	f := &runFlags{}
	var base, peak float64
	var rise, hold, fall time.Duration
	cmd := &cobra.Command{
		Use:     "spike -c PLAN --peak N",
		Short:   "Ramp up to a peak rate, hold it, and ramp down (open load)",
		Example: "  brunt spike -c examples/cars.yml --proto pg -a 127.0.0.1:5432 -u stress --base 100 --peak 2000 --rise 5s --hold 10s --fall 5s",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if peak <= 0 || base < 0 || base > peak {
				return usage(fmt.Errorf("--base %g --peak %g: the peak must be above zero and not below the base", base, peak))
			}
			if rise < 0 || hold < 0 || fall < 0 || rise+hold+fall == 0 {
				return usage(errors.New("--rise, --hold and --fall must not be negative, and not all be zero"))
			}
			l := plan.SpikeLoad(base, peak, rise, hold, fall)
			return f.run(s, args, &l)
		},
	}
	f.bind(s, cmd)
	fs := cmd.Flags()
	fs.Var((*rateValue)(&base), "base", "rate before and after the spike, operations per second")
	fs.Var((*rateValue)(&peak), "peak", "rate at the top, operations per second")
	fs.DurationVar(&rise, "rise", 10*time.Second, "time from base to peak")
	fs.DurationVar(&hold, "hold", 30*time.Second, "time at the peak")
	fs.DurationVar(&fall, "fall", 10*time.Second, "time from peak to base")
	return cmd
}
