package loadtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"brunt/internal/verdict/exitcode"
)

// graceAfterSecond is how long a second interrupt may take to finish the record.
const graceAfterSecond = 3 * time.Second

// Endings are the signals that end a run with its report: an interrupt, and those by which a terminal
// or a supervisor ends a program. A user who began the process with SIGHUP ignored (nohup) wants it to go
// on when the terminal goes; reopening a log takes SIGHUP too.
func Endings(reopens bool) []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !reopens && !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// Interruptible returns a context that ends with the first of some signals (nothing new is sent, what
// is in flight is waited for) and a channel that closes with the second (nothing is waited for).
// If the record isn't finished soon after that, or with the third, the process leaves at once.
func Interruptible(stderr io.Writer, endings []os.Signal) (ctx context.Context, hard <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	h := make(chan struct{})
	signals := make(chan os.Signal, 3)
	done := make(chan struct{})
	signal.Notify(signals, endings...)
	go func() {
		wait := func() bool {
			select {
			case <-signals:
				return true
			case <-done:
				return false
			}
		}
		if !wait() {
			return
		}
		cancel()
		// A terminal that takes nothing must not keep the next interrupt from being heard.
		go fmt.Fprintln(stderr, "\nbrunt: stopping: waiting for answers under way (interrupt again to leave at once)")
		if !wait() {
			return
		}
		close(h)
		select {
		case <-signals:
		case <-time.After(graceAfterSecond):
		case <-done:
			return
		}
		os.Exit(exitcode.Interrupted)
	}()
	return ctx, h, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
