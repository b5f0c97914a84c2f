package fill

import (
	"context"
	"errors"
	"fmt"
)

// How often a check looks at rows that differ before it fails. Servers that read from replicas return what the
// replica has applied so far.
const (
	looksAlike = 10  // equal results in a row; takes 16 s with the default pauses
	looksMost  = 100 // looks altogether
)

// settle calls Settle with the defaults of checks.
func (c *Config) settle(ctx context.Context, look func() error) error {
	return Settle(ctx, looksAlike, c.Pause, look)
}

// Settle calls look until it returns something other than a *MismatchError, or the same *MismatchError alike times in a
// row, or 100 times altogether. It returns the last error. pause waits before the next call; attempt counts calls with
// the same result, from 1. If pause is nil, the pause starts with 50 ms and doubles up to 5 s.
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
