package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"brunt/internal/export"
	"brunt/internal/inspect"
	"brunt/internal/inspect/servers"
	"brunt/internal/measure"
	"brunt/internal/observe"
	"brunt/internal/record"
	pages "brunt/internal/report/live"
	"brunt/internal/runner"
	"brunt/internal/workload"
)

// liveFlags say where intervals go while they happen, and what is watched beside the load.
type liveFlags struct {
	metricsAddr  string
	destinations []string
	watched      []string
	inspected    []string
	executeDML   bool
	page         string
}

func (f *liveFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&f.metricsAddr, "metrics-addr", "", "serve /metrics for Prometheus at host:port while running")
	fs.StringArrayVar(&f.destinations, "export", nil, "send every interval to influx=URL, prometheus=URL or otlp=URL (repeatable)")
	fs.StringVar(&f.page, "ui", "", "serve a page of the run under way: at a free port of this machine, or at --ui HOST:PORT (beyond loopback it needs a token)")
	fs.Lookup("ui").NoOptDefVal = pages.DefaultAddress
	fs.StringArrayVar(&f.watched, "watch", nil, "sample pid:N, tree:N, url:ADDRESS, node:ADDRESS or cgroup:FOLDER into the record and judge leaks; host:off leaves this machine out (repeatable)")
	fs.StringArrayVar(&f.inspected, "inspect", nil, "ask the database behind the load what it did: pg=postgres://user@host:5432/database (repeatable)")
	fs.BoolVar(&f.executeDML, "inspect-writes", false, "with --inspect: execute statements that write to explain them, in transactions that are rolled back")
}

// live is what goes on beside a load: exporting and watching.
type live struct {
	exporter *export.Exporter
	exports  bool // somebody is told
	watcher  *observe.Watcher
	database *inspect.Watch
	dir      string
	sinks    []measure.Sink
	hard     <-chan struct{}
}

// open begins what the flags ask for. hard ends the sending of what is left at the end; close must be
// called. Errors are the user's.
func (f *liveFlags) open(s *streams, hard <-chan struct{}, quiet bool) (*live, error) {
	sources, err := f.sources()
	if err != nil {
		return nil, usage(fmt.Errorf("--watch: %w", err))
	}
	database, err := f.inspectors()
	if err != nil {
		return nil, err
	}
	if !quiet {
		database.Tell = func(text string) { fmt.Fprintf(s.err, "brunt: note: %s\n", text) }
	}
	exporter, err := export.New(export.Options{MetricsAddr: f.metricsAddr, Destinations: f.destinations})
	if err != nil {
		return nil, usage(fmt.Errorf("--export, --metrics-addr: %w", err))
	}
	if address := exporter.Addr(); address != "" && !quiet {
		fmt.Fprintf(s.err, "brunt: metrics at http://%s/metrics\n", address)
	}
	l := &live{exporter: exporter, watcher: observe.NewWatcher(sources, time.Now), database: database, hard: hard}
	l.sinks = append(l.sinks, l.watcher, l.database)
	if l.exports = f.metricsAddr != "" || len(f.destinations) > 0; l.exports {
		l.sinks = append(l.sinks, exporter)
	}
	return l, nil
}

// noHost leaves out this machine, which is sampled otherwise where that can be done.
const noHost = record.WatchedHost + ":off"

// sources are what is to be watched.
func (f *liveFlags) sources() (all []observe.Source, err error) {
	if !slices.Contains(f.watched, noHost) && !slices.Contains(f.watched, record.WatchedHost) {
		if host, err := observe.NewHost(); err == nil {
			all = append(all, host)
		}
	}
	for _, text := range f.watched {
		if text == noHost {
			continue
		}
		source, err := observe.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, source)
	}
	return all, nil
}

// inspectors are the servers that --inspect names.
func (f *liveFlags) inspectors() (*inspect.Watch, error) {
	var list []inspect.Inspector
	for _, text := range f.inspected {
		i, err := servers.Parse(text)
		if err != nil {
			return nil, usage(fmt.Errorf("--inspect: %w", err))
		}
		list = append(list, i)
	}
	w := inspect.NewWatch(list)
	w.Writes = f.executeDML
	return w, nil
}

// start tells of the run and the folder of its record, "" if none is kept. It fails if a server that is
// to be inspected can't be.
func (l *live) start(run *record.Run, dir string) error {
	l.dir = dir
	if err := l.database.Start(run); err != nil {
		return &runner.UnreachableError{Err: err}
	}
	if l.exports {
		l.exporter.Start(run)
	}
	var fsys record.FS = record.OS{}
	if dir == "" {
		fsys = record.Nowhere{}
	}
	if err := l.watcher.Start(fsys, dir); err != nil {
		run.Warnings = append(run.Warnings, record.Warning{ID: "watch-record", Text: "nothing is watched: " + err.Error()})
	}
	return nil
}

// finish puts into the record what was seen, and what couldn't be sent.
func (l *live) finish(run *record.Run, load *workload.Workload) {
	inspections, troubles := l.database.Finish(l.hard, record.OS{}, l.dir, load)
	run.Inspections = append(run.Inspections, inspections...)
	run.Warnings = append(run.Warnings, troubles...)
	watched, warnings := l.watcher.Finish()
	run.Watched = append(run.Watched, watched...)
	run.Warnings = append(append(run.Warnings, warnings...), l.exporter.Close(l.hard)...)
}

// close ends everything, whether or not it began.
func (l *live) close() {
	l.exporter.Close(l.hard)
	l.watcher.Finish()
	l.database.Close()
}
