package loadtest

import (
	"fmt"
	"io"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/internal/report"
	pages "brunt/internal/report/live"
	"brunt/internal/run/runner"
)

// livePage is the page that shows a run in progress. It does nothing if no page is requested.
type livePage struct {
	server *pages.Server
}

// openPage listens at the page's address and prints it. end ends the run like one interrupt.
func (l *Test) openPage(stderr io.Writer, end func()) (*livePage, error) {
	if l.Live.Page == "" {
		return &livePage{}, nil
	}
	server, err := pages.Listen(l.Live.Page, pages.Options{Language: l.Language, Stop: func() {
		fmt.Fprintln(stderr, "brunt: stopping, as asked for on the page: waiting for answers under way")
		end()
	}})
	if err != nil {
		return nil, exitcode.Usage(fmt.Errorf("--ui %s: %w; name an address of this machine, such as --ui 127.0.0.1:8089",
			l.Live.Page, err))
	}
	fmt.Fprintf(stderr, "brunt: follow the run at %s\n", server.URL())
	return &livePage{server}, nil
}

// join adds the page to the receivers of the run's events.
func (p *livePage) join(h *runner.Hooks) {
	if p.server == nil {
		return
	}
	h.Sinks = append(h.Sinks, p.server)
	told := h.Hint
	h.Hint = func(hint record.Hint) {
		p.server.Hint(hint)
		if told != nil {
			told(hint)
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

// close stops serving the page. Its error is ignored, because the run is over.
func (p *livePage) close() {
	if p.server != nil {
		_ = p.server.Close()
	}
}
