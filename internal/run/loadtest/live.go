package loadtest

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/observe"
	"brunt/internal/inspect/process"
	"brunt/internal/inspect/profile"
	"brunt/internal/inspect/servers"
	"brunt/internal/judge/exitcode"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/report/export"
	"brunt/internal/server/target"
)

// Live says where intervals are sent during the load, and what is watched. The texts are those of the flags with the
// same names.
type Live struct {
	MetricsAddr  string   // host:port of /metrics for Prometheus
	Destinations []string // --export
	Watched      []string // --watch
	Inspected    []string // --inspect
	Brief        bool     // see inspect.Load
	ExecuteDML   bool     // --inspect-writes
	Profile      bool     // --inspect-profile
	Page         string   // host:port of the live page
}

// live is the state of the exporters and watchers of a load.
type live struct {
	exporter *export.Exporter
	exports  bool // at least one exporter is open
	watcher  *observe.Watcher
	database *inspect.Watch
	// processes are those of servers on this machine; of the targets if ofTargets is set, and named ones
	processes *process.Watch
	ofTargets bool
	named     []process.Target
	auto      *plan.Target // what --inspect auto asks; nil for nothing
	profiles  *profile.Watch
	profiled  bool // the targets' functions are
	dir       string
	sinks     []measure.Sink
	hard      <-chan struct{}
}

// open starts the exporters and watchers. hard ends the sending of remaining data at the end. The caller must call
// close. Errors are usage errors.
func (f *Live) open(stderr io.Writer, hard <-chan struct{}, quiet bool) (*live, error) {
	sources, err := f.sources()
	if err != nil {
		return nil, exitcode.Usage(fmt.Errorf("--watch: %w", err))
	}
	database, err := f.inspectors()
	if err != nil {
		return nil, err
	}
	tell := func(text string) { fmt.Fprintf(stderr, "brunt: note: %s\n", text) }
	if !quiet {
		database.Tell = tell
	}
	exporter, err := export.New(export.Options{MetricsAddr: f.MetricsAddr, Destinations: f.Destinations})
	if err != nil {
		return nil, exitcode.Usage(fmt.Errorf("--export, --metrics-addr: %w", err))
	}
	if address := exporter.Addr(); address != "" && !quiet {
		fmt.Fprintf(stderr, "brunt: metrics at http://%s/metrics\n", address)
	}
	l := &live{exporter: exporter, watcher: observe.NewWatcher(sources, time.Now), database: database, hard: hard}
	l.processes, l.ofTargets = process.New(), len(f.Inspected) > 0 || slices.Contains(f.Watched, record.WatchedServer)
	profiled, err := f.profiled()
	if err != nil {
		return nil, exitcode.Usage(fmt.Errorf("--watch: %w", err))
	}
	l.profiles, l.profiled = profile.New(profiled), slices.ContainsFunc(profiled, (*profile.Source).OfServers)
	if !quiet {
		l.profiles.Tell = tell
	}
	for _, text := range f.Watched {
		if t, ok := process.Named(text); ok {
			l.named = append(l.named, t)
		}
	}
	l.sinks = append(l.sinks, l.watcher, l.database, l.processes, l.profiles)
	if l.exports = f.MetricsAddr != "" || len(f.Destinations) > 0; l.exports {
		l.sinks = append(l.sinks, exporter)
	}
	return l, nil
}

// sources returns the sources to watch.
func (f *Live) sources() (all []observe.Source, err error) {
	if !slices.Contains(f.Watched, record.WatchedNoHost) && !slices.Contains(f.Watched, record.WatchedHost) {
		if host, err := observe.NewHost(); err == nil {
			all = append(all, host)
		}
	}
	for _, text := range f.Watched {
		if text == record.WatchedNoHost || text == record.WatchedServer || strings.HasPrefix(text, profile.Prefix) {
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

// profiled returns the services whose profiles are to be read.
func (f *Live) profiled() (all []*profile.Source, err error) {
	for _, text := range f.Watched {
		if !strings.HasPrefix(text, profile.Prefix) {
			continue
		}
		s, err := profile.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// inspectors returns the servers that --inspect names.
func (f *Live) inspectors() (*inspect.Watch, error) {
	var list []inspect.Inspector
	for _, text := range f.Inspected {
		if text == servers.Auto {
			continue
		}
		i, err := servers.Parse(text)
		if err != nil {
			return nil, exitcode.Usage(fmt.Errorf("--inspect: %w", err))
		}
		list = append(list, i)
	}
	w := inspect.NewWatch(list)
	w.Writes, w.Profile, w.Brief = f.ExecuteDML, f.Profile, f.Brief
	return w, nil
}

// start tells exporters and watchers about the run and the folder of its record, which is "" if no record is kept. It
// returns an error if a server can't be inspected.
func (l *live) start(run *record.Run, dir string) error {
	l.dir = dir
	l.inspectTarget(run)
	if err := l.database.Start(run); err != nil {
		return &target.UnreachableError{Err: err}
	}
	if l.exports {
		l.exporter.Start(run)
	}
	var found []process.Target
	if l.ofTargets || l.profiled {
		var addresses []string
		for i := range run.Targets {
			addresses = append(addresses, run.Targets[i].Address)
		}
		found = process.Find(addresses)
	}
	l.profiles.Start(len(run.Phases) > 0 && run.Phases[0].WarmUp, found)
	observed := l.named
	if l.ofTargets {
		observed = append(found, observed...)
	}
	l.processes.Start(observed)
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

// inspectTarget adds the servers that the load goes to to those that are inspected, for --inspect auto.
func (l *live) inspectTarget(run *record.Run) {
	if l.auto == nil {
		return
	}
	list, err := servers.Target(l.auto, run.Targets)
	for _, i := range list {
		l.database.Suggest(i)
	}
	if err != nil {
		l.database.Warn(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// finish adds to the record what was observed, and what couldn't be exported.
func (l *live) finish(run *record.Run, load *workload.Workload) {
	inspections, warnings := l.database.Finish(l.hard, record.OS{}, l.dir, load)
	run.Inspections = append(run.Inspections, inspections...)
	run.Warnings = append(run.Warnings, warnings...)
	watched, warnings := l.watcher.Finish()
	run.Watched = append(run.Watched, watched...)
	run.Processes = append(run.Processes, l.processes.Finish(run.ReplicaAddresses()...)...)
	process.Settle(run)
	profiles, lost := l.profiles.Finish()
	run.Profiles, run.Warnings = append(run.Profiles, profiles...), append(run.Warnings, lost...)
	run.Warnings = append(append(run.Warnings, warnings...), l.exporter.Close(l.hard)...)
}

// close stops all exporters and watchers, whether or not they were started.
func (l *live) close() {
	l.exporter.Close(l.hard)
	l.watcher.Finish()
	l.processes.Finish()
	l.profiles.Finish()
	l.database.Close()
}
