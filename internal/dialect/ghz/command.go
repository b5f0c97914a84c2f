package ghz

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/httpload"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan/script"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

//go:embed help/*.txt
var helpFiles embed.FS

// Tool declares ghz.
func Tool() dialect.Tool {
	return dialect.Tool{Name: "ghz", Formats: []string{"ghz"}, Programs: []string{"ghz"},
		Commands: []dialect.Command{{Name: "ghz", New: newCommand}}, Results: Results(),
		Languages: []script.Language{Language{Now: time.Now}},
		File: func(name string, text []byte) []string {
			if !namesCall(text) {
				return nil
			}
			return []string{"ghz", "--config", name}
		}}
}

// namesCall reports whether a text is a config file, in any of its forms: it names a call at its top level.
func namesCall(text []byte) bool {
	var config struct{ Call string }
	return callKey().Match(text) || json.Unmarshal(text, &config) == nil && config.Call != ""
}

// callKey matches the line in TOML and YAML.
var callKey = lazyregexp.New(`(?m)^call\s*[=:]`)

func newCommand(s *command.Env) *cobra.Command {
	texts := command.Texts{Files: helpFiles, Folder: "help"}
	cmd := texts.New("ghz", nil, func(_ *cobra.Command, args []string) error { return execute(s, args) })
	cmd.DisableFlagParsing = true
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { usage(cmd.OutOrStdout()) })
	return command.HasPlan(cmd)
}

// exitFailed is ghz' exit code for all failures.
const exitFailed = 1

func usage(w io.Writer) {
	fs := pflag.NewFlagSet("ghz", pflag.ContinueOnError)
	(&Config{}).bind(fs, &texts{})
	fs.String("config", "", "config file: .json, .toml or .yaml")
	fmt.Fprintf(w, "usage: ghz [<flags>] <host>\n\nFlags:\n%s\n%s", fs.FlagUsages(), httpload.OwnHelp())
}

// execute executes a command line.
func execute(s *command.Env, args []string) error {
	replacing := s.Program != ""
	own, args, err := httpload.TakeOwn(args)
	if err != nil {
		return httpload.Refused(err, replacing, exitFailed)
	}
	o, err := Parse(args, s.In)
	switch {
	case errors.Is(err, errHelp):
		usage(s.Out)
		return nil
	case errors.Is(err, errVersion):
		fmt.Fprintln(s.Out, s.Version)
		return nil
	case err != nil && replacing:
		fmt.Fprintf(s.Err, "ghz: error: %s\n", err)
		return httpload.Refused(nil, replacing, exitFailed)
	case err != nil:
		return httpload.Refused(err, replacing, exitFailed)
	}
	ctx, _, stop := loadtest.Interruptible(s.Err, loadtest.Endings(false))
	p, err := o.Plan(ctx)
	if err != nil {
		err = exitcode.Usage(loadtest.Failure(ctx, err))
	}
	stop()
	if err == nil {
		err = own.Apply(p)
	}
	if err == nil {
		err = own.SpreadWithout(o.singles())
	}
	if err != nil {
		return refused(err, replacing)
	}
	s.Flags = map[string]string{"sessions": "--concurrency", "rate": "--rps", "threshold": "--threshold"}
	e := &execution{o: o, replacing: replacing, quiet: own.Quiet || replacing}
	l := &loadtest.Test{
		Plan: p, Process: s.Process(), Workers: own.Workers.Workers,
		Options: runner.Options{NoSetup: true, Recording: runner.Recording{Extra: map[string]string{"dialect": "ghz"}}},
		Record:  own.Record, Live: own.Live, Quiet: e.quiet, Hooks: e.hooks, Beyond: o.beyond(),
	}
	if own.Spread() {
		l.Hooks = func(out *loadtest.Outputs) (runner.Hooks, error) {
			return httpload.SpreadHooks(out, e.replacing, e.quiet), nil
		}
	}
	err = l.Perform(s.Out, s.Err)
	if c, ok := errors.AsType[*exitcode.Error](err); ok && replacing && c.Err != nil {
		return exitcode.With(exitFailed, c.Err)
	}
	return err
}

// refused returns the error of a plan that can't be made, with its exit code unless brunt takes ghz' place.
func refused(err error, replacing bool) error {
	if c, ok := errors.AsType[*exitcode.Error](err); ok && !replacing {
		return c
	}
	return httpload.Refused(err, replacing, exitFailed)
}

// singles returns an option that needs the results of single calls.
func (o *Options) singles() string {
	switch {
	case strings.TrimSpace(o.Output) != "":
		return "--output"
	case o.Format != "summary":
		return "--format"
	case o.SkipFirst > 0:
		return "--skipFirst"
	}
	return ""
}

// beyond returns what of the command no plan describes.
func (o *Options) beyond() []string {
	out := []string{"ghz' report: brunt run prints its own"}
	if o.SkipFirst > 0 {
		out = append(out, "--skipFirst: all calls are reported")
	}
	return out
}

// execution is a load that prints what ghz prints.
type execution struct {
	o                *Options
	replacing, quiet bool
	outputs          *loadtest.Outputs
	samples          httpload.Samples
	file             *os.File
}

