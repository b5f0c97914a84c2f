package hey

import (
	"embed"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"brunt/internal/base/secret"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/httpload"
	"brunt/internal/judge/result"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

//go:embed help/*.txt
var helpFiles embed.FS

// Tool declares hey.
func Tool() dialect.Tool {
	return dialect.Tool{Name: "hey", Formats: []string{"hey"}, Programs: []string{"hey"},
		Commands: []dialect.Command{{Name: "hey", New: newCommand,
			Letters: secret.Flags{Credentials: "a"}}}, Results: []result.Format{Results()}}
}

func newCommand(s *command.Env) *cobra.Command {
	return httpload.NewCommand(command.Texts{Files: helpFiles, Folder: "help"}, "hey", usage,
		func(args []string) error { return execute(s, args) })
}

// hey's exit codes.
const (
	exitFailed = 1
	exitFlags  = 2
)

func usage(w io.Writer) {
	_, _ = io.WriteString(w, `Usage: hey [options...] <url>

Options:
  -n  number of requests (200)
  -c  workers (50); each sends n/c requests
  -q  rate limit of each worker, in requests a second (none)
  -z  duration of the load, such as 10s; -n doesn't count then
  -o  "csv": a line for each request instead of the summary

  -m  method (GET)
  -H  header field "Name: value" (repeatable)
  -t  timeout of a request in seconds (20); 0: none
  -A  header Accept
  -d  body
  -D  file with the body
  -T  Content-Type (text/html)
  -U  User-Agent, before hey's own
  -a  user:password
  -h2 HTTP/2 where the server offers it
  -x  HTTP proxy, http://host:port, which gets whole URLs, and CONNECT for https

  -host                 header Host
  -disable-compression  don't ask for gzip
  -disable-keepalive    a connection for each request
  -disable-redirects    take redirects for answers
  -cpus                 accepted

`+httpload.OwnHelp())
}

// execute executes a command line.
func execute(s *command.Env, args []string) error {
	replacing := s.Program != ""
	own, args, err := httpload.TakeOwn(args)
	if err != nil {
		return httpload.Refused(err, replacing, exitFlags)
	}
	if len(args) == 1 && args[0] == "--help" && !replacing {
		usage(s.Out)
		return nil
	}
	o, err := Parse(args)
	var wrong *usageError
	var flags *errFlags
	switch {
	case errors.As(err, &flags):
		if flags.text != "" {
			fmt.Fprintln(s.Err, flags.text)
		}
		usage(s.Err)
		return httpload.Refused(nil, replacing, exitFlags)
	case errors.As(err, &wrong):
		if wrong.text != "" {
			fmt.Fprintf(s.Err, "%s\n\n", wrong.text)
		}
		usage(s.Err)
		return httpload.Refused(nil, replacing, exitFailed)
	case err != nil:
		return httpload.Refused(err, replacing, exitFailed)
	}
	p, err := o.Plan()
	if err == nil {
		err = own.Apply(p)
	}
	if err != nil {
		return httpload.Refused(err, replacing, exitFailed)
	}
	s.Flags = map[string]string{"sessions": "-c", "rate": "-q", "threshold": "--threshold"}
	e := &execution{o: o}
	l := &httpload.Load{Tool: "hey", Plan: p, Own: own, Replacing: replacing, Options: runner.Options{StartDown: true},
		Hooks: e.hooks, Code: func(int) int { return exitFailed }}
	if o.Output != "" {
		l.Singles = "-o"
		l.Beyond = []string{"-o: what it prints of each request; see brunt export"}
	}
	return l.Perform(s)
}

// execution is a load that prints what hey prints.
type execution struct {
	o       *Options
	outputs *loadtest.Outputs
	samples httpload.Samples
}

func (e *execution) hooks(out *loadtest.Outputs) runner.Hooks {
	e.outputs = out
	return runner.Hooks{Attach: func(w *workload.Workload) { w.Timed = e.samples.Timed }, Result: e.result}
}

// result prints the report.
func (e *execution) result(run *record.Run, _ string) error {
	r := &Outcome{Samples: e.samples.All(), Errors: map[string]uint64{}}
	r.Total = max(httpload.Span(r.Samples), 1)
	for i := range r.Samples {
		if s := &r.Samples[i]; s.Circled() {
			r.Errors[s.Text]++
		}
	}
	for _, f := range run.Failures {
		if f.Class != protocol.Server.String() {
			r.Errors[f.Text] += f.Count
		}
	}
	switch e.o.Output {
	case "":
		return r.Write(e.outputs.Out)
	case "csv":
		return r.WriteCSV(e.outputs.Out)
	}
	return r.WriteTemplate(e.outputs.Out, e.o.Output)
}
