package loadtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/engine"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/run/runner"
	"brunt/internal/run/scale"
	"brunt/internal/run/scale/kubernetes"
	"brunt/internal/server/fault"
)

// Workers describes the workers that send a load together.
type Workers struct {
	Number      int           // 0: this process sends the load itself
	On          string        // Local, SSH, Slurm, Kubernetes or External
	Hosts       []string      // with SSH: host, user@host or user@host:port; workers are assigned round-robin
	SSHConfig   string        // with SSH: configuration file of the client; "" means the user's
	Slurm       []string      // with Slurm: additional arguments of srun
	OnLost      string        // one of scale.Policies
	Listen      string        // host:port at which workers reach this process; "" means a free port
	JoinTimeout time.Duration // limit for workers to join and become ready; 0: the default for On
	MixedCores  bool          // workers may have different numbers of cores
	Advertise   string        // host:port to which workers connect, if it differs from Listen
	Ticket      string        // with External: file of the ticket, or the file that brunt ticket wrote
	Cluster     Cluster       // with Kubernetes
}

// Where workers run.
const (
	Local      = "local"      // processes on this machine
	SSH        = "ssh"        // hosts, through the system's ssh client
	Slurm      = "slurm"      // tasks of a job step, one per node
	Kubernetes = "kubernetes" // pods of a Job
	External   = "external"   // started by the user
)

// WorkerNotice is the ID of notices about workers.
const WorkerNotice = "worker"

// Times that the coordinator's process waits for events that usually happen at once.
const (
	startLead    = 300 * time.Millisecond // until all workers have received the start time
	lostGrace    = 2 * time.Second        // for lost workers to reconnect after the other bundles were received
	stopPatience = 2 * time.Second        // for the workers' processes to exit by themselves
	// abandonPatience is for workers to end a load that failed at the coordinator.
	abandonPatience = 10 * time.Second
	uncertainties   = 4 // startLead grows by this multiple of the largest clock uncertainty
)

// leading is the coordinator's side of a load that workers send.
type leading struct {
	l         *Test
	v         *runner.Hooks
	f         *followers
	dir       string   // of the merged bundle
	command   []string // without secrets
	ticket    scale.Ticket
	c         *scale.Coordinator
	processes scale.Processes
	slurm     *scale.Slurm // nil if workers run elsewhere
	ssh       *scale.SSH   // nil if workers run elsewhere
	watch     *verdict.Watch
	sum       measure.Tally       // sum of all workers' intervals so far
	faults    []record.Fault      // faults that the coordinator injected
	warnings  []record.Warning    // about faults
	client    *kubernetes.Client  // with Kubernetes
	cluster   *kubernetes.Workers // with Kubernetes, after the pods were created
	pair      *scale.Pair         // with External, if the ticket was made before
	written   string              // with External: file of the ticket
	fills     bool                // the workers fill tables
	broken    string              // threshold of a script that has ended the load
}

