package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"brunt/internal/export"
	"brunt/internal/inspect"
	"brunt/internal/inspect/servers"
	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/observe"
	"brunt/internal/record"
	"brunt/internal/report"
	pages "brunt/internal/report/live"
	"brunt/internal/runner"
	"brunt/internal/target"
	"brunt/internal/workload"
)

// liveFlags say where intervals go while they happen, and what is watched during the load.
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
	fs.StringArrayVar(&f.destinations, "export", nil,
		"send every interval to influx=URL, prometheus=URL or otlp=URL (repeatable)")
	fs.StringVar(&f.page, "ui", "",
		"serve a page of the run under way: at a free port of this machine, or at --ui HOST:PORT (beyond loopback it needs a token)")
	fs.Lookup("ui").NoOptDefVal = pages.DefaultAddress
	fs.StringArrayVar(&f.watched, "watch", nil,
		"sample pid:N, tree:N, url:ADDRESS, node:ADDRESS or cgroup:FOLDER into the record and judge leaks; host:off leaves this machine out (repeatable)")
	fs.StringArrayVar(&f.inspected, "inspect", nil,
		"ask the database behind the load what it did: pg=postgres://user@host:5432/database (repeatable)")
	fs.BoolVar(&f.executeDML, "inspect-writes", false,
		"with --inspect: execute statements that write to explain them, in transactions that are rolled back")
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

// hostPort is an address that a page can be served at, and neither a file nor a URL.
var hostPort = regexp.MustCompile(`^([\w.-]*|\[[\w:.%]+\]):\d{1,5}$`)

// pageAddress joins --ui with an address that follows it: the flag stands alone as well, so that its
// parser would take the address for the plan.
func pageAddress(args []string) []string {
	at := slices.Index(args, "--ui")
	if end := slices.Index(args, "--"); at < 0 || end >= 0 && end < at || at+1 == len(args) ||
		!hostPort.MatchString(args[at+1]) {
		return args
	}
	joined := append(slices.Clone(args[:at]), "--ui="+args[at+1])
	return append(joined, args[at+2:]...)
}

// livePage is the page of a run under way, if one is asked for.
type livePage struct {
	server *pages.Server
}

// openPage opens the page's address and says where it is. end ends the run as one interrupt does.
func (l *loadRun) openPage(stderr io.Writer, end func()) (*livePage, error) {
	if l.live.page == "" {
		return &livePage{}, nil
	}
	server, err := pages.Listen(l.live.page, pages.Options{Language: l.language, Stop: func() {
		fmt.Fprintln(stderr, "brunt: stopping, as asked for on the page: waiting for answers under way")
		end()
	}})
	if err != nil {
		return nil, usage(fmt.Errorf("--ui %s: %w; name an address of this machine, such as --ui 127.0.0.1:8089",
			l.live.page, err))
	}
	fmt.Fprintf(stderr, "brunt: follow the run at %s\n", server.URL())
	return &livePage{server}, nil
}

// join makes the page see what the run tells.
func (p *livePage) join(o *runner.Options) {
	if p.server == nil {
		return
	}
	o.Sinks = append(o.Sinks, p.server)
	told := o.Tell.Hint
	o.Tell.Hint = func(h record.Hint) {
		p.server.Hint(h)
		if told != nil {
			told(h)
		}
	}
}

func (p *livePage) start(run *record.Run) {
	if p.server != nil {
		p.server.Start(run)
	}
}

func (p *livePage) finish(run *record.Run, dir string, plan []byte) error {
	if p.server == nil {
		return nil
	}
	return p.server.Finish(&report.Result{Run: run, Path: dir, Plan: plan})
}

// close ends the page; its error is of no use to anybody.
func (p *livePage) close() {
	if p.server != nil {
		_ = p.server.Close()
	}
}
