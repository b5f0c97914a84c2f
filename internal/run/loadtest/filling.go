package loadtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/run/runner"
	"brunt/internal/run/scale"
	"brunt/internal/server/schema"
	"brunt/internal/server/schema/fill"
)

// Filling fills the tables of a plan by workers.
type Filling struct {
	Plan       *plan.Plan
	Workers    Workers
	Sessions   int    // sessions of each worker
	Checkpoint string // checkpoint of the whole load
	Version    string // version of brunt
}

// fillInterval is the interval of workers that fill tables. A worker that sends nothing for 2.5 intervals is lost. The
// interval is long, because losing a worker late costs little: only its part is delayed.
const fillInterval = 4 * time.Second

// progressEvery is how often the progress of all workers is reported.
const progressEvery = 500 * time.Millisecond

// Fill fills the parts by workers and returns their reports. If workers were lost, the error names them. The other
// workers have filled their parts by then. If the workers have not begun, the error is a *fill.NotBegunError.
func (f *Filling) Fill(ctx context.Context, hard <-chan struct{}, out *Outputs, s *fill.Shared) (
	all []fill.TableReport, err error) {
	begun := false
	defer func() {
		if err != nil && !begun {
			err = &fill.NotBegunError{Err: err}
		}
	}()
	d := &leading{l: &Test{Plan: f.Plan, Workers: f.Workers}, fills: true, v: &runner.Hooks{Notice: Notices(out)}}
	if err := d.preflight(ctx); err != nil {
		return nil, workerError(err)
	}
	if d.dir, err = os.MkdirTemp("", "brunt-fill-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	if err := d.openFilling(f, s); err != nil {
		return nil, workerError(err)
	}
	defer func() { err = errors.Join(err, d.c.Close()) }()
	defer func() { err = errors.Join(err, d.release()) }()
	if err := d.join(ctx, out); err != nil {
		d.c.Stop(true, message.Message{})
		return nil, workerError(err)
	}
	if d.slurm != nil {
		d.slurm.Begun()
	}
	defer d.stops(ctx, hard)()
	begun = true
	d.c.Start(startLead)
	home := d.filled(ctx, hard, s)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return f.sum(home)
}

// openFilling creates the coordinator of workers that fill tables.
func (d *leading) openFilling(f *Filling, s *fill.Shared) error {
	text, secrets, err := textOf(f.Plan)
	if err != nil {
		return err
	}
	pair, err := d.identify()
	if err != nil {
		return err
	}
	job := &scale.Fill{ID: s.ID, Resumed: s.Resumed, Tables: s.Tables, Sessions: f.Sessions}
	if f.Workers.On == Local {
		if job.Checkpoint, err = filepath.Abs(f.Checkpoint); err != nil {
			return err
		}
	}
	d.c, err = scale.Listen(scale.Options{
		Run: pair.Ticket.Run, Version: f.Version, Workers: f.Workers.Number, Dir: d.workers(),
		Listen: f.Workers.address(), Identity: pair.Coordinator, Interval: fillInterval, Patience: f.Workers.patience(),
		MixedCores: true, OnLost: scale.GoOn, Tell: d.tell, Waiting: d.waiting,
		Job: scale.Job{Run: pair.Ticket.Run, Plan: text, Secrets: secrets, Password: f.Plan.Target.Password,
			Workers: f.Workers.Number, IntervalNs: int64(fillInterval), Fill: job},
	})
	return exitcode.Usage(err)
}

// filled waits until all workers have ended, and reports the number of rows while it waits.
func (d *leading) filled(ctx context.Context, hard <-chan struct{}, s *fill.Shared) []scale.Part {
	waiting, cancel := protocol.Until(context.WithoutCancel(ctx), hard)
	told := make(chan struct{})
	go func() {
		defer close(told)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-waiting.Done():
				return
			case <-tick.C:
				s.Told(d.c.Rows())
			}
		}
	}()
	d.c.WaitFilled(waiting)
	home := d.c.Receive(waiting, lostGrace)
	cancel()
	<-told
	return home
}

// sum returns the reports of all workers, or an error that names the workers without one.
func (f *Filling) sum(home []scale.Part) (all []fill.TableReport, err error) {
	var lost []string
	for _, h := range home {
		var tables []fill.TableReport
		if h.Lost || json.Unmarshal(h.Filled, &tables) != nil {
			lost = append(lost, h.Name)
			continue
		}
		all = append(all, tables...)
	}
	if len(lost) > 0 {
		return nil, fmt.Errorf("lost worker %s: the tables aren't full; the same command goes on from %s",
			strings.Join(lost, ", worker "), f.Checkpoint)
	}
	return all, nil
}

// fillShare fills a worker's part of the tables.
func fillShare(ctx context.Context, w *scale.Worker) error {
	filled, err := fillPart(ctx, w)
	stopped := false
	select {
	case <-w.Stopped():
		stopped = true
	default:
	}
	switch {
	case errors.Is(err, scale.ErrCalledOff):
		return exitcode.With(exitcode.Interrupted, nil)
	case err == nil:
		return w.EndFill(filled)
	case stopped:
		return exitcode.With(exitcode.Interrupted, w.EndFill(nil))
	case ctx.Err() != nil:
		err = exitcode.With(exitcode.Interrupted, errors.New("it was told to stop, or its coordinator is gone"))
	default:
		err = workerError(Failure(ctx, err))
	}
	w.Fail(err, exitcode.Of(err))
	return exitcode.With(exitcode.Of(err), nil)
}

func fillPart(ctx context.Context, w *scale.Worker) (json.RawMessage, error) {
	job := w.Job.Fill
	p, err := planOf(&w.Job)
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	o := schema.PartOptions{
		Part: fill.Part{Number: w.Number(), Of: w.Job.Workers}, Tables: job.Tables, Resumed: job.Resumed,
		Sessions: job.Sessions, Progress: func(p fill.Progress) { w.SetRows(p.AllDone) },
	}
	whole := job.Checkpoint
	if whole == "" {
		whole = ownCheckpoint(job.ID)
	}
	o.Checkpoint = o.Part.File(whole)
	if _, err := w.Await(ctx); err != nil {
		return nil, err
	}
	tables, err := schema.FillPart(ctx, p, o)
	if err != nil {
		return nil, err
	}
	if w.FillOver(ctx) && job.Checkpoint == "" {
		if err := os.Remove(o.Checkpoint); err != nil {
			return nil, err
		}
	}
	return json.Marshal(tables)
}

// ownCheckpoint returns the path of the checkpoint of a worker on another machine.
func ownCheckpoint(id string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir() // the user has no home directory
	}
	return filepath.Join(dir, "brunt", "fill", record.SafeName(id))
}
