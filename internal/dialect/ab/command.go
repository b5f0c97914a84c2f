package ab

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"brunt/internal/base/secret"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/httpload"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/result"
	"brunt/internal/plan/workload"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

//go:embed help/*.txt
var helpFiles embed.FS

// Tool declares ab.
func Tool() dialect.Tool {
	return dialect.Tool{Name: "ab", Formats: []string{"ab"}, Programs: []string{"ab"},
		Commands: []dialect.Command{{Name: "ab", New: newCommand,
			Letters: secret.Flags{Credentials: "APC"}}}, Results: []result.Format{Results()}}
}

func newCommand(s *command.Env) *cobra.Command {
	return httpload.NewCommand(command.Texts{Files: helpFiles, Folder: "help"}, "ab", usage,
		func(args []string) error { return execute(s, args) })
}

// ab's exit codes.
const (
	exitFailed  = 1
	exitUsage   = 22  // EINVAL
	exitRefused = 111 // ECONNREFUSED
)

func usage(w io.Writer) {
	_, _ = io.WriteString(w, `Usage: ab [options] [http[s]://]hostname[:port]/path
Options are:
    -n requests     number of requests (1)
    -c concurrency  requests at a time (1)
    -t timelimit    seconds after which the load ends; implies -n 50000
    -s timeout      seconds for a request (30)
    -p postfile     file with the body of a POST; give -T too
    -u putfile      file with the body of a PUT; give -T too
    -T content-type type of the body (text/plain)
    -v verbosity    accepted; prints nothing more
    -i              HEAD instead of GET
    -w              report as a table in HTML; so with -x, -y and -z
    -x attributes   attributes of the table
    -y attributes   attributes of rows
    -z attributes   attributes of cells (bgcolor=white)
    -b windowsize   accepted; the system chooses the sizes of buffers
    -C attribute    cookie (repeatable)
    -H attribute    header field (repeatable)
    -A attribute    user:password of the server
    -P attribute    user:password of the proxy
    -X proxy:port   proxy
    -V              print the version
    -k              keep connections open
    -d              no table of percentages
    -S              no median and standard deviation
    -q              no progress
    -l              answers may have different lengths
    -g filename     times of each request, for gnuplot
    -e filename     percentages, as CSV
    -r              accepted; brunt never ends because of an error
    -m method       method
    -B address      address of this machine from which connections go
    -E certfile     the client's certificate and key
    -I              TLS without SNI
    -f protocol     TLS1, TLS1.1, TLS1.2, TLS1.3 or ALL (1.2 and 1.3)
    -Z ciphersuite  ciphers for TLS up to 1.2: names, with colons between them
    -h              print this
`+"\n"+httpload.OwnHelp())
}

// execute executes a command line.
func execute(s *command.Env, args []string) error {
	replacing := s.Program != ""
	own, args, err := httpload.TakeOwn(args)
	if err != nil {
		return httpload.Refused(err, replacing, exitUsage)
	}
	if len(args) == 1 && args[0] == "--help" {
		usage(s.Out)
		return nil
	}
	o, err := Parse(args)
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprintln(s.Err, err)
		usage(s.Err)
		return httpload.Refused(nil, replacing, exitUsage)
	case err != nil:
		return httpload.Refused(err, replacing, exitFailed)
	case o.Help && replacing: // as ab
		usage(s.Err)
		return exitcode.With(exitUsage, nil)
	case o.Help:
		usage(s.Out)
		return nil
	case o.Version:
		_, err := io.WriteString(s.Out, Banner(s.Version))
		return err
	}
	p, err := o.Plan()
	if err == nil {
		err = own.Apply(p)
	}
	if err != nil {
		return httpload.Refused(err, replacing, exitFailed)
	}
	s.Flags = map[string]string{"sessions": "-c", "threshold": "--threshold"}
	e := &execution{o: o, version: s.Version}
	l := &httpload.Load{Tool: "ab", Plan: p, Own: own, Replacing: replacing, Hooks: e.hooks, Singles: o.singles()}
	for option, file := range map[string]string{"-e": o.CSV, "-g": o.Gnuplot} {
		if file != "" {
			l.Beyond = append(l.Beyond, option+": the times in "+file+"; see brunt export")
		}
	}
	slices.Sort(l.Beyond)
	l.Code = func(ours int) int {
		if ours == exitcode.Unreachable {
			return exitRefused
		}
		return exitFailed
	}
	return l.Perform(s)
}

// singles returns an option that needs the results of single requests.
func (o *Options) singles() string {
	switch {
	case o.CSV != "":
		return "-e"
	case o.Gnuplot != "":
		return "-g"
	case o.HTML:
		return "-w"
	}
	return ""
}

// execution is a load that prints what ab prints.
type execution struct {
	o       *Options
	version string
	outputs *loadtest.Outputs
	samples httpload.Samples
	files   map[string]*os.File // of -e and -g
}

func (e *execution) hooks(out *loadtest.Outputs) runner.Hooks {
	e.outputs = out
	if every := e.o.heartbeat(); every > 0 {
		e.samples.Added = func(n int) {
			if uint64(n)%every == 0 {
				fmt.Fprintf(out.Err, "Completed %d requests\n", n)
			}
		}
	}
	return runner.Hooks{Attach: func(w *workload.Workload) { w.Timed = e.samples.Timed }, Ready: e.ready, Result: e.result}
}

func (e *execution) ready(context.Context) error {
	e.files = map[string]*os.File{}
	for _, path := range []string{e.o.CSV, e.o.Gnuplot} {
		if path == "" {
			continue
		}
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		e.files[path] = f
	}
	banner := Banner
	if e.o.HTML {
		banner = HTMLBanner
	}
	_, err := io.WriteString(e.outputs.Out, banner(e.version)+e.o.Begins())
	return err
}

// result prints the report and writes the files.
func (e *execution) result(run *record.Run, _ string) error {
	var errs []error
	r := &Outcome{Samples: e.samples.All()}
	r.Took = httpload.Span(r.Samples)
	for i := range r.Samples {
		if r.Samples[i].Answered() {
			r.KeptAlive++
		}
	}
	for i := range run.Targets {
		t := &run.Targets[i]
		if r.Server = t.Product; t.Version != "" {
			r.Server += "/" + t.Version
		}
		r.KeptAlive -= min(t.Reconnects, r.KeptAlive)
	}
	if e.o.heartbeat() > 0 {
		fmt.Fprintf(e.outputs.Err, "Finished %d requests\n", len(r.Samples))
	} else {
		_, err := io.WriteString(e.outputs.Out, "..done\n")
		errs = append(errs, err)
	}
	text := e.o.Report
	if e.o.HTML {
		text = e.o.HTMLReport
	}
	_, err := io.WriteString(e.outputs.Out, text(r))
	errs = append(errs, err)
	writes := map[string]func(io.Writer, *Outcome) error{e.o.CSV: e.o.WriteCSV, e.o.Gnuplot: e.o.WriteGnuplot}
	for path, f := range e.files {
		errs = append(errs, writes[path](f, r), f.Close())
	}
	return errors.Join(errs...)
}