func (e *execution) hooks(out *loadtest.Outputs) (v runner.Hooks, err error) {
	e.outputs = out
	if path := strings.TrimSpace(e.o.Output); path != "" {
		if e.file, err = os.Create(path); err != nil {
			return v, err
		}
	}
	v = runner.Hooks{
		Attach: func(w *workload.Workload) { w.Timed = e.samples.Timed },
		Result: e.result,
		Close: func() error {
			if e.file != nil {
				return e.file.Close()
			}
			return nil
		},
		Exit: func(run *record.Run) error { return httpload.Exit(run, e.replacing) },
	}
	if !e.quiet {
		v.Notice = loadtest.Notices(out)
	}
	return v, nil
}

// result prints the report.
func (e *execution) result(run *record.Run, dir string) error {
	err := loadtest.Drain(e.outputs.Out)
	r := e.o.report(run)
	all := e.details()
	total := httpload.Span(e.samples.All())
	if e.o.Duration > 0 && e.o.MaxDuration == 0 {
		total = max(total, time.Duration(e.o.Duration))
	}
	r.Tally(all, max(total, 1))
	w := io.Writer(e.outputs.Out)
	if e.file != nil {
		w = e.file
	}
	err = errors.Join(err, r.Write(w, e.o.Format))
	if !e.quiet {
		command.Tell(e.outputs, run, dir)
	}
	return err
}

// details returns the calls in the order of their ends. With --duration-stop ignore, those that ended after the load's
// end are left out.
func (e *execution) details() (all []Detail) {
	for _, s := range e.samples.All() {
		end := s.SentNs + int64(s.Took)
		if e.o.Stop == "ignore" && e.o.Duration > 0 && end > int64(e.o.Duration) {
			continue
		}
		d := Detail{Timestamp: s.Start.Add(s.Took), Latency: s.Took, Status: "OK"}
		if s.Class != protocol.OK {
			d.Status, d.Error = statusOf(&s)
		}
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b Detail) int { return a.Timestamp.Compare(b.Timestamp) })
	return all
}

// statusOf returns the status of a call that failed, and its error's text as Go's client of gRPC writes it.
func statusOf(s *httpload.Sample) (status, text string) {
	status, text = s.Code, s.Text
	switch {
	case s.Code == "DeadlineExceeded" || s.Code == "" && protocol.Overdue(s.Class, s.Text):
		status, text = "DeadlineExceeded", "context deadline exceeded"
	case s.Class == protocol.Client || s.Class == protocol.Protocol:
		status = "Internal"
	case s.Code == resetCode:
		status = resetStatus(text)
	case s.Code == "" || s.Class == protocol.Connect || strings.ToUpper(s.Code) == s.Code && s.Code != "OK":
		status = "Unavailable" // a reset, a GOAWAY, or no connection
	}
	return status, fmt.Sprintf("rpc error: code = %s desc = %s", status, text)
}

// resetCode is the code of calls whose stream the server reset.
const resetCode = "RST_STREAM"

// resetStatus returns the status for a text that ends with "(HTTP/2 error N)" (gRPC over HTTP2, "Errors").
func resetStatus(text string) string {
	_, number, _ := strings.Cut(text, "HTTP/2 error ")
	switch strings.TrimSuffix(number, ")") {
	case "7":
		return "Unavailable" // REFUSED_STREAM
	case "8":
		return "Canceled"
	case "11":
		return "ResourceExhausted"
	case "12":
		return "PermissionDenied"
	}
	return "Internal"
}

// report returns the report without figures.
func (o *Options) report(run *record.Run) *Report {
	r := &Report{Name: o.Name, EndReason: "normal", Date: time.Now().Format(time.RFC3339), Tags: o.Tags}
	switch {
	case run.Interrupted:
		r.EndReason = "cancel"
	case o.Duration > 0 && o.MaxDuration == 0:
		r.EndReason = "timeout"
	}
	r.Options = Settings{Call: o.Call, Host: o.Host, Proto: o.Proto, Protoset: o.Protoset, ImportPaths: o.ImportPaths,
		EnableCompression: o.Compress, CACert: o.CACert, Cert: o.Cert, Key: o.Key, CName: o.CName, SkipTLS: o.SkipTLS,
		Insecure: o.Insecure, Authority: o.Authority, RPS: int(o.RPS), LoadSchedule: o.LoadSchedule,
		LoadStart: int(o.LoadStart), LoadEnd: int(o.LoadEnd), LoadStep: o.LoadStep,
		LoadStepDuration: time.Duration(o.LoadStepDuration), LoadMaxDuration: time.Duration(o.LoadMaxDuration),
		Concurrency: int(o.Concurrency), CSchedule: o.CSchedule, CStart: int(o.CStart), CEnd: int(o.CEnd), CStep: o.CStep,
		CStepTime: time.Duration(o.CStepTime), CMaxDuration: time.Duration(o.CMaxDuration), Total: int(o.Total),
		Async: o.Async, Connections: int(o.Connections), Duration: time.Duration(o.Duration),
		Timeout: time.Duration(o.Timeout), DialTimeout: time.Duration(o.DialTimeout), KeepAlive: time.Duration(o.KeepAlive),
		CPUs: cmp.Or(int(o.CPUs), 1), Name: o.Name, SkipFirst: int(o.SkipFirst), CountErrors: o.CountErrors}
	r.Options.Binary = o.binary
	o.sent(&r.Options)
	return r
}

// sent adds what is sent to the settings of a report. Templates that aren't JSON are left out.
func (o *Options) sent(s *Settings) {
	if json.Unmarshal(o.data, &s.Data) != nil {
		s.Data = nil
	}
	if json.Unmarshal(o.metadata, &s.Metadata) != nil {
		s.Metadata = nil
	}
}
