package tank

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/httpload"
	"brunt/internal/judge/exitcode"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

// execution is a load that does what Tank does: it writes the phout, and ends the load by autostop.
type execution struct {
	config           *Config
	o                *Options
	stdin            io.Reader
	replacing, quiet bool
	version          string
	afar             *afar // not nil: workers send the load
	began            time.Time
	outputs          *loadtest.Outputs
	program          *Program
	end              func(message.Message)
	folder           string
	file             *os.File
	phout            *bufio.Writer

	mu       sync.Mutex
	base     time.Time // when the run's clock read 0; zero: unknown
	line     []byte
	err      error // of the phout
	untagged []int // of each request of the list without a tag of its own: how many come before it
	each     int   // … in a pass
	seconds  map[int64]*second
	busy     map[int64]float64 // instances busy on average in a second
	told     int64             // seconds up to this one have been reported
	all      *second           // all requests
	late     uint64            // requests that were never sent
	answers  map[uint64][]reply
	steps    map[uint64][]sample
	under    map[uint64]begun
	cause    criterion // that has ended the load
}

// reply is the answer to a request of a scenario.
type reply struct {
	step, status int
	in           int64
	out          int
	parts        protocol.Parts
}

// begun is how many requests a scenario under way has begun, and the last one.
type begun struct {
	count, step int
	at          time.Time
}

var _ measure.Sink = (*execution)(nil)

func (e *execution) hooks(out *loadtest.Outputs) (runner.Hooks, error) {
	e.outputs = out
	e.seconds, e.busy, e.all = map[int64]*second{}, map[int64]float64{}, newSecond(0)
	e.answers, e.steps, e.under = map[uint64][]reply{}, map[uint64][]sample{}, map[uint64]begun{}
	v := runner.Hooks{Sinks: []measure.Sink{e}, Attach: e.attach, Ready: e.ready, Result: e.result, Exit: e.exit,
		Control: func(end, _ func(message.Message)) { e.end = end }, Close: e.close}
	if !e.quiet && !e.replacing {
		v.Notice = loadtest.Notices(out)
	}
	if e.afar != nil {
		v.Ready = nil // there are no single requests for a phout
		return v, e.makeFolder()
	}
	return v, nil
}

func (e *execution) attach(w *workload.Workload) {
	e.program, _ = w.Scripts().(*Program)
	if e.afar != nil {
		e.afar.generator, e.afar.tags = e.config.streams[0].generator, e.program.afarTags()
		return
	}
	w.Timed = e.timed
	if e.program.Scenarios() {
		e.program.OnAnswer, e.program.OnStep = e.answered, e.stepBegins
		w.TimedRequests = e.timedRequest
		return
	}
	e.number()
}

// number counts the requests that have no tag of their own.
func (e *execution) number() {
	a := &e.program.ammo
	if a.sequence != nil {
		counts := map[int]int{} // by stream
		for _, at := range a.sequence {
			sh := &a.shots[at]
			e.untagged = append(e.untagged, counts[sh.stream])
			if !sh.tagged {
				counts[sh.stream]++
			}
		}
		return
	}
	n := 0
	for i := range a.shots {
		e.untagged = append(e.untagged, n)
		if !a.shots[i].tagged {
			n++
			if i >= a.first {
				e.each++
			}
		}
	}
}

// makeFolder makes the folder of artifacts.
func (e *execution) makeFolder() error {
	name := e.config.artifacts
	if name == "" {
		name = e.began.Format("2006-01-02_15-04-05.000000")
	}
	e.folder = filepath.Join(expand(e.config.artifactsBase), name)
	if err := os.MkdirAll(e.folder, 0o755); err != nil {
		return exitcode.Usage(fmt.Errorf("can't make the folder of artifacts: %w", err))
	}
	return nil
}

// ready makes the folder of artifacts and the phout.
func (e *execution) ready(ctx context.Context) error {
	err := e.makeFolder()
	if err != nil {
		return err
	}
	path := e.config.phout
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.folder, filepath.Base(path))
	}
	if e.file, err = os.Create(path); err != nil {
		return exitcode.Usage(fmt.Errorf("can't write %s: %w", path, cause(err)))
	}
	e.phout = bufio.NewWriterSize(e.file, 256<<10)
	if !e.o.Manual {
		return nil
	}
	fmt.Fprintln(e.outputs.Err, "Press Enter to start shooting")
	entered := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(e.stdin).ReadString('\n')
		close(entered)
	}()
	select {
	case <-entered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *execution) close() error {
	if e.file == nil {
		return nil
	}
	err := errors.Join(e.err, e.phout.Flush(), e.file.Close())
	e.file = nil
	return err
}

