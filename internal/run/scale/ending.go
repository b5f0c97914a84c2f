package scale

import (
	"errors"

	"brunt/internal/judge/exitcode"
	"brunt/internal/render/message"
)

// ending is whether and why the load ends early. The roster's lock guards it.
type ending struct {
	stop    bool
	hard    bool            // workers don't wait for answers
	aborted message.Message // why a rule ended the load; zero if none did
	refused *refusal        // sent to all workers that wait for their job
}

// Stop ends the load of all workers. If hard is true, they don't wait for answers. aborted is the reason if a rule
// ended the load; otherwise it is zero.
func (c *Coordinator) Stop(hard bool, aborted message.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.halt(hard, aborted)
}

func (c *Coordinator) halt(hard bool, aborted message.Message) {
	if !c.stop {
		c.aborted = aborted
	}
	if !c.stop || hard && !c.hard {
		c.journal.note(&event{Stop: &stopped{c.hard || hard, c.aborted}})
	}
	c.stop, c.hard = true, c.hard || hard
	c.announce()
}

// Aborted returns why a rule ended the load; zero if none did.
func (c *Coordinator) Aborted() message.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.aborted
}

// Interrupted reports whether Stop has ended the load although no rule required it.
func (c *Coordinator) Interrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop && c.aborted.IsZero()
}

// refuse makes all workers leave, with err as the reason, and returns err.
func (c *Coordinator) refuse(err error) error {
	code := exitcode.Interrupted
	if e, ok := errors.AsType[*Error](err); ok {
		code = e.Code
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = &refusal{"the coordinator has called the run off: " + err.Error(), code}
	c.halt(true, message.Message{})
	return err
}

// CloseResumable is Close, but keeps the journal of a resumed coordinator, so that the load can be resumed again.
func (c *Coordinator) CloseResumable() error {
	kept := c.journal.leave()
	return errors.Join(c.Close(), kept())
}

// Close answers the requests in progress, stops serving and removes the journal, which contains a private key. Workers
// that are still running retry until they reach their own time limit. So would a worker that has no answer to its last
// report.
func (c *Coordinator) Close() error {
	close(c.quit)
	c.mu.Lock()
	c.announce()
	c.mu.Unlock()
	return errors.Join(c.endpoint.close(), c.journal.end())
}
