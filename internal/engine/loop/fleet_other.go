//go:build !linux

package loop

import (
	"context"
	"errors"

	"brunt/internal/engine"
	"brunt/internal/load/schedule"
	"brunt/internal/protocol"
	"brunt/internal/render/message"
)

// Supported reports whether event loops run on this system.
const Supported = false

var errLinux = errors.New("event loops need Linux: use the library tier (tier: library)")

// Fleet can't be created on this system.
type Fleet struct{}

var _ engine.Fleet = (*Fleet)(nil)

// NewFleet fails: event loops need Linux.
func NewFleet(engine.FleetConfig, protocol.CodecDriver) (*Fleet, error) { return nil, errLinux }

// Connect fails.
func (*Fleet) Connect(context.Context) error { return errLinux }

// Run fails.
func (*Fleet) Run(_ context.Context, _ <-chan struct{}, stage schedule.Stage) (uint64, error) {
	return stage.First, errLinux
}

// Close does nothing.
func (*Fleet) Close() {}

// Timing says that there are no event loops.
func (*Fleet) Timing() message.Message { return message.OfError(errLinux) }
