package driver

import "context"

// Expander is implemented by protocols whose servers form clusters.
type Expander interface {
	// Expand returns the addresses of the cluster that a target is a member of, the target's own
	// among them as it was given, with its credentials and options. A target that is no member of a
	// cluster stands for itself. An error is an *Error.
	Expand(ctx context.Context, t Target) ([]Target, error)
}
