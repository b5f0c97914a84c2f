package scale

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"brunt/internal/protocol"
)

// Rows are the rows that all workers say are in place.
func (c *Coordinator) Rows() (rows uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		rows += m.rows
	}
	return rows
}

// SetRows notes for the next report how many of the worker's rows are in place.
func (w *Worker) SetRows(rows uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows = rows
}

// EndFill tells the coordinator that the worker has ended, and what it has filled: nil if it was stopped.
func (w *Worker) EndFill(filled json.RawMessage) error {
	close(w.quit)
	<-w.done
	w.mu.Lock()
	w.state, w.filled = Ended, filled
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patienceBefore)
	defer cancel()
	for !w.report() {
		if !protocol.Sleep(ctx, 200*time.Millisecond) {
			return errors.New("the coordinator doesn't answer")
		}
	}
	return nil
}

// Discard removes the folder that was made for a bundle, of a worker that writes none.
func (w *Worker) Discard() {
	if w.ticket.Dir == "" {
		_ = os.Remove(filepath.Dir(w.Dir)) // it is empty
	}
}
