package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"

	"brunt/internal/record"
	"brunt/internal/report"
	pages "brunt/internal/report/live"
	"brunt/internal/runner"
)

// hostPort is an address that a page can be served at, and neither a file nor a URL.
var hostPort = regexp.MustCompile(`^([\w.-]*|\[[\w:.%]+\]):\d{1,5}$`)

// pageAddress joins --ui with an address that follows it: the flag stands alone as well, so that its
// parser would take the address for the plan.
func pageAddress(args []string) []string {
	at := slices.Index(args, "--ui")
	if end := slices.Index(args, "--"); at < 0 || end >= 0 && end < at || at+1 == len(args) || !hostPort.MatchString(args[at+1]) {
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
		return nil, usage(fmt.Errorf("--ui %s: %w; name an address of this machine, such as --ui 127.0.0.1:8089", l.live.page, err))
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
