package session

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.k6.io/k6/v2/errext"

	"brunt/internal/base/secret"
	"brunt/internal/inspect/observe"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/report/export"
)

// Script describes what the run of k6 executes.
type Script struct {
	Name      string
	Text      []byte         // content of plan.yml, without secrets
	LoadModel string         // "open", "closed" or "mixed"
	Native    bool           // it runs nothing but plans
	MayCall   bool           // it may make requests, in which case iterations aren't operations
	MaySetUp  bool           // it may have a function setup; else the load begins when the run does
	Delay     time.Duration  // how much later the first scenario begins
	Figures   observe.Source // the metrics that it measures itself; nil for none
	// Cut is k6's sequence of segments; "" if this process sends all of the load. Part is this segment's number, from
	// 0, and Parts is their number.
	Cut         string
	Part, Parts int
}

// TierReason is the reason why sessions of k6 are of the library tier.
var TierReason = message.New("tier.k6")

// Begin starts the record. It fails, before anything is sent, if the record can't be written.
func (s *Session) Begin(script Script) error {
	if s.o.Fault != nil {
		return s.o.Fault
	}
	started := time.Now()
	if err := s.openExporter(); err != nil {
		return err
	}
	bundle, err := record.Place{None: s.o.None, Root: s.o.Root, Dir: s.o.Dir}.Create(script.Name, started,
		record.Options{Warn: s.note})
	if err != nil {
		return errext.WithHint(err, "for k6 the folder is BRUNT_RESULTS, or keep no record: -o brunt=none")
	}
	s.draft.mu.Lock()
	run := s.run
	*run = record.Run{
		ID: record.NewID(), Name: script.Name, Brunt: s.o.Version, Command: s.o.Command, Started: started.UTC(),
		Seed: s.o.Seed, LoadModel: script.LoadModel, Tier: plan.TierLibrary, TierReason: TierReason,
		IntervalNs:  int64(interval),
		Environment: record.Fingerprint(), Operations: run.Operations, Targets: run.Targets,
		Worker: s.o.Worker,
		Cut:    script.Cut, Offset: uint64(script.Part), Stride: uint64(script.Parts),
		Extra: map[string]string{"tool": "k6"},
		Flags: map[string]string{"sessions": "preAllocatedVUs", "engine": `the executor "brunt-native"`},
	}
	s.script = script.Text
	s.held.on = script.MayCall
	s.native, s.figures = script.Native, script.Figures
	s.bundle = bundle
	err = bundle.Start(script.Text, run)
	s.named = false
	s.draft.mu.Unlock()
	if err != nil {
		bundle.Discard()
		return err
	}
	sinks := append([]measure.Sink{bundle}, s.o.Sinks...)
	if s.exporter != nil {
		s.exporter.Start(run)
		sinks = append(sinks, s.exporter)
	}
	if err := s.openAsking(); err != nil {
		bundle.Discard()
		return err
	}
	if s.asking.watch != nil {
		sinks = append(sinks, &s.asking)
	}
	c := &s.cutter
	c.open.Store(script.LoadModel != "closed")
	c.setsUp.Store(script.MaySetUp)
	c.mu.Lock()
	c.delay = script.Delay
	c.sinks = sinks
	c.mu.Unlock()
	s.recording.Store(true)
	return nil
}

// Uses adds the content of a plan's file to the definition of the load: the same script with another plan is another
// load.
func (s *Session) Uses(plan []byte) {
	sum := fmt.Sprintf("%x", sha256.Sum256(plan))
	s.cutter.mu.Lock() // excludes the record's other writers
	defer s.cutter.mu.Unlock()
	s.draft.mu.Lock()
	defer s.draft.mu.Unlock()
	at, known := slices.BinarySearch(s.plans, sum)
	if known || s.bundle == nil {
		return
	}
	s.plans = slices.Insert(s.plans, at, sum)
	text := fmt.Appendf(slices.Clip(s.script), "plans_sha256: [%s]\n", strings.Join(s.plans, ", "))
	if err := s.bundle.Start(text, s.run); err != nil {
		s.run.Warnings = append(s.run.Warnings, record.Warning{ID: "plan-record", Text: message.OfError(err)})
	}
}

