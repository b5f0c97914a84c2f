package cli

import (
	"slices"

	"github.com/spf13/pflag"

	"brunt/internal/base/lazyregexp"
	pages "brunt/internal/report/live"
	"brunt/internal/run/loadtest"
)

// liveFlags are the flags for the live output of intervals, and for what is watched during the load.
type liveFlags struct{ live loadtest.Live }

func (f *liveFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&f.live.MetricsAddr, "metrics-addr", "", "serve /metrics for Prometheus at host:port while running")
	fs.StringArrayVar(&f.live.Destinations, "export", nil,
		"send every interval to influx=URL, prometheus=URL or otlp=URL (repeatable)")
	fs.StringVar(&f.live.Page, "ui", "",
		"serve a page of the run under way: at a free port of this machine, or at --ui HOST:PORT (beyond loopback it needs a token)")
	fs.Lookup("ui").NoOptDefVal = pages.DefaultAddress
	fs.StringArrayVar(&f.live.Watched, "watch", nil,
		"sample pid:N, tree:N, url:ADDRESS, node:ADDRESS or cgroup:FOLDER into the record and judge leaks; host:off leaves this machine out (repeatable)")
	fs.StringArrayVar(&f.live.Inspected, "inspect", nil,
		"ask the database behind the load what it did: pg=postgres://user@host:5432/database (repeatable)")
	fs.BoolVar(&f.live.ExecuteDML, "inspect-writes", false,
		"with --inspect: execute statements that write to explain them, in transactions that are rolled back")
}

// hostPort matches an address on which a page can be served, but no file and no URL.
var hostPort = lazyregexp.New(`^([\w.-]*|\[[\w:.%]+\]):\d{1,5}$`)

// pageAddress joins --ui and a following address to --ui=ADDRESS. The flag may also stand alone, so the flag parser
// would take the address for the plan.
func pageAddress(args []string) []string {
	at := slices.Index(args, "--ui")
	if end := slices.Index(args, "--"); at < 0 || end >= 0 && end < at || at+1 == len(args) ||
		!hostPort().MatchString(args[at+1]) {
		return args
	}
	joined := append(slices.Clone(args[:at]), "--ui="+args[at+1])
	return append(joined, args[at+2:]...)
}
