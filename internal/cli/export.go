package cli

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"brunt/internal/export"
	"brunt/internal/measure"
	"brunt/internal/observe"
	"brunt/internal/record"
)

// liveFlags say where intervals go while they happen, and what is watched beside the load.
type liveFlags struct {
	metricsAddr  string
	destinations []string
	watched      []string
}

func (f *liveFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&f.metricsAddr, "metrics-addr", "", "serve /metrics for Prometheus at host:port while running")
	fs.StringArrayVar(&f.destinations, "export", nil, "send every interval to influx=URL, prometheus=URL or otlp=URL (repeatable)")
	fs.StringArrayVar(&f.watched, "watch", nil, "sample pid:N, tree:N, url:ADDRESS or cgroup:FOLDER into the record and judge leaks (repeatable)")
}

// live is what goes on beside a load: exporting and watching.
type live struct {
	exporter *export.Exporter
	watcher  *observe.Watcher
	sinks    []measure.Sink
	hard     <-chan struct{}
}

// open begins what the flags ask for. hard ends the sending of what is left at the end; close must be
// called. Errors are the user's.
func (f *liveFlags) open(s *streams, hard <-chan struct{}, quiet bool) (*live, error) {
	var sources []observe.Source
	for _, text := range f.watched {
		source, err := observe.Parse(text)
		if err != nil {
			return nil, usage(fmt.Errorf("--watch: %w", err))
		}
		sources = append(sources, source)
	}
	exporter, err := export.New(export.Options{MetricsAddr: f.metricsAddr, Destinations: f.destinations})
	if err != nil {
		return nil, usage(fmt.Errorf("--export, --metrics-addr: %w", err))
	}
	if address := exporter.Addr(); address != "" && !quiet {
		fmt.Fprintf(s.err, "brunt: metrics at http://%s/metrics\n", address)
	}
	l := &live{exporter: exporter, watcher: observe.NewWatcher(sources, time.Now), hard: hard}
	l.sinks = append(l.sinks, l.watcher)
	if f.metricsAddr != "" || len(f.destinations) > 0 {
		l.sinks = append(l.sinks, exporter)
	}
	return l, nil
}

// start tells of the run and the folder of its record, "" if none is kept.
func (l *live) start(run *record.Run, dir string) {
	l.exporter.Start(run)
	var fsys record.FS = record.OS{}
	if dir == "" {
		fsys = record.Nowhere{}
	}
	if err := l.watcher.Start(fsys, dir); err != nil {
		run.Warnings = append(run.Warnings, record.Warning{ID: "watch-record", Text: "nothing is watched: " + err.Error()})
	}
}

// finish puts into the record what was seen, and what couldn't be sent.
func (l *live) finish(run *record.Run) {
	watched, warnings := l.watcher.Finish()
	run.Watched = append(run.Watched, watched...)
	run.Warnings = append(append(run.Warnings, warnings...), l.exporter.Close(l.hard)...)
}

// close ends everything, whether or not it began.
func (l *live) close() {
	l.exporter.Close(l.hard)
	l.watcher.Finish()
}
