package loadtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"brunt/internal/judge/exitcode"
)

// graceAfterSecond is how long the process may take to finish the record after a second interrupt.
const graceAfterSecond = 3 * time.Second

// Endings returns the signals that end a run with its report: an interrupt, and the signals by which a terminal or a
// supervisor ends a program. SIGHUP is not among them if it was ignored when the process started (nohup), or if it
// reopens a log.
func Endings(reopens bool) []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !reopens && !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// Interruptible returns a context that ends with the first signal, after which nothing new is sent, but answers in
// flight are awaited. The returned channel is closed with the second signal, after which nothing is awaited. If the
// record isn't finished soon after that, or with the third signal, the process exits at once.
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
		// Print in a goroutine: a blocked terminal must not delay the handling of the next interrupt.
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