// clock returns when the run's clock read 0. The lock is held.
func (e *execution) clock(endNs int64) time.Time {
	if e.base.IsZero() {
		e.base = time.Now().Add(-time.Duration(endNs))
	}
	return e.base
}

// add writes a sample, and counts it. The lock is held.
func (e *execution) add(s *sample) {
	e.line = s.append(e.line[:0])
	if _, err := e.phout.Write(e.line); err != nil {
		e.err = err
	}
	ts := s.sent.Add(time.Duration(s.real) * time.Microsecond).Unix()
	sec := e.seconds[ts]
	if sec == nil {
		if ts <= e.told {
			ts = e.told + 1 // reported already
		}
		if sec = e.seconds[ts]; sec == nil {
			sec = newSecond(ts)
			e.seconds[ts] = sec
		}
	}
	sec.add(s.tag, s.real, s.proto, s.net)
	e.all.add(s.tag, s.real, s.proto, s.net)
}

// timed is a workload.Workload's Timed.
func (e *execution) timed(t workload.Timing) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.program.Scenarios() {
		e.played(&t)
		return
	}
	sent := t.SentNs
	if sent == 0 {
		sent = t.IntendedNs
	}
	if t.Code == "limit" {
		return
	}
	s := sample{sent: e.clock(t.EndNs).Add(time.Duration(sent)), tag: e.tag(t.Index), real: max(t.EndNs-sent, 0) / 1000,
		out: int64(e.program.Size(t.Index)), in: t.Facts.BytesIn}
	generator := e.config.streams[0].generator
	s.net = netCode(generator, t.Class, t.Text, t.SentNs != 0)
	if e.config.streams[0].calls != nil {
		// Pandora's gun reports the status and the whole time, and no error numbers.
		s.in, s.net, s.proto = 0, noError, callStatus(t.Class, t.Code, t.Text)
		e.add(&s)
		return
	}
	switch {
	case s.net == noError || t.Facts.Status != 0 && generator == "pandora":
		s.proto = t.Facts.Status
	case generator == "bfg":
		s.proto = otherStatus
	}
	if e.config.numbered {
		s.tag += "#" + strconv.FormatUint(t.Index+1, 10)
	}
	s.split(&t.Facts.Parts)
	e.add(&s)
}

// tag returns the tag of a request, with its number if requests are numbered.
func (e *execution) tag(index uint64) string {
	a := &e.program.ammo
	at := a.at(index)
	sh := &a.shots[at]
	rules := &e.config.streams[sh.stream].tags
	switch {
	case sh.tagged:
		return sh.tag
	case rules.auto == "uniq":
		return fmt.Sprintf("%032x", index)
	case !rules.enum:
		return sh.tag
	case a.sequence != nil:
		return fmt.Sprintf("%s#%d", sh.tag, e.untagged[index%uint64(len(a.sequence))])
	}
	n := e.untagged[at]
	if passes := (index - uint64(at)) / uint64(a.pass()); index >= uint64(a.first) {
		n += int(passes) * e.each
	}
	return fmt.Sprintf("%s#%d", sh.tag, n)
}

// answered is a Program's OnAnswer.
func (e *execution) answered(index uint64, step, status int, in int64, out int, parts protocol.Parts) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answers[index] = append(e.answers[index], reply{step, status, in, out, parts})
}

// timedRequest is a workload.Workload's TimedRequests: of the requests of scenarios.
func (e *execution) timedRequest(t workload.Timing) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := sample{sent: e.clock(t.EndNs).Add(time.Duration(t.SentNs)), tag: e.program.StepTag(t.Index, t.Step),
		real: max(t.EndNs-t.SentNs, 0) / 1000, net: netCode("pandora", t.Class, t.Text, false)}
	calls := e.config.streams[0].calls != nil
	if calls {
		s.net, s.proto = noError, callStatus(t.Class, t.Code, t.Text)
	}
	if all := e.answers[t.Index]; len(all) > 0 {
		a := &all[0]
		e.answers[t.Index] = all[1:]
		if !calls {
			s.in, s.out = a.in, int64(a.out)
			s.split(&a.parts)
		}
		if s.net == noError {
			s.proto = a.status
		}
	}
	e.steps[t.Index] = append(e.steps[t.Index], s)
}

// stepBegins is a Program's OnStep.
func (e *execution) stepBegins(index uint64, step int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.under[index] = begun{count: e.under[index].count + 1, step: step, at: time.Now()}
}

