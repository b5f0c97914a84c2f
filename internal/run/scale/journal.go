package scale

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
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
	Lost  *int            `json:"lost,omitempty"` // number of a worker, from 0
	AtNs  int64           `json:"at_ns,omitempty"`
	Why   message.Message `json:"why,omitzero"` // it was lost
	Back  *int            `json:"back,omitempty"`
	Ended *int            `json:"ended,omitempty"` // its bundle is complete
	Loss  *schedule.Loss  `json:"loss,omitempty"`

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

// journal is the file from which Resume continues a load. Without a file it does nothing.
type journal struct {
	tell func(format string, args ...any)

	mu   sync.Mutex
	file *linefile.File // nil before the start, and without Options.Journal
}

// begin creates the file and writes its first lines. If that fails, the load goes on without a journal.
func (j *journal) begin(path string, first *beginning, decisions []event) {
	if path == "" {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.create(path, first, decisions); err != nil {
		j.unresumable(err)
	}
}

func (j *journal) create(path string, first *beginning, decisions []event) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if j.file, err = linefile.Open(path); err != nil {
		return err
	}
	err = j.file.AppendJSON(first)
	for i := range decisions { // the first decision of each phase precedes the start
		err = errors.Join(err, j.file.AppendJSON(&decisions[i]))
	}
	return err
}

// resume continues a file.
func (j *journal) resume(file *linefile.File) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.file = file
}

// leave makes the journal write no more, and returns a function that closes the file and keeps it.
func (j *journal) leave() (end func() error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	file := j.file
	j.file = nil
	if file == nil {
		return func() error { return nil }
	}
	return file.Close
}

// end closes and removes the file.
func (j *journal) end() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.drop()
}

// drop is end with j.mu held.
func (j *journal) drop() error {
	if j.file == nil {
		return nil
	}
	name := j.file.Name()
	err := j.file.Close()
	j.file = nil
	return errors.Join(err, os.Remove(name))
}

// note appends a line. If that fails, it removes the file and tells the user: a load must not be resumed from a journal
// that lacks an event, because operations could be sent twice.
func (j *journal) note(e *event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return
	}
	appendLine := j.file.Append
	if e.Grant != nil {
		// A thousand workers get thousands of blocks per second, which would wait for as many syncs.
		appendLine = j.file.AppendSoon
	}
	line, err := json.Marshal(e)
	if err == nil {
		err = appendLine(line)
	}
	if err != nil {
		j.unresumable(err)
	}
}

// unresumable removes the file, which can't be written, and tells the user. j.mu must be held.
func (j *journal) unresumable(err error) {
	j.tell("if this process is killed, it can't be resumed: %v", errors.Join(err, j.drop()))
}

// beginning returns the first line of the journal. c.mu must be held.
func (c *Coordinator) beginning() *beginning {
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
	return first
}

// Resume continues the load of a coordinator that was killed, at the same address, for the same workers, which have
// gone on sending. o has Journal, Dir and Tell; the other options are read from the journal. extra is Options.Extra of
// the killed coordinator. If there is no journal, Resume returns an error: the coordinator had not started its load, or
// has ended.
func Resume(o Options) (c *Coordinator, extra map[string]string, err error) {
	if _, err := os.Stat(o.Journal); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no %s: no coordinator was killed there while its load ran", o.Journal)
	}
	file, err := linefile.Open(o.Journal)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	var first beginning
	lines := file.Lines()
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
	c.journal.resume(file)
	c.startNs, c.agreed = first.StartNs, true
	for k, m := range c.members {
		m.hello, m.process, m.host = first.Members[k], first.Members[k].Process, first.Members[k].Host
		m.state, m.seen = Running, time.Now()
	}
	err = c.replay(lines[1:])
	for _, m := range c.members {
		err = cmp.Or(err, m.inbox.reread())
	}
	if err != nil {
		c.journal.leave() // the file is kept for another attempt
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
			m.lost, m.lostNs, m.why = true, e.AtNs, e.Why
			m.inbox.close()
		}
		if m := member(e.Back); m != nil {
			m.lost = false
		}
		if m := member(e.Ended); m != nil {
			m.state = Ended
			m.inbox.close()
		}
		if e.Grant != nil {
			c.granter.Restore(*e.Grant)
		}
		if e.Stop != nil {
			c.stop, c.hard, c.aborted = true, e.Stop.Hard, e.Stop.Aborted
		}
		c.course.remember(&e)
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
