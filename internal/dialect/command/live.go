package command

import (
	"slices"

	"github.com/spf13/pflag"

	"brunt/internal/base/lazyregexp"
	pages "brunt/internal/report/live"
	"brunt/internal/run/loadtest"
)

// LiveFlags are the flags for the live output of intervals, and for what is watched during the load.
type LiveFlags struct{ Live loadtest.Live }

// Bind binds the flags to a flag set.
func (f *LiveFlags) Bind(fs *pflag.FlagSet) {
	fs.StringVar(&f.Live.MetricsAddr, "metrics-addr", "", "serve /metrics for Prometheus at host:port while running")
	fs.StringArrayVar(&f.Live.Destinations, "export", nil,
		"send every interval to influx=URL, prometheus=URL or otlp=URL (repeatable)")
	fs.StringVar(&f.Live.Page, "ui", "",
		"serve a page of the run under way: at a free port of this machine, or at --ui HOST:PORT (beyond loopback it needs a token)")
	fs.Lookup("ui").NoOptDefVal = pages.DefaultAddress
	fs.StringArrayVar(&f.Live.Watched, "watch", nil,
		"sample pid:N, tree:N, url:ADDRESS, node:ADDRESS or cgroup:FOLDER into the record and judge leaks; server says what "+
			"limits the server, profile:URL (Go), profile:pid:N or profile:server (JVM) which functions take its time; "+
			"host:off leaves this machine out (repeatable)")
	fs.StringArrayVar(&f.Live.Inspected, "inspect", nil,
		"ask servers what they did: auto for those that the load goes to, or KIND=URL, such as pg=postgres://user@host:5432/database or redis=redis://host:6379 (repeatable)")
	fs.BoolVar(&f.Live.ExecuteDML, "inspect-writes", false,
		"with --inspect: execute statements that write to explain them, in transactions that are rolled back")
	fs.BoolVar(&f.Live.Profile, "inspect-profile", false,
		"with --inspect: sample which functions take the time of a Tarantool (needs execute on universe)")
}

// hostPort matches an address on which a page can be served, but no file and no URL.
var hostPort = lazyregexp.New(`^([\w.-]*|\[[\w:.%]+\]):\d{1,5}$`)

// PageAddress joins --ui and a following address to --ui=ADDRESS. The flag may also stand alone, so the flag parser
// would take the address for the plan.
func PageAddress(args []string) []string {
	at := slices.Index(args, "--ui")
	if end := slices.Index(args, "--"); at < 0 || end >= 0 && end < at || at+1 == len(args) ||
		!hostPort().MatchString(args[at+1]) {
		return args
	}
	joined := append(slices.Clone(args[:at]), "--ui="+args[at+1])
	return append(joined, args[at+2:]...)
}
