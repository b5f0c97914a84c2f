package etcdbench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/load/gen"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
	"brunt/internal/server/target"
)

// execution is a load that prints what benchmark prints.
type execution struct {
	o      *Options
	plan   *plan.Plan
	report bool // also print brunt's own report, and exit by its verdict
	quiet  bool

	out     *loadtest.Outputs
	meter   *Meter
	watched *watchProgram      // nil: not a command that watches
	stop    context.CancelFunc // ends compactions
	stopped chan struct{}
}

// hooks returns hooks that print benchmark's report.
func (e *execution) hooks(out *loadtest.Outputs) (runner.Hooks, error) {
	e.out, e.meter = out, NewMeter(len(e.plan.Operations), e.o.Service || strings.HasPrefix(e.o.Command, "watch"))
	v := runner.Hooks{
		Sinks: []measure.Sink{e.meter}, Prepare: e.prepare,
		Attach: func(w *workload.Workload) { e.watched, _ = w.Scripts().(*watchProgram) },
		Ready:  func(context.Context) error { e.compact(); return nil },
		Sent:   func(context.Context) { e.endCompactions() },
		Close:  func() error { e.endCompactions(); return nil }, Result: e.result, Exit: e.exit,
	}
	if !e.quiet {
		v.Notice = loadtest.Notices(out)
	}
	return v, nil
}

// prepare prints what benchmark prints before a load.
func (e *execution) prepare(context.Context) error {
	switch e.o.Consistency {
	case "l":
		fmt.Fprintln(e.out.Out, "bench with linearizable range")
	case "s":
		fmt.Fprintln(e.out.Out, "bench with serializable range")
	}
	return nil
}

// compactTimeout limits each of the two requests of a compaction.
const compactTimeout = 5 * time.Second

// compact starts to compact the database every --compact-interval.
func (e *execution) compact() {
	if e.o.Compact <= 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.stop, e.stopped = cancel, make(chan struct{})
	go func() {
		defer close(e.stopped)
		last := int64(0)
		for protocol.Sleep(ctx, e.o.Compact) {
			compacted, err := e.compactOnce(ctx, last)
			if err != nil && ctx.Err() == nil {
				fmt.Fprintf(e.out.Err, "brunt: compaction: %v\n", err)
			}
			last = max(last, compacted)
		}
	}()
}

// compactOnce compacts the database, unless there is nothing to compact after the revision last. It returns the
// revision to which it is compacted.
func (e *execution) compactOnce(ctx context.Context, last int64) (revision int64, err error) {
	get := worded("get", "foo")
	get.Capture = []protocol.Capture{{Name: "revision", Kind: gen.Int}}
	got, err := e.ask(ctx, get)
	if err != nil {
		return 0, err
	}
	if revision = got[0].I - e.o.CompactDelta; revision <= last {
		return 0, nil
	}
	_, err = e.ask(ctx, worded("compact", strconv.FormatInt(revision, 10)))
	return revision, err
}

func (e *execution) endCompactions() {
	if e.stop != nil {
		e.stop()
		<-e.stopped
		e.stop = nil
	}
}

func worded(words ...string) protocol.Request {
	return protocol.Request{Verb: protocol.Command, Words: words}
}

// ask sends requests to the first address over a connection of their own, and returns what they capture.
func (e *execution) ask(ctx context.Context, requests ...protocol.Request) (captured []gen.Value, err error) {
	p := *e.plan
	p.Target.Addresses, p.Target.Balance, p.Target.Topology = p.Target.Addresses[:1], plan.Balance{}, plan.Topology{}
	p.Operations, p.Prepare = nil, nil
	ctx, cancel := context.WithTimeout(ctx, compactTimeout)
	defer cancel()
	session, err := target.Connect(ctx, &p)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	for _, r := range requests {
		var reply protocol.Reply
		if err := session.Do(ctx, r, nil, &reply); err != nil {
			return nil, err
		}
		if err := reply.Err(); err != nil {
			return nil, err
		}
		for i := range reply.Captured {
			captured = append(captured, reply.Captured[i].Clone())
		}
	}
	return captured, nil
}

// result prints the report.
func (e *execution) result(run *record.Run, dir string) error {
	out := e.out.Out
	if err := loadtest.Drain(out); err != nil {
		return err
	}
	if err := e.print(out, run); err != nil {
		return err
	}
	if e.o.HashKV {
		if err := e.hash(out); err != nil {
			return err
		}
	}
	if e.o.PerfDash {
		if err := e.perfDash(out); err != nil {
			return err
		}
	}
	if !e.quiet {
		command.Tell(e.out, run, dir)
	}
	if e.report {
		return (&loadtest.Report{}).Print(out, run, dir)
	}
	return nil
}

func (e *execution) print(out io.Writer, run *record.Run) (err error) {
	failures := errorsOf(run)
	if e.watched != nil {
		return e.printWatch(out, failures)
	}
	if e.o.Command != "txn-mixed" {
		r := e.meter.Report(e.o, 0)
		r.Errors = failures
		end := "" // some of benchmark's commands end with an empty line
		if e.o.Command == "put" || e.o.Command == "txn-put" {
			end = "\n"
		}
		_, err = io.WriteString(out, r.String()+end)
		return err
	}
	for i, title := range []string{"Read", "Write"} {
		r := e.meter.Report(e.o, i)
		all, failed := e.meter.Count(i)
		if failed > 0 {
			r.Errors = failures
		}
		if _, err := fmt.Fprintf(out, "Total %s Ops: %d\nDetails:%s\n", title, all, r); err != nil {
			return err
		}
	}
	return nil
}

