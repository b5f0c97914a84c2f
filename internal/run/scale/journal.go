package scale

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"brunt/internal/base/linefile"
	"brunt/internal/load/schedule"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// JournalFile is the usual name of a coordinator's journal, in the folder of the workers' bundles.
const JournalFile = "coordinator.ndjson"

// beginning is the first line of a journal: what a coordinator needs to resume a load. It contains a private key.
type beginning struct {
	Run        string            `json:"run"`
	Version    string            `json:"version"`
	Address    string            `json:"address"` // host:port
	Identity   Identity          `json:"identity"`
	IntervalNs int64             `json:"interval_ns"`
	StartNs    int64             `json:"start_ns"`
	EpochNs    int64             `json:"epoch_ns"`
	OnLost     string            `json:"on_lost"`
	Members    []Hello           `json:"members"`
	Extra      map[string]string `json:"extra,omitempty"`
}

// event is one of the following lines of a journal.
type event struct {
	Lost  *int           `json:"lost,omitempty"` // number of a worker, from 0
	AtNs  int64          `json:"at_ns,omitempty"`
	Back  *int           `json:"back,omitempty"`
	Ended *int           `json:"ended,omitempty"` // its bundle is complete
	Loss  *schedule.Loss `json:"loss,omitempty"`

	Grant *schedule.GrantEvent `json:"grant,omitempty"` // operations of a closed stage that were given to a worker
	Fault *record.Fault        `json:"fault,omitempty"` // a fault whose state has changed
	Stop  *stopped             `json:"stop,omitempty"`  // the load was ended
	// Decision was made. State is the state of the phase's controller after it.
	Decision *Decision       `json:"decision,omitempty"`
	State    json.RawMessage `json:"state,omitempty"`
}

// stopped is how the load was ended before its end.
type stopped struct {
	Hard    bool            `json:"hard,omitempty"`
	Aborted message.Message `json:"aborted,omitzero"` // see Coordinator.Stop
}

// begin creates the journal and writes its first lines. c.mu must be held.
func (c *Coordinator) begin() error {
	if c.o.Journal == "" {
		return nil
	}
	first := &beginning{
		Run: c.o.Run, Version: c.o.Version, Address: c.listener.Addr().String(), Identity: c.o.Identity,
		IntervalNs: int64(c.o.Interval), StartNs: c.startNs, OnLost: c.o.OnLost, Extra: c.o.Extra,
		EpochNs: c.o.Job.EpochNs,
	}
	for _, m := range c.members {
		h := m.hello
		h.Process, h.Host = m.process, m.host
		first.Members = append(first.Members, h)
	}
	if err := os.MkdirAll(filepath.Dir(c.o.Journal), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(c.o.Journal, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if c.journal, err = linefile.Open(c.o.Journal); err != nil {
		return err
	}
	err = c.journal.AppendJSON(first)
	for i := range c.decisions { // the first decision of each phase precedes the start
		d := &c.decisions[i]
		err = errors.Join(err, c.journal.AppendJSON(&event{Decision: d, State: c.states[d.Phase]}))
	}
	return err
}

// endJournal closes and removes the journal.
func (c *Coordinator) endJournal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropJournal()
}

// dropJournal is endJournal with c.mu held.
func (c *Coordinator) dropJournal() error {
	if c.journal == nil {
		return nil
	}
	name := c.journal.Name()
	err := c.journal.Close()
	c.journal = nil
	return errors.Join(err, os.Remove(name))
}

// note appends a line to the journal. If that fails, it removes the journal and tells the user: a load must not be
// resumed from a journal that lacks an event, because operations could be sent twice. c.mu must be held.
func (c *Coordinator) note(e *event) {
	if c.journal == nil {
		return
	}
	appendLine := c.journal.Append
	if e.Grant != nil {
		// A thousand workers get thousands of blocks per second, which would wait for as many syncs.
		appendLine = c.journal.AppendSoon
	}
	line, err := json.Marshal(e)
	if err == nil {
		err = appendLine(line)
	}
	if err != nil {
		c.unresumable(err)
	}
}

// unresumable removes the journal, which can't be written, and tells the user. c.mu must be held.
func (c *Coordinator) unresumable(err error) {
	c.tell("if this process is killed, it can't be resumed: %v", errors.Join(err, c.dropJournal()))
}

// Resume continues the load of a coordinator that was killed, at the same address, for the same workers, which have
// gone on sending. o has Journal, Dir and Tell; the other options are read from the journal. extra is Options.Extra of
// the killed coordinator. If there is no journal, Resume returns an error: the coordinator had not started its load, or
// has ended.
func Resume(o Options) (c *Coordinator, extra map[string]string, err error) {
	if _, err := os.Stat(o.Journal); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no %s: no coordinator was killed there while its load ran", o.Journal)
	}
	journal, err := linefile.Open(o.Journal)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, journal.Close())
		}
	}()
	var first beginning
	lines := journal.Lines()
	if len(lines) == 0 {
		return nil, nil, fmt.Errorf("%s is empty: the coordinator was killed before its load began", o.Journal)
	}
	if err := json.Unmarshal(lines[0], &first); err != nil {
		return nil, nil, fmt.Errorf("%s: line 1: %w", o.Journal, err)
	}
	if _, _, err := net.SplitHostPort(first.Address); err != nil || len(first.Members) == 0 || first.StartNs <= 0 {
		return nil, nil, fmt.Errorf("%s: line 1 isn't the beginning of a coordinator's journal", o.Journal)
	}
	o.Run, o.Version, o.Workers, o.Listen, o.Identity = first.Run, first.Version, len(first.Members), first.Address,
		first.Identity
	o.Interval, o.Patience = time.Duration(first.IntervalNs), patienceBefore
	o.OnLost, o.Extra, o.Job.EpochNs = first.OnLost, first.Extra, first.EpochNs
	if c, err = open(o, "see that the coordinator of this load doesn't run any more, and end what has the port"); err != nil {
		return nil, nil, err
	}
	c.journal, c.startNs, c.agreed = journal, first.StartNs, true
	for k, m := range c.members {
		m.hello, m.process, m.host = first.Members[k], first.Members[k].Process, first.Members[k].Host
		m.state, m.seen = Running, time.Now()
	}
	if err = c.replay(lines[1:]); err == nil {
		err = c.reread()
	}
	if err != nil {
		c.journal = nil // the file is kept for another attempt
		return nil, nil, errors.Join(err, c.Close())
	}
	c.serve()
	return c, first.Extra, nil
}

