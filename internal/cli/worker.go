package cli

import (
	"github.com/spf13/cobra"

	"brunt/internal/loadtest"
)

// newWorker sends a worker's share of a load; see package scale.
func newWorker(s *streams) *cobra.Command {
	return &cobra.Command{
		Use: loadtest.WorkerCommand, Short: "Send a share of a load; for brunt itself", Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return loadtest.Work(s.in, s.err, s.version) },
	}
}