// printWatch prints the reports of a command that watches.
func (e *execution) printWatch(out io.Writer, failures []ErrorCount) error {
	type part struct {
		title string
		r     *Report
	}
	w, operation := e.watched, func(name string) *Report {
		for i := range e.plan.Operations {
			if e.plan.Operations[i].Name == name {
				return e.meter.Report(e.o, i)
			}
		}
		return nil
	}
	var parts []part
	switch e.o.Command {
	case "watch":
		made, events := operation(opWatch), operation(opEvent)
		made.Total, events.Total = w.making.to.Sub(w.making.from), w.receiving.to.Sub(w.receiving.from)
		events.Times = w.received
		parts = []part{{"Watch creation summary:\n", made}, {"Watch events received summary:\n", events}}
	case "watch-latency":
		events := operation(opEvent)
		events.Times = w.latencies()
		parts = []part{{"\nPut summary:\n", operation(opPut)}, {"\nWatch events summary:\n", events}}
	default:
		parts = []part{{"Get during watch summary:\n", operation(opGet)}}
	}
	parts[len(parts)-1].r.Errors = failures
	for _, p := range parts {
		if _, err := io.WriteString(out, p.title+p.r.String()); err != nil {
			return err
		}
	}
	return nil
}

// errorsOf returns the failures of a run. The record counts them for all operations together.
func errorsOf(run *record.Run) (all []ErrorCount) {
	for _, f := range run.Failures {
		all = append(all, ErrorCount{f.Text, f.Count})
	}
	return all
}

// hash asks for the hash of the database and prints it.
func (e *execution) hash(out io.Writer) error {
	began := time.Now()
	hash, status := worded("hashkv"), worded("status")
	hash.Capture = []protocol.Capture{{Name: "hash", Kind: gen.Int}}
	status.Capture = []protocol.Capture{{Name: "db_size", Kind: gen.Int}}
	got, err := e.ask(context.Background(), hash, status)
	if err != nil {
		return fmt.Errorf("--check-hashkv: %w", err)
	}
	_, err = fmt.Fprintf(out, "HashKV Summary:\n\tHashKV: %d\n\tEndpoint: %s\n\tTime taken to get hashkv: %v\n\tDB size: %s\n",
		got[0].I, strings.TrimSpace(e.o.Endpoints[0]), time.Since(began), decimalSize(uint64(got[1].I)))
	return err
}

// decimalSize formats a number of bytes with prefixes of 1000, with one digit after the point below ten units.
func decimalSize(n uint64) string {
	if n < 10 {
		return fmt.Sprintf("%d B", n)
	}
	prefixes := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	power := math.Floor(math.Log(float64(n)) / math.Log(1000))
	x := math.Floor(float64(n)/math.Pow(1000, power)*10+0.5) / 10
	if x < 10 {
		return fmt.Sprintf("%.1f %s", x, prefixes[int(power)])
	}
	return fmt.Sprintf("%.0f %s", x, prefixes[int(power)])
}

// perfDash writes quantiles in the form of Kubernetes' perf-dash.
func (e *execution) perfDash(out io.Writer) error {
	folder := os.Getenv("ARTIFACTS")
	if folder == "" {
		folder = "./_artifacts"
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	names := []string{e.o.Command}
	if e.o.Command == "txn-mixed" {
		names = []string{"txn-mixed-read", "txn-mixed-write"}
	}
	for i, name := range names {
		text, err := json.MarshalIndent(perfDashOf(name, e.meter.Report(e.o, i)), "", "  ")
		if err != nil {
			return err
		}
		file := fmt.Sprintf("EtcdAPI_benchmark_%s_%s.json", name, time.Now().UTC().Format(time.RFC3339))
		path := filepath.Join(folder, file)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(out, "Successfully created a JSON perf report at", path)
	}
	return nil
}

type perfDashItem struct {
	Data struct {
		Perc50, Perc90, Perc99 float64
	} `json:"data"`
	Labels struct{ Operation string } `json:"labels"`
	Unit   string                     `json:"unit"`
}

type perfDashReport struct {
	Version   string         `json:"version"`
	DataItems []perfDashItem `json:"dataItems"`
}

func perfDashOf(name string, r *Report) perfDashReport {
	item := perfDashItem{Unit: "ms"}
	item.Labels.Operation = strings.ToUpper(name)
	for q, to := range map[float64]*float64{0.5: &item.Data.Perc50, 0.9: &item.Data.Perc90, 0.99: &item.Data.Perc99} {
		*to = math.Round(float64(r.Times.Quantile(q))/1e6*10000) / 10000
	}
	return perfDashReport{"v1", []perfDashItem{item}}
}

// exit returns the error for the exit code. benchmark exits with 0 even if all requests have failed, and has no
// thresholds.
func (e *execution) exit(run *record.Run) error {
	switch {
	case run.Interrupted:
		return exitcode.With(exitcode.Interrupted, nil)
	case e.report || len(run.Thresholds) > 0:
		return exitcode.With(verdict.ExitCode(run), nil)
	}
	return nil
}
