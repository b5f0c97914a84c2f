package loadtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/engine"
	"brunt/internal/judge/exitcode"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/record"
	"brunt/internal/run/runner"
	"brunt/internal/run/scale"
	"brunt/internal/run/scale/kubernetes"
	"brunt/internal/server/fault"
)

// journal returns the path of the file from which the load can be resumed if this process is killed.
func (d *leading) journal() string { return filepath.Join(d.workers(), scale.JournalFile) }

// Keys of scale.Options.Extra.
const (
	extraOn     = "on"     // Workers.On
	extraScript = "script" // the script's name
	extraAsks   = "asks"   // "yes": the coordinator chooses the phases

	extraJob        = "job" // the name of the Job in Kubernetes, and how its API server is reached
	extraKubeconfig = "kubeconfig"
	extraContext    = "context"
	extraNamespace  = "namespace"
)

// extra returns what the journal keeps for Resume.
func (d *leading) extra() map[string]string {
	all := map[string]string{extraOn: d.l.Workers.On}
	if d.l.Script != nil {
		all[extraScript] = d.l.Script.Name
	}
	if d.l.Next != nil {
		all[extraAsks] = "yes"
	}
	if d.l.Workers.On == Kubernetes {
		s := &d.l.Workers.Cluster.Source
		all[extraJob] = kubernetes.Name(d.l.Plan.Name, d.ticket.Run)
		all[extraKubeconfig], all[extraContext], all[extraNamespace] = kubeconfigs(s), s.Context, s.Namespace
	}
	return all
}

// Resume continues a load by workers whose coordinator was killed. dir is the bundle of that load. Resume listens at
// the coordinator's address, receives what the workers have sent since, and prints the result. Tables that the load
// created are not dropped.
func (l *Test) Resume(dir string, stdout, stderr io.Writer) error {
	if err := l.readResumed(dir); err != nil {
		return exitcode.Usage(err)
	}
	l.Live.Watched = []string{record.WatchedNoHost} // keep the samples that the coordinator took
	return l.perform(stdout, stderr, func(ctx context.Context, hard <-chan struct{}, out *Outputs, v *runner.Hooks) (
		*record.Run, string, error) {
		run, err := l.resume(ctx, hard, out, v, dir)
		return run, dir, err
	})
}

// readResumed reads what a load of workers sends.
func (l *Test) readResumed(dir string) error {
	path := filepath.Join(dir, record.WorkersFolder, "1", record.PlanFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: no load of workers was begun there (%w); name the folder of a load of workers, a series or "+
			"a campaign", dir, err)
	}
	extra := scale.ExtraOf(filepath.Join(dir, record.WorkersFolder, scale.JournalFile))
	if extra[extraAsks] != "" {
		return errors.New("this load is a trial, whose phases a search chooses: go on with brunt search --resume")
	}
	if name := extra[extraScript]; name != "" {
		l.Script, l.Plan = &scale.Script{Name: name}, &plan.Plan{Name: filepath.Base(dir)}
		return nil
	}
	l.Plan, err = planfile.Read(path, text)
	return err
}

// resumed returns the runner that injects the faults and decides the rates of a load whose coordinator was killed; nil
// for scripts.
func (l *Test) resumed(o runner.Options) (*runner.Runner, error) {
	if l.Script != nil {
		return nil, nil
	}
	asks := func(f plan.Fault) bool { return f.Kind == plan.FaultRequest || f.Kind == plan.FaultHTTP }
	if slices.ContainsFunc(l.Plan.Faults, asks) { // they need the secrets that the record doesn't hold
		if p := os.Getenv("BRUNT_PASSWORD"); p != "" && l.Plan.Target.Password == secret.Hidden {
			l.Plan.Target.Password = p
		}
		if err := planfile.Secrets(l.Plan, os.LookupEnv); err != nil {
			return nil, exitcode.Usage(err)
		}
	}
	o.Faults.Allowed, o.Faults.Does, o.Faults.Resumes = true, fault.OfServers, true
	r, err := runner.Resumed(l.Plan, o)
	return r, exitcode.Usage(err)
}

// continueFaults is doFaults of a load whose coordinator was killed.
func (d *leading) continueFaults(ctx context.Context, r *runner.Runner) (wait func(failed error)) {
	if r == nil {
		waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
		go func() {
			_ = d.c.WaitSent(waiting) // fails only if following the load ends it too
			d.c.AllSent()
		}()
		return func(error) { cancel() }
	}
	epoch := d.c.Epoch()
	past := &fault.Past{Epoch: epoch, StartNs: d.c.StartNs() - epoch.UnixNano(), Faults: d.c.Faults(), Log: d.healed(),
		Note: d.c.NoteFault}
	return d.doFaults(ctx, r, func() { r.ResumeFaults(ctx, past) })
}

// continueLeading returns what decides the rates of a load whose coordinator was killed.
func (d *leading) continueLeading(r *runner.Runner) []measure.Sink {
	if r == nil {
		return nil
	}
	var all []engine.Decided
	decisions, states := d.c.Decided()
	for _, x := range decisions {
		all = append(all, engine.Decided{Phase: x.Phase, UntilNs: x.UntilNs, Control: x.Control, State: states[x.Phase]})
	}
	leader, epoch := r.Leader(d.decided), d.c.Epoch()
	leader.Resume(all, func() int64 { return int64(time.Since(epoch)) })
	return []measure.Sink{leader}
}

func (l *Test) resume(ctx context.Context, hard <-chan struct{}, out *Outputs, v *runner.Hooks, dir string) (
	run *record.Run, err error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer boundGC()()
	f, o, err := l.follow(out, hard, v, end)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	r, err := l.resumed(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closed(r)) }()
	d := &leading{l: l, v: v, f: f, dir: dir}
	c, extra, err := scale.Resume(scale.Options{Dir: d.workers(), Tell: d.tell,
		Journal: filepath.Join(d.workers(), scale.JournalFile)})
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	leave := c.CloseResumable // so that resuming can be tried again
	defer func() { err = errors.Join(err, leave()) }()
	d.c, l.Workers.On = c, extra[extraOn]
	d.adopt(extra)
	begun, parts, err := d.begun()
	if err != nil {
		return nil, err
	}
	d.command = begun.Command
	if v.Began != nil {
		v.Began(begun)
	}
	f.live.processes.Remote = l.Workers.On != Local
	if err := f.live.start(begun, dir); err != nil {
		return nil, Failure(ctx, err)
	}
	f.page.start(begun)
	leave = c.Close
	release := d.stops(ctx, hard)
	over := d.continueFaults(ctx, r)
	queue, load := uint64(0), workloadOf(r)
	if load != nil {
		queue = load.Total
	}
	err = d.follow(begun, parts, append(d.continueLeading(r), o.Hooks.Sinks...), queue)
	over(err)
	release()
	if run, err = d.finish(ctx, hard, out, load, err); run == nil {
		return nil, err
	}
	return run, errors.Join(err, f.page.finish(run, dir, o.Recording.Plan))
}
