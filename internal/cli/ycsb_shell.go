package cli

import (
	"os"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/ycsb"
	"brunt/internal/dialect/ycsb/shell"
	"brunt/internal/runner"
)

func newYCSBShell(s *streams) *cobra.Command {
	f := &ycsbFlags{}
	cmd := &cobra.Command{
		Use: "shell DATABASE", Aliases: []string{"s"}, Short: "Read and change single records by hand",
		Long: `Read and change single records by hand. help lists the commands. On a terminal there is a
history, kept in ~/.brunt_ycsb_history, and completion by Tab; otherwise commands are read line by
line.`,
		Example: "  brunt ycsb shell redis\n  echo 'read user6284781860667377211' | brunt ycsb shell pg -p pg.user=stress",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			settings, err := f.gather(s, ycsb.Shell, args[0])
			if err != nil {
				return err
			}
			job, err := ycsb.Compile(settings, 0)
			if err != nil {
				return usage(err)
			}
			ctx, _, stop := interruptible(s.err, endings(false))
			defer stop()
			session, err := runner.Connect(ctx, job.Plan)
			if err != nil {
				return failure(ctx, err)
			}
			defer session.Close()
			history := ""
			if home, err := os.UserHomeDir(); err == nil {
				history = home + "/.brunt_ycsb_history"
			}
			return shell.Run(ctx, job, session, shell.Terminal{In: s.in, Out: s.out, History: history})
		},
	}
	f.bind(cmd)
	return cmd
}