// Outcome is how a run of k6 ended.
type Outcome struct {
	Code       int // k6's exit code; where it describes the result, brunt's is the same
	Why        string
	Thresholds []record.Threshold
	Watched    record.Watched // checks, iterations, and the script's own metrics over the whole run
}

// Close closes what modules have opened, completes the record, judges the run and prints the verdict. Further calls
// have no effect.
func (s *Session) Close(o Outcome) error {
	err := s.close(s.wasAborted)
	if !s.recording.CompareAndSwap(true, false) {
		return err
	}
	s.Settled()
	run := s.run
	if s.exporter != nil {
		for _, w := range s.exporter.Close(nil) {
			run.Warnings = append(run.Warnings, w)
			err = errors.Join(err, errors.New(w.Text.String()))
		}
	}
	if !s.cutter.begun.Load() && o.Code != exitcode.Pass {
		s.bundle.Discard() // nothing was sent
		if s.asking.watch != nil {
			s.asking.watch.Close()
		}
		return err
	}
	<-s.ended()
	tally := &s.cutter.tally
	s.draft.mu.Lock() // outputs still read the names of the operations
	record.Fill(run, tally)
	s.draft.mu.Unlock()
	run.Ended, run.Complete, run.Interrupted = time.Now().UTC(), true, o.Code == exitcode.Interrupted
	if o.Code != exitcode.Pass && o.Code != exitcode.Threshold && o.Code != exitcode.Interrupted {
		why := message.Literal(o.Why)
		if o.Why == "" {
			why = message.New("stop.k6.see")
		}
		run.Aborted = message.New("stop.k6", message.Text("code", strconv.Itoa(o.Code)), message.Nested("why", why))
	}
	run.Failures = s.bundle.Failures()
	run.Thresholds = o.Thresholds
	for i := range run.Thresholds {
		verdict.PerSecond(&run.Thresholds[i], run.DurationNs)
	}
	s.watched(run, &o.Watched)
	s.asked(run)
	verdict.Judge(run, tally.Total())
	run.Iterations = s.counted()
	verdict.JudgeIterations(run)
	err = errors.Join(err, s.bundle.Finish(run))
	s.report(run)
	return err
}

// ended returns a channel that is closed when no more intervals are cut.
func (s *Session) ended() <-chan struct{} {
	if s.cutter.begun.Load() {
		return s.cutter.stopped
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// report prints the verdict, and how to see the report.
func (s *Session) report(run *record.Run) {
	text := "brunt: verdict " + strings.Join(verdict.Words(run), ", ")
	if len(run.Verdict.Reasons) > 0 {
		text += ": " + run.Verdict.Reasons[0].String()
	}
	s.say(text)
	if !s.o.None {
		s.say("brunt: brunt report " + s.bundle.Dir)
	}
}

// openExporter opens the destinations of intervals, so that mistakes show before the load begins.
func (s *Session) openExporter() (err error) {
	l := &s.o.Live
	if l.MetricsAddr == "" && len(l.Destinations) == 0 {
		return nil
	}
	s.exporter, err = export.New(export.Options{MetricsAddr: l.MetricsAddr, Destinations: l.Destinations})
	if err == nil && s.exporter.Addr() != "" {
		s.say("brunt: metrics at http://" + s.exporter.Addr() + "/metrics")
	}
	return err
}

// Configure parses the argument of -o brunt=…: "none", or settings name=value separated by commas: dir (this run's
// bundle), results (the folder for bundles), export (a destination, see export.Options; repeatable), metrics-addr, and
// inspect (a server to ask, KIND=URL or auto; repeatable).
// It must be called before Begin, which returns its error.
func (s *Session) Configure(text string) {
	for part := range strings.SplitSeq(text, ",") {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "":
		case "none":
			s.o.None = true
		case "dir":
			s.o.Dir = value
		case "results":
			s.o.Root = value
		case "export":
			s.o.Live.Destinations = append(s.o.Live.Destinations, value)
		case "metrics-addr":
			s.o.Live.MetricsAddr = value
		case "inspect":
			s.o.Live.Inspected = append(s.o.Live.Inspected, value)
		default:
			s.o.Fault = fmt.Errorf("-o brunt=%s: no setting %q; use none, dir, results, export, inspect or metrics-addr",
				secret.Text(text), name)
		}
	}
}
