package scale

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"brunt/internal/protocol"
)

// SetRows sets the number of rows that the worker has filled, for the next report.
func (w *Worker) SetRows(rows uint64) {
	w.talk.fill(rows)
}

// FillOver tells the coordinator that the worker's part is complete. It returns when all parts are complete or other
// workers are lost. whole is true if all parts are complete.
func (w *Worker) FillOver(ctx context.Context) (whole bool) {
	w.talk.enter(Sent)
	w.until(ctx, func(a *Answer) bool { return a.AllSent || a.Stop })
	answer, _, _, _ := w.talk.last()
	return answer.AllSent && !answer.Stop
}

// WaitFilled waits until all workers that aren't lost have filled their parts, and lets them end.
func (c *Coordinator) WaitFilled(ctx context.Context) {
	_ = c.WaitSent(ctx) // Receive notices the error too
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop = c.stop || slices.ContainsFunc(c.members, func(m *member) bool { return m.lost })
	c.course.end()
	c.announce()
}

// EndFill tells the coordinator that the worker has ended, and what it has filled. filled is nil if the worker was
// stopped.
func (w *Worker) EndFill(filled json.RawMessage) error {
	close(w.quit)
	<-w.done
	last := w.talk.end(filled).Add(patienceFill)
	for !w.report() {
		if time.Now().After(last) {
			return errors.New("the coordinator doesn't answer")
		}
		protocol.Sleep(context.Background(), 200*time.Millisecond)
	}
	return nil
}

// Discard removes the temporary folder for the worker's bundle, unless a bundle is in it.
func (w *Worker) Discard() {
	if w.ticket.Dir == "" {
		_ = os.Remove(filepath.Dir(w.Dir)) // fails if it isn't empty
	}
}