// replay applies the lines of a journal after the first.
func (c *Coordinator) replay(lines [][]byte) error {
	member := func(k *int) *member {
		if k == nil || *k < 0 || *k >= len(c.members) {
			return nil
		}
		return c.members[*k]
	}
	for i, line := range lines {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%s: line %d: %w", c.o.Journal, i+2, err)
		}
		if m := member(e.Lost); m != nil {
			m.lost, m.over, m.lostNs = true, true, e.AtNs
		}
		if m := member(e.Back); m != nil {
			m.lost = false
		}
		if m := member(e.Ended); m != nil {
			m.state = Ended
		}
		if e.Grant != nil {
			c.granter.Restore(*e.Grant)
		}
		if e.Stop != nil {
			c.stop, c.hard, c.aborted = true, e.Stop.Hard, e.Stop.Aborted
		}
		c.remember(&e)
		if l := e.Loss; l != nil {
			if l.Machine >= uint64(len(c.members)) || len(l.Receivers) == 0 {
				return fmt.Errorf("%s: line %d: no loss of a worker of this run", c.o.Journal, i+2)
			}
			c.members[l.Machine].given = true
			c.losses = append(c.losses, *l)
		}
	}
	// The times until which workers were allowed to send are not in the journal. They are before this one.
	for _, m := range c.members {
		m.untilNs = max(c.clock.Now()-c.startNs, 0) + int64(c.lease())
	}
	for _, m := range c.members {
		if c.o.OnLost == Redistribute && m.lost && !m.given {
			c.give(m)
		}
	}
	return nil
}

// reread makes the live view read all received intervals again, from the first. It removes an incomplete last line,
// which the worker sends again.
func (c *Coordinator) reread() error {
	for _, m := range c.members {
		name := filepath.Join(c.folder(m.number), record.IntervalsFile)
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		whole := bytes.LastIndexByte(text, '\n') + 1
		if whole < len(text) {
			if err := os.Truncate(name, int64(whole)); err != nil {
				return err
			}
		}
		m.lines = countLines(text[:whole])
		m.live = int64(whole)
		m.over = m.over || m.state == Ended
	}
	return nil
}

// remember applies a journal line about a fault or a decision.
func (c *Coordinator) remember(e *event) {
	if e.Decision != nil {
		c.decide(*e.Decision, e.State)
	}
	if f := e.Fault; f != nil {
		at := slices.IndexFunc(c.faults, func(have record.Fault) bool {
			return have.Name == f.Name && have.Number == f.Number
		})
		if at < 0 {
			at, c.faults = len(c.faults), append(c.faults, record.Fault{})
		}
		c.faults[at] = *f
	}
}

// NoteFault appends the state of a fault to the journal. It is safe for concurrent use.
func (c *Coordinator) NoteFault(f *record.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(&event{Fault: f})
}

// Faults returns the faults that the journal of a resumed coordinator contains, each in its last state.
func (c *Coordinator) Faults() []record.Fault { return c.faults }

// Decided returns the decisions that the journal of a resumed coordinator contains, and for each phase the state of its
// controller after the last of them.
func (c *Coordinator) Decided() ([]Decision, map[string]json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.decisions), maps.Clone(c.states)
}

// ExtraOf returns Options.Extra of the coordinator that wrote a journal; nil if the journal can't be read.
func ExtraOf(journal string) map[string]string {
	text, err := os.ReadFile(journal)
	var first beginning
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if err != nil || json.Unmarshal(line, &first) != nil {
		return nil
	}
	return first.Extra
}