// unplayed reports whether a scenario that ended so did before its last request was over.
func unplayed(class protocol.Class, code string) bool {
	return code == "assert" || code == "request" || class != protocol.OK && class != protocol.Server
}

// played writes the requests of a scenario that is over. One that ended it is written as Pandora does.
func (e *execution) played(t *workload.Timing) {
	all, begun := e.steps[t.Index], e.under[t.Index]
	delete(e.steps, t.Index)
	delete(e.answers, t.Index)
	delete(e.under, t.Index)
	calls := e.config.streams[0].calls != nil
	if len(all) < begun.count && t.Class != protocol.OK { // the last one wasn't sent, or had no answer
		s := sample{sent: begun.at, tag: e.program.StepTag(t.Index, begun.step)}
		if t.Code != "request" {
			s.real = max(e.clock(t.EndNs).Add(time.Duration(t.EndNs)).Sub(begun.at).Microseconds(), 0)
		}
		if calls && t.Code != "request" {
			s.proto = callStatus(t.Class, t.Code, t.Text)
		}
		all = append(all, s)
	}
	for i := range all {
		if i == len(all)-1 && unplayed(t.Class, t.Code) && !calls {
			all[i].tag, all[i].net, all[i].proto = all[i].tag+"|"+noTag, errOther, 0
		}
		e.add(&all[i])
	}
}

// settled is how long after a second its figures are complete.
const settled = 200 * time.Millisecond

// Interval implements measure.Sink.
func (e *execution) Interval(iv *measure.Interval) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.afar != nil {
		for i := range iv.Operations {
			e.late += iv.Operations[i].Dropped()
		}
		e.secondOver(e.afar.add(iv))
		return nil
	}
	if length := iv.EndNs - iv.StartNs; length > 0 {
		e.busy[iv.UnixNs/1e9] = iv.Pace.InFlightNs / float64(length)
	}
	for i := range iv.Operations {
		dropped := iv.Operations[i].Dropped()
		e.late += dropped
		if e.config.streams[0].generator == "pandora" {
			e.discarded(dropped, iv.UnixNs+iv.EndNs-iv.StartNs)
		}
	}
	e.report(time.Now().Add(-settled).Unix() - 1)
	return nil
}

// discardedTag is the tag of requests that were never sent.
const discardedTag = "discarded"

// discarded writes requests that were never sent, as Pandora does. The lock is held.
func (e *execution) discarded(n uint64, endNs int64) {
	for range n {
		e.add(&sample{sent: time.Unix(0, endNs), tag: discardedTag, net: errDiscarded})
	}
}

// report reports the seconds up to one: a line for each, and the criteria of autostop. The lock is held.
func (e *execution) report(last int64) {
	for _, ts := range slices.Sorted(maps.Keys(e.seconds)) {
		if ts > last {
			return
		}
		sec := e.seconds[ts]
		delete(e.seconds, ts)
		e.told = max(e.told, ts)
		sec.instances, sec.elapsedS = e.busy[ts], time.Since(e.began).Seconds()
		delete(e.busy, ts)
		e.judge(sec)
	}
}

// judge tells about a second, and applies the criteria of autostop. The lock is held.
func (e *execution) judge(s *second) {
	if !e.quiet {
		e.tell(s)
	}
	if e.cause != nil {
		return
	}
	for _, c := range e.config.autostop {
		if c.notify(s) {
			e.stop(c, s)
			return
		}
	}
}

// tell prints a line about a second.
func (e *execution) tell(s *second) {
	sum := 0.0
	for _, us := range s.all.realUs {
		sum += float64(us)
	}
	q := func(p float64) float64 { return percentile(s.all.realUs, p) / 1000 }
	fmt.Fprintf(e.outputs.Err, "%s [INFO] ts:%d\tRPS:%d\tavg:%.2f\tmin:%.2f\tmax:%.2f\tq95:%.2f\t\n",
		time.Now().Format(time.TimeOnly), s.ts, len(s.all.realUs), sum/float64(len(s.all.realUs))/1000, q(0), q(100), q(95))
}

// stop ends the load by a criterion.
func (e *execution) stop(c criterion, s *second) {
	e.cause = c
	now := time.Now().Format(time.TimeOnly)
	fmt.Fprintf(e.outputs.Err, "%s [WARNING] Autostop criterion requested test stop on %d rps: %s\n"+
		"%s [WARNING] Autostop criterion requested test stop: %s\n", now, len(s.all.realUs), c.source(), now, c.explain())
	if e.end != nil {
		e.end(message.New("stop.autostop", message.Text("rule", c.source()), message.Text("why", c.explain())))
	}
}

