package cli

import (
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/pflag"

	"brunt/internal/export"
	"brunt/internal/observe"
	"brunt/internal/record"
	"brunt/internal/runner"
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

// attach hooks exports and watching to a run. It comes after all other hooks are set. hard ends
// the sending of what is left at the end; stop must be called when the run is over, or if it
// never began. Errors are the user's.
func (f *liveFlags) attach(s *streams, o *runner.Options, hard <-chan struct{}, quiet bool) (stop func(), err error) {
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
	watcher := observe.NewWatcher(sources, time.Now)
	o.Sinks = append(o.Sinks, watcher)
	if f.metricsAddr != "" || len(f.destinations) > 0 {
		o.Sinks = append(o.Sinks, exporter)
	}
	before, finishing := o.Starting, o.Finishing
	o.Starting = func(run *record.Run, dir string) {
		if before != nil {
			before(run, dir)
		}
		exporter.Start(run)
		if err := watcher.Start(record.OS{}, dir); err != nil {
			run.Warnings = append(run.Warnings, record.Warning{ID: "watch-record", Text: "nothing is watched: " + err.Error()})
		}
	}
	o.Finishing = func(run *record.Run) {
		if finishing != nil {
			finishing(run)
		}
		watched, warnings := watcher.Finish()
		run.Watched = append(run.Watched, watched...)
		run.Warnings = append(append(run.Warnings, warnings...), exporter.Close(hard)...)
	}
	return func() { exporter.Close(hard); watcher.Finish() }, nil
}

var (
	urlUser   = regexp.MustCompile(`(://)[^/?#\s]*@`)
	urlSecret = regexp.MustCompile(`([?&](?:p|password|token|u)=)[^&\s]*`)
)

// redactedURLs takes users, passwords and tokens out of the addresses in an argument.
func redactedURLs(arg string) string {
	return urlSecret.ReplaceAllString(urlUser.ReplaceAllString(arg, "${1}***@"), "${1}***")
}
