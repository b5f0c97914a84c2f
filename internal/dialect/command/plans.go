package command

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/dialect/command/usage"
)

// plans is the annotation of a command that sends one load, which a plan describes.
const plans = "plans"

// HasPlan says of a command that it sends one load, which a plan describes, so that brunt convert can print it.
func HasPlan(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[plans] = "one"
	return cmd
}

// Plans reports whether HasPlan was called for a command.
func Plans(cmd *cobra.Command) bool { return cmd.Annotations[plans] != "" }

// Beyond returns the flags of a parsed command line that no plan contains: those for the output and for workers.
func Beyond(cmd *cobra.Command) (flags []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains([]string{usage.Output, usage.Workers}, usage.GroupOf(f)) {
			flags = append(flags, "--"+f.Name+"="+f.Value.String()+": a flag of the run, not of the load")
		}
	})
	return flags
}