// linesPatience is how long the report waits until the lines of the seconds, which are on standard error, are written.
const linesPatience = time.Second

// result prints the report and writes the artifacts.
func (e *execution) result(run *record.Run, dir string) error {
	err := loadtest.Drain(e.outputs.Out)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.afar != nil {
		e.secondOver(e.afar.end())
	} else {
		e.report(time.Now().Add(time.Hour).Unix())
	}
	e.outputs.Err.Wait(linesPatience)
	_, werr := io.WriteString(e.outputs.Out, e.screen())
	err = errors.Join(err, werr, e.artifacts())
	if !e.quiet {
		command.Tell(e.outputs, run, dir)
	}
	return err
}

// artifacts writes the files next to the phout.
func (e *execution) artifacts() error {
	if e.folder == "" {
		return nil
	}
	var err error
	if e.cause != nil {
		name := e.config.reportFile
		if !filepath.IsAbs(name) {
			name = filepath.Join(e.folder, name)
		}
		err = os.WriteFile(name, []byte(e.cause.source()), 0o644)
	}
	status := fmt.Sprintf("exit_code: %d\nleft_time: null\nstatus_code: FINISHED\ntank_msg: %q\ntest_id: %q\n",
		e.code(false), e.why(), filepath.Base(e.folder))
	return errors.Join(err, os.WriteFile(filepath.Join(e.folder, "finish_status.yaml"), []byte(status), 0o644))
}

// source returns the criterion as it is configured.
func (b *base) source() string { return b.text }

// why says why the load ended; "" if it was over.
func (e *execution) why() string {
	if e.cause == nil {
		return ""
	}
	return e.cause.explain()
}

// code returns Tank's exit code.
func (e *execution) code(interrupted bool) int {
	switch {
	case e.cause != nil:
		return autostopCodes[e.cause.kind()]
	case interrupted:
		return exitFailed
	}
	return 0
}

// exit returns the error for the exit code: that of the criterion which ended the load, otherwise brunt's, or Tank's if
// brunt takes its place.
func (e *execution) exit(run *record.Run) error {
	if e.cause != nil {
		return exitcode.With(e.code(false), nil)
	}
	if e.replacing && run.Interrupted && len(run.Thresholds) == 0 {
		return exitcode.With(e.code(true), nil)
	}
	return httpload.Exit(run, e.replacing)
}

// screen returns the report: quantiles, codes and tags.
func (e *execution) screen() string {
	var b strings.Builder
	n := len(e.all.all.realUs)
	sent := n
	if discarded := e.all.tagged[discardedTag]; discarded != nil {
		sent -= len(discarded.realUs)
	}
	fmt.Fprintf(&b, "Requests: %d", sent)
	if e.late > 0 {
		fmt.Fprintf(&b, ", not sent: %d (no instance was free)", e.late)
	}
	b.WriteString("\n")
	if n > 0 {
		b.WriteString("\nPercentiles (all):\n")
		for _, q := range slices.Backward(quantiles) {
			fmt.Fprintf(&b, "  %5.1f%% < %.1f ms\n", q, percentile(e.all.all.realUs, q)/1000)
		}
		writeCodes(&b, "\nHTTP codes:", e.all.all.proto, n, e.afar != nil)
		writeCodes(&b, "\nNet codes:", e.all.all.net, n, false)
		b.WriteString("\nCases:\n")
		for _, tag := range sortedKeys(e.all.tagged) {
			f := e.all.tagged[tag]
			var sum float64
			for _, us := range f.realUs {
				sum += float64(us)
			}
			fmt.Fprintf(&b, "  %8d %6.2f%% %10.1f ms  %s\n", len(f.realUs), share(len(f.realUs), n),
				sum/float64(len(f.realUs))/1000, tag)
		}
	}
	if e.cause != nil {
		fmt.Fprintf(&b, "\nAutostop: %s\n", e.cause.explain())
	}
	if e.folder != "" {
		fmt.Fprintf(&b, "\nArtifacts dir: %s\n", e.folder)
	}
	return b.String()
}

func share(n, of int) float64 { return 100 * float64(n) / float64(of) }

// writeCodes writes how many requests had each code. If classes is set, codes stand for their classes.
func writeCodes(b *strings.Builder, title string, codes map[int]int, n int, classes bool) {
	b.WriteString(title + "\n")
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		name := strconv.Itoa(code)
		if classes && code > 0 {
			name = name[:1] + "xx"
		}
		fmt.Fprintf(b, "  %8d %6.2f%%  %s\n", codes[code], share(codes[code], n), name)
	}
}