// lead lets workers send the load. It returns the merged record and its folder. run is nil if there is no result.
// Errors that occur before the load have an exit code.
func (l *Test) lead(ctx context.Context, hard <-chan struct{}, out *Outputs, v *runner.Hooks) (run *record.Run,
	dir string, err error) {
	if l.Script == nil {
		if err := l.Workers.Shares(l.Plan); err != nil {
			return nil, "", exitcode.Usage(err)
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	end := func() { stop(nil) }
	defer end()
	hard, release := controlled(ctx, hard, v, stop)
	defer release()
	defer boundGC()()
	d := &leading{l: l, v: v}
	if err := d.preflight(ctx); err != nil {
		return nil, "", workerError(Failure(ctx, err))
	}
	f, o, err := l.follow(out, hard, v, end)
	if err != nil {
		return nil, "", err
	}
	d.f, f.live.processes.Remote = f, l.Workers.On != Local
	defer func() { err = errors.Join(err, f.close()) }()
	r, err := l.tables(ctx, o)
	if err != nil {
		return nil, "", Failure(ctx, err)
	}
	defer func() { err = errors.Join(err, closed(r)) }()
	if err := d.open(&o); err != nil {
		return nil, "", exitcode.Usage(err)
	}
	defer func() { err = errors.Join(err, d.c.Close()) }()
	var begun *record.Run
	var parts []*record.Recorded
	if err = d.join(ctx, out); err == nil {
		begun, parts, err = d.begun()
	}
	if err != nil {
		return nil, "", errors.Join(workerError(Failure(ctx, err)), d.release(), d.discard())
	}
	if v.Began != nil {
		v.Began(begun)
	}
	if err = f.live.start(begun, d.dir); err == nil {
		f.page.start(begun)
		err = v.CallReady(ctx)
	}
	if err != nil {
		d.c.Stop(true, message.Message{})
		return nil, "", errors.Join(Failure(ctx, err), d.release(), d.discard())
	}
	err = d.drive(ctx, hard, begun, parts, o.Hooks.Sinks, r)
	run, err = d.finish(ctx, hard, out, workloadOf(r), err)
	if run == nil {
		return nil, "", err
	}
	return run, d.dir, errors.Join(err, closed(r), f.page.finish(run, d.dir, o.Recording.Plan))
}

// closed drops the tables that r created. r is nil for scripts.
func closed(r *runner.Runner) error {
	if r == nil {
		return nil
	}
	return r.Close()
}

// tables finds the servers, and creates and fills the tables. It returns nil for scripts, which do this
// themselves.
func (l *Test) tables(ctx context.Context, o runner.Options) (*runner.Runner, error) {
	if l.Script != nil {
		return nil, nil
	}
	one := *l
	one.Plan, o.Faults.Does = l.Plan.OneSession(), fault.OfServers // this process has no sessions of the load
	o.Recording.None, o.Recording.Dir, o.Hooks.Sinks = true, "", nil
	r, err := one.ready(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := r.Prepare(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// open creates the folder of the record and starts the coordinator.
func (d *leading) open(o *runner.Options) error {
	l := d.l
	text, secrets, err := textOf(l.Plan) // tables may have changed the plan
	if err != nil {
		return err
	}
	settings := l.Plan.Settings.WithDefaults()
	place := record.Place{Root: o.Recording.Root, Dir: o.Recording.Dir}
	pair, err := d.identify()
	if err != nil {
		return err
	}
	id := pair.Ticket.Run
	o.Recording.Plan, d.command = text, o.Recording.Command
	if d.dir, err = place.Folder(l.Plan.Name, time.Now()); err != nil {
		return err
	}
	d.c, err = scale.Listen(scale.Options{
		Run: id, Version: o.Recording.Version, Workers: l.Workers.Number, Dir: d.workers(), Listen: l.Workers.address(),
		Identity: pair.Coordinator, Interval: settings.Interval, Patience: l.Workers.patience(),
		MixedCores: l.Workers.MixedCores, OnLost: l.Workers.OnLost, Tell: d.tell, Waiting: d.waiting,
		Journal: d.journal(), Extra: d.extra(),
		Job: scale.Job{
			Run: id, Plan: o.Recording.Plan, Secrets: secrets, Password: l.Plan.Target.Password, Workers: l.Workers.Number,
			Command: o.Recording.Command, Flags: o.Recording.Flags, Extra: o.Recording.Extra, WaitNs: int64(l.Options.Wait),
			IntervalNs: int64(settings.Interval), Redistribute: l.Workers.OnLost == scale.Redistribute,
			Named: o.Named, Faults: l.Options.Faults.Allowed,
			StartDown: l.Open != nil && l.Plan.Target.Options["lazy"] == "on",
			Adaptive:  slices.ContainsFunc(l.Plan.Load, func(p plan.Phase) bool { return p.Adaptive != nil }),
			Asks:      l.Next != nil, Script: l.Script,
		},
		Next: d.nextPhases(),
	})
	if err != nil {
		return errors.Join(err, d.discard())
	}
	return nil
}

// textOf returns a plan as text, and the secrets that the text hides from workers. Those of faults are not among them:
// the coordinator carries out the faults.
func textOf(p *plan.Plan) (text []byte, secrets map[string]string, err error) {
	shared := *p
	shared.Faults = nil
	if secrets, err = planfile.SecretValues(&shared); err == nil {
		text, err = planfile.Write(p)
	}
	return text, secrets, exitcode.Usage(err)
}

// identify gives the load its ticket, or that which brunt ticket made before. It returns the ticket with the
// coordinator's certificate.
func (d *leading) identify() (pair *scale.Pair, err error) {
	w := &d.l.Workers
	if w.On == External {
		if d.pair, err = scale.ReadPair(w.Ticket); err != nil {
			return nil, exitcode.Usage(err)
		}
	}
	least, most := d.lasts()
	if pair = d.pair; pair == nil {
		if pair, err = scale.NewPair(record.NewID(), nil, most); err != nil {
			return nil, err
		}
	} else if err := validFor(pair, least, time.Now()); err != nil {
		return nil, exitcode.Usage(fmt.Errorf("%s: %w", w.Ticket, err))
	}
	d.ticket = pair.Ticket
	if w.On == Slurm {
		d.slurm = &scale.Slurm{Run: d.ticket.Run, Workers: w.Number, Options: w.Slurm}
	}
	return pair, nil
}

// lasts returns how long the run lasts from now on, at least and at most: until the workers have joined, the load is
// over, and the workers have sent their bundles.
func (d *leading) lasts() (least, most time.Duration) {
	patience := d.l.Workers.patience()
	if d.l.Script == nil && d.l.Next == nil && !d.fills {
		if load := deadline(d.l.Plan); load != deadlineUnknown {
			return load - deadlineBeyond, patience + load
		}
	}
	return 0, patience + unknownRun
}

// unknownRun is how long tickets are valid for loads without a known duration.
const unknownRun = 7 * 24 * time.Hour

// validFor returns an error if the certificates of a pair that was made before end before the run does.
func validFor(pair *scale.Pair, run time.Duration, now time.Time) error {
	_, until, err := pair.Coordinator.Valid()
	if err == nil && until.Before(now.Add(run)) {
		err = fmt.Errorf("the ticket is valid until %s, before the end of this run: make a new one with brunt ticket --valid",
			until.UTC().Format(time.RFC3339))
	}
	return err
}

// address returns the host:port at which the coordinator listens. Port 0 means a free port.
func (w *Workers) address() string {
	switch {
	case w.Listen != "":
		return w.Listen
	case w.On == SSH, w.On == Slurm, w.On == Kubernetes:
		return ":0"
	}
	return "127.0.0.1:0"
}

// workers returns the folder of the workers' bundles.
func (d *leading) workers() string { return filepath.Join(d.dir, record.WorkersFolder) }

// discard removes the workers' bundles and, if its path was not given, the folder of the record.
func (d *leading) discard() error {
	err := d.c.Discard()
	if d.l.Record.Dir == "" {
		err = errors.Join(err, os.Remove(d.dir))
	}
	return err
}

// tell reports an event of the workers as a notice, if the caller wants notices.
func (d *leading) tell(text string) {
	if d.v.Notice != nil {
		d.v.Notice(record.Warning{ID: WorkerNotice, Text: message.OfError(errors.New(text))})
	}
}

// begun returns the records of workers that are ready: begun is the merged record, parts are those of the workers.
func (d *leading) begun() (begun *record.Run, parts []*record.Recorded, err error) {
	if parts, err = d.c.Bundles(); err != nil {
		return nil, nil, err
	}
	begun, _, err = record.Merge(parts...)
	if err == nil && d.l.Script != nil {
		scale.LiveScript(begun, parts)
	}
	return begun, parts, err
}

// join starts the workers and waits until they are ready.
func (d *leading) join(ctx context.Context, out *Outputs) error {
	gathering, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if err := d.launch(ctx, fail, out); err != nil {
		return err
	}
	err := d.c.Gather(gathering)
	if err == nil {
		return nil
	}
	if ctx.Err() == nil && gathering.Err() != nil {
		err = context.Cause(gathering) // the engine's error is the cause
	}
	return d.whereabouts(err)
}

// launch starts the workers, directly or through an engine such as Slurm. With Kubernetes, fail is called with the
// reason if the cluster can't start them before the load.
func (d *leading) launch(ctx context.Context, fail context.CancelCauseFunc, out *Outputs) error {
	switch d.l.Workers.On {
	case Kubernetes:
		return d.onCluster(ctx, fail)
	case External:
		return d.external(out)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if d.slurm != nil {
		return d.overSlurm(out, self)
	}
	command, err := d.local(self)
	if d.ssh != nil {
		command = d.overSSH()
	}
	if err != nil {
		return err
	}
	for k := range d.l.Workers.Number {
		t := d.ticket
		t.Worker = k
		cmd, alive := command(k, &t)
		prefix := fmt.Sprintf("brunt: worker %d: ", k+1)
		err := d.processes.Start(cmd, &t, out.Err, prefix, func(state *os.ProcessState) {
			if d.c.StartNs() == 0 || alive == nil || !alive(state) {
				d.c.Exited(k, state.String())
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// launcher completes the ticket of worker k, counted from 0, and returns the command that starts the worker. alive, if
// not nil, reports whether the worker may still run although the command has ended.
type launcher func(k int, t *scale.Ticket) (cmd *exec.Cmd, alive func(*os.ProcessState) bool)

// local returns a launcher that starts workers as processes on this machine.
func (d *leading) local(self string) (launcher, error) {
	spools, err := filepath.Abs(d.workers())
	port := strconv.Itoa(d.c.Port())
	return func(k int, t *scale.Ticket) (*exec.Cmd, func(*os.ProcessState) bool) {
		t.Addresses = []string{net.JoinHostPort("127.0.0.1", port)}
		t.Dir = filepath.Join(spools, strconv.Itoa(k+1)+".spool")
		cmd := exec.Command(self, WorkerCommand)
		cmd.Args[0] = "brunt" // this process may have been started under another name
		return cmd, nil
	}, err
}

// overSSH returns a launcher that starts workers on the hosts, round-robin. The program was copied to the hosts
// before.
func (d *leading) overSSH() launcher {
	s := d.ssh
	host, _, _ := net.SplitHostPort(d.l.Workers.Listen) // "" lets the worker find the host
	address := net.JoinHostPort(host, strconv.Itoa(d.c.Port()))
	return func(k int, t *scale.Ticket) (*exec.Cmd, func(*os.ProcessState) bool) {
		t.Addresses = []string{address}
		return s.Command(s.Hosts[k%len(s.Hosts)]), s.LostConnection
	}
}

// stops makes the workers end the load when ctx ends, and end it without waiting for answers when hard is closed. After
// release, neither has an effect.
func (d *leading) stops(ctx context.Context, hard <-chan struct{}) (release func()) {
	cancel := context.AfterFunc(ctx, func() { d.c.Stop(false, engine.StoppedBy(ctx)) })
	over := make(chan struct{})
	go func() {
		select {
		case <-hard:
			d.c.Stop(true, message.Message{})
		case <-over:
		}
	}()
	return func() {
		cancel()
		close(over)
	}
}

// drive starts the load and follows it until all workers have ended it.
func (d *leading) drive(ctx context.Context, hard <-chan struct{}, begun *record.Run, parts []*record.Recorded,
	sinks []measure.Sink, r *runner.Runner) error {
	defer d.stops(ctx, hard)()
	lead := startLead
	for _, part := range parts {
		if w := part.Run.Worker; w != nil {
			lead = max(lead, startLead+uncertainties*time.Duration(w.ClockUncertaintyNs))
		}
	}
	if d.slurm != nil {
		d.slurm.Begun()
	}
	if r == nil {
		d.c.Start(lead)
		return d.follow(begun, parts, sinks, 0)
	}
	leader := r.Leader(d.decided)
	leader.Begin()
	r.KeepFaults(d.healed(), d.c.NoteFault)
	start := d.c.At(d.c.Start(lead))
	over := d.doFaults(ctx, r, func() {
		protocol.Sleep(ctx, time.Until(start))
		r.BeginFaults(ctx, d.c.Epoch())
	})
	err := d.follow(begun, parts, append([]measure.Sink{leader}, sinks...), r.Workload.Total)
	over(err)
	return err
}

// follow passes the workers' intervals to sinks until all workers have ended their load. It stops the load if a rule
// requires it. queue is the number of operations of the load; 0 if it is unlimited.
func (d *leading) follow(begun *record.Run, parts []*record.Recorded, sinks []measure.Sink, queue uint64) error {
	p := d.l.Plan
	d.watch = verdict.NewWatch(verdict.Rules{Thresholds: p.Thresholds, ErrorPercent: p.Settings.ErrorThreshold,
		Queue: queue, Operations: begun.OperationNames()})
	all := append([]measure.Sink{&d.sum, d.watch.Windows()}, sinks...)
	told := map[string]bool{} // a failure that lasts is told once, not every interval
	return d.c.Follow(begun, parts, func(iv *measure.Interval) error {
		for _, s := range all {
			if err := s.Interval(iv); err != nil && !told[err.Error()] {
				told[err.Error()] = true
				d.tell(err.Error())
			}
		}
		if why := d.watch.Check(d.sum.Total(), iv.EndNs); !why.IsZero() {
			d.c.Stop(false, why)
		}
		d.judgeScript()
		return nil
	})
}

// judgeScript ends the load of a script if a threshold that may end it fails for all workers taken together. As in k6,
// no threshold ends the load in the first scriptPatience.
func (d *leading) judgeScript() {
	elapsed := time.Since(d.c.At(d.c.StartNs()))
	if d.l.Script == nil || d.broken != "" || elapsed < scriptPatience {
		return
	}
	if d.broken = verdict.AbortScript(d.c.Rules(), int64(elapsed)); d.broken != "" {
		d.c.Stop(false, message.New("stop.threshold", message.Text("threshold", d.broken), message.Span("after", elapsed)))
	}
}

// scriptPatience is the time after the start in which no threshold ends the load of a script.
const scriptPatience = 2 * time.Second

// decided sends a decision about an adaptive phase to the workers.
func (d *leading) decided(x engine.Decided) {
	d.c.Decide(scale.Decision{Phase: x.Phase, UntilNs: x.UntilNs, Control: x.Control}, x.State)
}

// healed returns the path of the file in which the watchdog records the faults that it healed after this process was
// killed.
func (d *leading) healed() string { return filepath.Join(d.workers(), "healed.ndjson") }

// doFaults calls begin, which begins to inject the plan's faults, in a new goroutine. It heals the faults when the load
// is over on all workers, and calls the hook Sent. After that, the workers may read back what they wrote. wait waits
// for the goroutine. If following the load failed, or once ctx ends, it doesn't wait for the workers.
func (d *leading) doFaults(ctx context.Context, r *runner.Runner, begin func()) (wait func(failed error)) {
	done := make(chan struct{})
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(done)
		begin()
		for d.c.WaitSent(waiting) == nil && d.c.AwaitReturn(waiting) { // workers that were all lost are back
		}
		d.faults, d.warnings = r.EndFaults()
		_ = os.Remove(d.healed()) // the file exists only if the watchdog healed faults
		d.v.CallSent(ctx)
		d.c.AllSent()
	}()
	return func(failed error) {
		if failed != nil {
			cancel()
		}
		defer context.AfterFunc(ctx, cancel)()
		<-done
		cancel()
	}
}

// nextPhases returns a function that returns the next phases, in JSON, of a load whose phases are decided while it
// runs. It returns nil for other loads.
func (d *leading) nextPhases() func() json.RawMessage {
	if d.l.Next == nil {
		return nil
	}
	return func() json.RawMessage {
		text, err := json.Marshal(d.l.Next(&d.sum))
		if err != nil || string(text) == "null" {
			return json.RawMessage("[]")
		}
		return text
	}
}

// finish waits for the workers' bundles, stops the workers and joins the bundles. It returns the joined record. failed
// is the error of following the load, after which the load ends without a result.
func (d *leading) finish(ctx context.Context, hard <-chan struct{}, out *Outputs, load *workload.Workload,
	failed error) (*record.Run, error) {
	if d.v.Ended != nil {
		d.v.Ended()
	}
	if failed != nil {
		d.abandon(ctx)
		return nil, errors.Join(failed, d.release())
	}
	waiting, cancel := protocol.Until(context.WithoutCancel(ctx), hard)
	defer cancel()
	home := d.c.Receive(waiting, lostGrace)
	released := d.release()
	parts, err := d.parts(home)
	if err != nil {
		return nil, errors.Join(err, released)
	}
	parts[0].Run.AddFaults(d.faults)
	run, err := Join(d.dir, parts, func(run *record.Run) {
		run.Warnings = append(run.Warnings, d.warnings...)
		d.f.live.finish(run, load)
		out.warnLostLines(run)
		run.Command = d.command
		for name, value := range d.l.Options.Recording.Extra { // the hooks may have added values
			if run.Extra == nil {
				run.Extra = map[string]string{}
			}
			run.Extra[name] = value
		}
		run.Aborted = d.c.Aborted()
		run.Interrupted = ctx.Err() != nil && engine.StoppedBy(ctx).IsZero() || d.c.Interrupted()
		if i := d.watch.Aborted(); i >= 0 && i < len(run.Thresholds) {
			run.Thresholds[i].Aborted = true
		}
	})
	if released != nil { // the result is complete nevertheless
		d.tell(released.Error())
	}
	if run != nil && err != nil { // an error of the record, after the load
		var folders []string
		for _, p := range parts {
			folders = append(folders, p.Dir)
		}
		err = exitcode.With(exitcode.Other, fmt.Errorf("%w; the load was sent, and the workers' bundles are in %s: when there "+
			"is room, brunt merge joins them", err, strings.Join(folders, " and ")))
	}
	return run, err
}

// abandon ends the load at all workers without a result.
func (d *leading) abandon(ctx context.Context) {
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonPatience)
	defer cancel()
	d.end(timed)
}

// end ends the load at all workers, and waits for their bundles until ctx ends.
func (d *leading) end(ctx context.Context) {
	d.c.Stop(true, message.Message{})
	d.c.AllSent()
	d.c.Receive(ctx, lostGrace)
}

// workloadOf returns the workload of r; nil if r is nil, as for scripts.
func workloadOf(r *runner.Runner) *workload.Workload {
	if r == nil {
		return nil
	}
	return r.Workload
}

// parts opens the workers' bundles. The bundle of a lost worker ends at the time at which the worker was lost.
func (d *leading) parts(home []scale.Part) (parts []*record.Recorded, err error) {
	for _, h := range home {
		if d.l.Workers.On != Local {
			h.Spool = "" // the files are on another machine
		}
		part, err := openPart(&h)
		if err != nil {
			return nil, fmt.Errorf("worker %s: %w", h.Name, err)
		}
		part.Run.DropDistributions()
		parts = append(parts, part)
		if !h.Lost {
			continue
		}
		if part.Run.Worker == nil {
			part.Run.Worker = &record.Worker{Name: h.Name}
		}
		w := part.Run.Worker
		w.LostNs, w.GivenNs, w.Lost = max(h.LostNs, 1), h.GivenNs, h.Why
	}
	for i, h := range home {
		if h.Lost && d.l.Script != nil {
			parts[i].Run.Thresholds = unjudged(parts)
		}
	}
	for _, p := range parts {
		for i := range p.Run.Thresholds {
			if t := &p.Run.Thresholds[i]; d.broken != "" && t.Text == d.broken {
				t.Pass, t.Aborted = false, true
			}
		}
	}
	endless := d.l.Script != nil || !d.c.Redistributes() && slices.ContainsFunc(d.l.Plan.Load, func(p plan.Phase) bool {
		return p.Kind == plan.Closed && p.Operations == 0
	})
	countMissing(parts, endless, d.c.Unneeded())
	return parts, nil
}

// unjudged returns the thresholds of a script for a worker that was lost before it evaluated them. Their aggregates
// have no values.
func unjudged(parts []*record.Recorded) (all []record.Threshold) {
	for _, p := range parts {
		if len(p.Run.Thresholds) > len(all) {
			all = slices.Clone(p.Run.Thresholds)
		}
	}
	for i := range all {
		if a := all[i].Aggregate; a != nil {
			none := *a
			none.Values, all[i].Aggregate = 0, &none
		}
	}
	return all
}

// openPart opens the bundle of a worker. Of a lost worker it takes the longer one of two: the files that the worker
// wrote, if they can be read from this machine, and those that it sent. A worker on a full disk has sent more.
func openPart(h *scale.Part) (*record.Recorded, error) {
	if !h.Lost {
		return record.Open(record.OS{}, h.Dir)
	}
	part, run, err := openUnfinished(h.Dir)
	if h.Spool != "" {
		own, ran, failed := openUnfinished(h.Spool)
		if failed == nil && (err != nil || ran.DurationNs >= run.DurationNs) {
			part, run, err = own, ran, nil
		}
	}
	if err != nil {
		return nil, err
	}
	run.Complete = true
	part.Run = run
	return part, nil
}

// openUnfinished opens a bundle whose run wasn't finished, and returns its result so far.
func openUnfinished(dir string) (part *record.Recorded, run *record.Run, err error) {
	if part, err = record.Open(record.OS{}, dir); err == nil {
		run, _, err = part.Result()
	}
	return part, run, err
}
