package fill

import (
	"context"
	"errors"
	"fmt"
)

// How often a proof looks at rows that aren't as loaded before it calls them lost. Servers that read from
// replicas show what those have applied so far.
const (
	looksAlike = 10  // in a row that find the same: 16 s of the default pauses
	looksMost  = 100 // in all
)

// settle calls look until it finds no mismatch, fails otherwise, or what it finds no longer changes.
func (c *Config) settle(ctx context.Context, look func() error) error {
	return Settle(ctx, looksAlike, c.Pause, look)
}

// Settle calls look until its error isn't a *MismatchError, or it has said the same alike times in a row, and
// returns its last error. pause waits before the next look, number attempt (from 1) since the last change; nil
// doubles 50 ms up to 5 s.
func Settle(ctx context.Context, alike int, pause func(ctx context.Context, attempt int) error,
	look func() error) error {
	if pause == nil {
		pause = pauseDoubling
	}
	last, same := "", 0
	for n := 1; ; n++ {
		err := look()
		var wrong *MismatchError
		if !errors.As(err, &wrong) {
			return err
		}
		if wrong.What != last {
			last, same = wrong.What, 0
		}
		if same++; same >= alike || n == looksMost {
			return &MismatchError{wrong.Table, fmt.Sprintf("%s (looked %d times)", wrong.What, n)}
		}
		if err := pause(ctx, same); err != nil {
			return err
		}
	}
}
