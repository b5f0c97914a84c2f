package loadtest

import (
	"fmt"
	"io"
	"slices"
	"time"

	"brunt/internal/export"
	"brunt/internal/inspect"
	"brunt/internal/inspect/servers"
	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/observe"
	"brunt/internal/record"
	"brunt/internal/target"
	"brunt/internal/verdict/exitcode"
	"brunt/internal/workload"
)

// Live says where intervals go while they happen, and what is watched during the load. The texts are those of the flags
// of the same names.
type Live struct {
	MetricsAddr  string   // host:port of /metrics for Prometheus
	Destinations []string // --export
	Watched      []string // --watch
	Inspected    []string // --inspect
	ExecuteDML   bool     // --inspect-writes
	Page         string   // host:port of the page of the run under way
}

// live is what goes on during a load: exporting and watching.
type live struct {
	exporter *export.Exporter
	exports  bool // somebody is told
	watcher  *observe.Watcher
	database *inspect.Watch
	dir      string
	sinks    []measure.Sink
	hard     <-chan struct{}
}

// open begins what the options ask for. hard ends the sending of what is left at the end; close must be
// called. Errors are the user's.
func (f *Live) open(stderr io.Writer, hard <-chan struct{}, quiet bool) (*live, error) {
	sources, err := f.sources()
	if err != nil {
		return nil, exitcode.Usage(fmt.Errorf("--watch: %w", err))
	}
	database, err := f.inspectors()
	if err != nil {
		return nil, err
	}
	if !quiet {
		database.Tell = func(text string) { fmt.Fprintf(stderr, "brunt: note: %s\n", text) }
	}
	exporter, err := export.New(export.Options{MetricsAddr: f.MetricsAddr, Destinations: f.Destinations})
	if err != nil {
		return nil, exitcode.Usage(fmt.Errorf("--export, --metrics-addr: %w", err))
	}
	if address := exporter.Addr(); address != "" && !quiet {
		fmt.Fprintf(stderr, "brunt: metrics at http://%s/metrics\n", address)
	}
	l := &live{exporter: exporter, watcher: observe.NewWatcher(sources, time.Now), database: database, hard: hard}
	l.sinks = append(l.sinks, l.watcher, l.database)
	if l.exports = f.MetricsAddr != "" || len(f.Destinations) > 0; l.exports {
		l.sinks = append(l.sinks, exporter)
	}
	return l, nil
}

// noHost leaves out this machine, which is sampled otherwise where that can be done.
const noHost = record.WatchedHost + ":off"

// sources are what is to be watched.
func (f *Live) sources() (all []observe.Source, err error) {
	if !slices.Contains(f.Watched, noHost) && !slices.Contains(f.Watched, record.WatchedHost) {
		if host, err := observe.NewHost(); err == nil {
			all = append(all, host)
		}
	}
	for _, text := range f.Watched {
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
func (f *Live) inspectors() (*inspect.Watch, error) {
	var list []inspect.Inspector
	for _, text := range f.Inspected {
		i, err := servers.Parse(text)
		if err != nil {
			return nil, exitcode.Usage(fmt.Errorf("--inspect: %w", err))
		}
		list = append(list, i)
	}
	w := inspect.NewWatch(list)
	w.Writes = f.ExecuteDML
	return w, nil
}

// start tells of the run and the folder of its record, "" if none is kept. It fails if a server that is
// to be inspected can't be.
func (l *live) start(run *record.Run, dir string) error {
	l.dir = dir
	if err := l.database.Start(run); err != nil {
		return &target.UnreachableError{Err: err}
	}
	if l.exports {
		l.exporter.Start(run)
	}
	var fsys record.FS = record.OS{}
	if dir == "" {
		fsys = record.Nowhere{}
	}
	if err := l.watcher.Start(fsys, dir); err != nil {
		run.Warnings = append(run.Warnings,
			record.Warning{ID: "watch-record", Text: message.New("watch-none", message.Text("error", err.Error()))})
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
