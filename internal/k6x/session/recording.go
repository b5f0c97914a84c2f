//go:build !nok6

package session

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/verdict"
)

// Script is what a run is of.
type Script struct {
	Name      string
	Text      []byte // what plan.yml says, without secrets
	LoadModel string // "open", "closed" or "mixed"
	Tier      string // see record.Run.Tier
}

// TierReason says why sessions of k6 are the library tier's.
const TierReason = "k6's virtual users"

// Begin begins the record. It fails before anything is sent if the record can't be written.
func (s *Session) Begin(script Script) error {
	started := time.Now()
	bundle, err := s.create(script.Name, started)
	if err != nil {
		return err
	}
	s.mu.Lock()
	run := s.run
	*run = record.Run{
		ID: newID(), Name: script.Name, Brunt: s.o.Version, Command: s.o.Command, Started: started.UTC(), Seed: s.seed,
		LoadModel: script.LoadModel, Tier: "library", TierReason: TierReason, IntervalNs: int64(interval),
		Environment: record.Fingerprint(), Operations: run.Operations, Targets: run.Targets,
		Extra: map[string]string{"tool": "k6"},
	}
	s.bundle = bundle
	err = bundle.Start(script.Text, run)
	s.named = false
	s.mu.Unlock()
	if err != nil {
		bundle.Discard()
		return err
	}
	dir := bundle.Dir
	if s.o.None {
		dir = ""
	}
	sinks := []measure.Sink{bundle}
	if s.o.Sinks != nil {
		more, err := s.o.Sinks(run, dir)
		if err != nil {
			bundle.Discard()
			return err
		}
		sinks = append(sinks, more...)
	}
	c := &s.cutter
	c.open.Store(script.LoadModel != "closed")
	c.mu.Lock()
	c.sinks = sinks
	c.mu.Unlock()
	s.recording.Store(true)
	return nil
}

func (s *Session) create(name string, started time.Time) (*record.Bundle, error) {
	o := record.Options{Warn: s.note}
	switch {
	case s.o.None:
		return record.CreateIn(record.Nowhere{}, "", o)
	case s.o.Dir != "":
		return record.CreateIn(record.OS{}, s.o.Dir, o)
	}
	return record.Create(record.OS{}, cmp.Or(s.o.Root, record.DefaultRoot), name, started, o)
}

// newID is a random name for a run: 16 hexadecimal digits.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// lengths are the numbers of operations and addresses that have names.
func (s *Session) lengths() (operations, addresses int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.run.Operations), len(s.run.Targets)
}

// update calls f with the record, and writes run.json anew if names have come since: what the next
// interval numbers must be there when it is read.
func (s *Session) update(f func(run *record.Run) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := f(s.run)
	if s.named {
		s.named = false
		err = errors.Join(err, s.bundle.Update(s.run))
	}
	return err
}

func (s *Session) warn(w record.Warning) {
	s.mu.Lock()
	s.run.Warnings = append(s.run.Warnings, w)
	s.mu.Unlock()
	s.note(w)
}

func (s *Session) note(w record.Warning) { s.say("brunt: note: " + w.Text) }

func (s *Session) say(text string) {
	if s.o.Tell != nil && !s.o.Quiet {
		s.o.Tell(text)
	}
}

// Outcome is how a run of k6 ended.
type Outcome struct {
	Code       int // that k6 exits with
	Why        string
	Thresholds []record.Threshold
}

// The exit codes of k6 that say something of the result.
const (
	codeOK         = 0
	codeThresholds = 99
	codeInterrupt  = 105
)

// Close ends what modules have open, completes the record, judges the run and says so. Further calls do
// nothing.
func (s *Session) Close(o Outcome) error {
	err := s.close()
	if !s.recording.CompareAndSwap(true, false) {
		return err
	}
	s.Settled()
	run := s.run
	if s.o.Settle != nil {
		s.o.Settle(run)
	}
	if !s.cutter.begun.Load() && o.Code != codeOK {
		s.bundle.Discard() // nothing was sent
		return err
	}
	<-s.ended()
	tally := &s.cutter.tally
	record.Fill(run, tally)
	run.Sessions = int(run.Health.SessionsMean)
	run.Ended, run.Complete, run.Interrupted = time.Now().UTC(), true, o.Code == codeInterrupt
	if o.Code != codeOK && o.Code != codeThresholds && o.Code != codeInterrupt {
		run.Aborted = fmt.Sprintf("k6 ended with exit code %d: %s", o.Code, cmp.Or(o.Why, "see its messages"))
	}
	run.Failures = s.bundle.Failures()
	run.Thresholds = o.Thresholds
	verdict.Judge(run, tally.Total())
	s.judge(run)
	err = errors.Join(err, s.bundle.Finish(run))
	s.report(run)
	return err
}

// ended is closed when no interval is cut any more.
func (s *Session) ended() <-chan struct{} {
	if s.cutter.begun.Load() {
		return s.cutter.stopped
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// report says in a line or two what came of the run, and where its record is.
func (s *Session) report(run *record.Run) {
	text := "brunt: verdict " + run.Verdict.Result
	if len(run.Verdict.Reasons) > 0 {
		text += ": " + run.Verdict.Reasons[0]
	}
	s.say(text)
	if !s.o.None {
		s.say("brunt: brunt report " + s.bundle.Dir)
	}
}

// Configure takes what -o brunt=… says: "none", or settings name=value with commas between them: dir (this
// run's bundle), results (the folder for bundles). It must be called before Begin.
func (s *Session) Configure(text string) {
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "none":
			s.o.None = true
		case "dir":
			s.o.Dir = value
		case "results":
			s.o.Root = value
		}
	}
}
