package loadtest

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"brunt/internal/plan"
	"brunt/internal/planfile"
	"brunt/internal/record"
	"brunt/internal/scale"
	"brunt/internal/verdict/exitcode"
	"brunt/internal/workload"
)

// journal returns the path of the file from which the load can be resumed if this process is killed. It returns "" if
// the load can't be resumed, because this process also injects faults or chooses rates or phases.
func (d *leading) journal() string {
	l := d.l
	adaptive := slices.ContainsFunc(l.Plan.Load, func(p plan.Phase) bool { return p.Adaptive != nil })
	if adaptive || l.Next != nil || l.Script != nil || len(l.Plan.Faults) > 0 {
		return ""
	}
	return filepath.Join(d.workers(), scale.JournalFile)
}

// Resume continues a load by workers whose coordinator was killed. dir is the bundle of that load. Resume listens at
// the coordinator's address, receives what the workers have sent since, and prints the result. Tables that the load
// created are not dropped.
func (l *Test) Resume(dir string, stdout, stderr io.Writer) error {
	path := filepath.Join(dir, record.WorkersFolder, "1", record.PlanFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return exitcode.Usage(errors.Join(errors.New("no load of workers was begun there"), err))
	}
	if l.Plan, err = planfile.Read(path, text); err != nil {
		return exitcode.Usage(err)
	}
	l.Live.Watched = []string{noHost} // keep the samples that the coordinator took
	return l.perform(stdout, stderr, func(ctx context.Context, hard <-chan struct{}, out *Outputs, v *Hooks) (*record.Run,
		string, error) {
		run, err := l.resume(ctx, hard, out, v, dir)
		return run, dir, err
	})
}

func (l *Test) resume(ctx context.Context, hard <-chan struct{}, out *Outputs, v *Hooks, dir string) (run *record.Run,
	err error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer boundGC()()
	load, err := workload.Compile(l.Plan)
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	f, o, err := l.follow(out, hard, v, end)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	d := &leading{l: l, v: v, f: f, dir: dir}
	c, extra, err := scale.Resume(scale.Options{Dir: d.workers(), Tell: d.tell,
		Journal: filepath.Join(d.workers(), scale.JournalFile)})
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	d.c, l.Workers.On = c, extra["on"]
	parts, err := c.Begun()
	if err != nil {
		return nil, err
	}
	begun, _, err := record.Merge(parts...)
	if err != nil {
		return nil, err
	}
	d.command = begun.Command
	if v.Began != nil {
		v.Began(begun)
	}
	if err := f.live.start(begun, dir); err != nil {
		return nil, Failure(ctx, err)
	}
	f.page.start(begun)
	release := d.stops(ctx, hard)
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go func() {
		_ = c.WaitSent(waiting) // fails only if following the load ends it too
		c.AllSent()
	}()
	err = d.follow(begun, parts, o.Sinks, load.Total)
	release()
	if v.Ended != nil {
		v.Ended()
	}
	if err != nil {
		return nil, err
	}
	if run, err = d.finish(ctx, hard, out, load); err != nil {
		return nil, err
	}
	return run, f.page.finish(run, dir, o.Recording.Plan)
}
