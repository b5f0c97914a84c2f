package vegeta

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/httpload"
	"brunt/internal/judge/exitcode"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

//go:embed help/*.txt
var helpFiles embed.FS

func newCommand(s *command.Env) *cobra.Command {
	texts := command.Texts{Files: helpFiles, Folder: "help"}
	cmd := texts.New("vegeta", nil, func(_ *cobra.Command, args []string) error { return execute(s, args) })
	cmd.DisableFlagParsing = true
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { usage(cmd.OutOrStdout()) })
	return command.HasPlan(cmd)
}

// vegeta's exit codes.
const (
	exitFailed = 1
	exitFlags  = 2
)

func usage(w io.Writer) {
	_, _ = io.WriteString(w, `Usage: vegeta [-version] [-cpus N] <command> [flags]

attack: sends the targets at a rate, and writes a result for each request
  -rate N[/TIME]      requests in a time (50/1s); 0: as fast as -max-workers can
  -duration TIME      length of the load (until interrupted)
  -targets FILE       list of requests (stdin); -format http or json
  -output FILE        results (stdout), in gob; see encode
  -body FILE          body of requests without one
  -header "N: v"      header field of requests without it (repeatable)
  -timeout TIME       time for a request (30s)
  -max-workers N      requests at a time (10000)
  -redirects N        redirects that are followed (10); -1: they are answers
  -keepalive=false    a connection for each request
  -http2=false        HTTP/1.1 only
  -h2c                HTTP/2 without TLS, which the server must know
  -insecure, -root-certs FILE, -cert FILE, -key FILE
  -name NAME          name of the results
  -prometheus-addr A  serve /metrics
  -max-body SIZE      bytes of an answer that count in results (-1: all)
  -resolvers LIST     DNS servers, IP:PORT, that are asked for the targets' names
  -laddr ADDRESS      address of this machine from which connections go
  -unix-socket PATH   socket to which all connections go
  -connect-to A:B     host:port:host:port: connections to A go to B (repeatable)
  -max-connections N  connections to each host, for which requests wait (0: one for each worker)
  -chunked            bodies without a length, in chunks
  -session-tickets    sessions of TLS are resumed
  -proxy-header "N: v"  field of CONNECT to the proxy of HTTPS_PROXY (repeatable)
  -lazy, -workers, -connections, -dns-ttl are accepted

report [FILE...]: prints figures of results
  -type TYPE          text, json, hist[0,1ms,10ms] or hdrplot
  -buckets [EDGES]    of hist and json
  -every TIME         write it at this interval, too
  -output FILE        stdout

plot [FILE...]: writes a page with the latencies over time
  -title TEXT         title (Vegeta Plot)
  -threshold N        points of a line that are drawn (4000)
  -output FILE        stdout

encode [FILE...]: converts results
  -to ENCODING        gob, json or csv (json)
  -output FILE        stdout

`+httpload.OwnHelp())
}

// execute executes a command line.
func execute(s *command.Env, args []string) error {
	replacing := s.Program != ""
	if len(args) == 0 || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		if len(args) > 0 && !replacing {
			usage(s.Out)
			return nil
		}
		usage(s.Err)
		return httpload.Refused(nil, replacing, exitFailed)
	}
	args, version, err := global(args)
	switch {
	case err != nil:
		return httpload.Refused(err, replacing, exitFlags)
	case version:
		_, err := fmt.Fprintf(s.Out, "Version: brunt %s\n", s.Version)
		return err
	case len(args) == 0:
		usage(s.Err)
		return httpload.Refused(nil, replacing, exitFailed)
	}
	name, rest := args[0], args[1:]
	switch name {
	case "attack":
		return told(attack(s, rest, replacing), replacing)
	case "report":
		return told(reports(s, rest), replacing)
	case "encode":
		return told(encode(s, rest), replacing)
	case "plot":
		return told(plot(s, rest), replacing)
	case "dump":
		return told(errors.New("vegeta dump has been deprecated and succeeded by the vegeta encode command"), replacing)
	}
	return told(fmt.Errorf("unknown command: %s; use attack, report, encode or plot", name), replacing)
}

// global takes the flags before the command.
func global(args []string) (rest []string, version bool, err error) {
	fs := flag.NewFlagSet("vegeta", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.BoolVar(&version, "version", false, "")
	fs.Int("cpus", 0, "")
	fs.Func("profile", "", func(string) error { return errors.New("use --cpu-profile of attack") })
	err = fs.Parse(args)
	return fs.Args(), version, err
}

// told gives an error without an exit code the one of a mistake on the command line.
func told(err error, replacing bool) error {
	if err == nil {
		return nil
	}
	if c, ok := errors.AsType[*exitcode.Error](err); ok && (!replacing || c.Err == nil) {
		return err
	}
	if wrong, ok := errors.AsType[flagsError](err); ok {
		return httpload.Refused(wrong.error, replacing, exitFlags)
	}
	return httpload.Refused(err, replacing, exitFailed)
}

// flags parses the flags of report and encode, and opens their output and input.
func flags(name string, args []string, stdin io.Reader, bind func(*flag.FlagSet)) (
	out string, in []io.ReadCloser, err error) {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&out, "output", "stdout", "")
	bind(fs)
	if err := fs.Parse(args); err != nil {
		return "", nil, flagsError{err}
	}
	files := fs.Args()
	if len(files) == 0 {
		files = []string{"stdin"}
	}
	for _, file := range files {
		if file == "stdin" {
			in = append(in, io.NopCloser(stdin))
			continue
		}
		f, err := os.Open(file)
		if err != nil {
			return "", nil, err
		}
		in = append(in, f)
	}
	return out, in, nil
}

// output opens a file for a result, or takes standard output.
func output(name string, stdout io.Writer, write func(io.Writer) error) error {
	if name == "stdout" {
		return write(stdout)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// mixed returns the results of several files, one of each in turn.
func mixed(in []io.ReadCloser) func(*Result) error {
	var all []func(*Result) error
	turn, count := 0, 0
	return func(r *Result) error {
		for len(in) > 0 {
			turn %= len(in)
			if turn == len(all) {
				read, err := decoder(in[turn])
				if err != nil {
					return err
				}
				all = append(all, read)
			}
			err := all[turn](r)
			switch {
			case err == nil:
				turn++
				count++
				return nil
			case errors.Is(err, io.ErrUnexpectedEOF) && count > 0:
				return fmt.Errorf("the results end in the middle, after %d: %w", count, err)
			case err != io.EOF && count > 0:
				return fmt.Errorf("the result after %d: %w", count, err)
			case err != io.EOF:
				return fmt.Errorf("encode: can't detect encoding of the results: %w", err)
			}
			in[turn].Close()
			in, all = slices.Delete(in, turn, turn+1), slices.Delete(all, turn, turn+1)
		}
		return io.EOF
	}
}

func reports(s *command.Env, args []string) error {
	var kind, edges string
	var every time.Duration
	out, in, err := flags("report", args, s.In, func(fs *flag.FlagSet) {
		fs.StringVar(&kind, "type", "text", "")
		fs.StringVar(&edges, "buckets", "", "")
		fs.DurationVar(&every, "every", 0, "")
	})
	if errors.Is(err, flag.ErrHelp) {
		usage(s.Err)
		return nil
	}
	if err != nil {
		return err
	}
	return output(out, s.Out, func(w io.Writer) error {
		r := &reporting{kind: kind, edges: edges}
		if every > 0 {
			ticker := time.NewTicker(every)
			defer ticker.Stop()
			r.again = ticker.C
		}
		if out == "stdout" {
			r.before = "\x1b[2J\x1b[0;0H" // clear the screen, and go to its first line
		}
		return r.report(w, mixed(in))
	})
}

func encode(s *command.Env, args []string) error {
	var to string
	out, in, err := flags("encode", args, s.In, func(fs *flag.FlagSet) { fs.StringVar(&to, "to", "json", "") })
	if errors.Is(err, flag.ErrHelp) {
		usage(s.Err)
		return nil
	}
	if err != nil {
		return err
	}
	return output(out, s.Out, func(w io.Writer) error {
		write, end, err := encoder(w, to)
		if err != nil {
			return err
		}
		var r Result
		for next := mixed(in); ; {
			err := next(&r)
			if err == io.EOF {
				return end()
			}
			if err == nil {
				err = write(&r)
			}
			if err != nil {
				return err
			}
		}
	})
}

// takeWorkers removes vegeta's flag -workers from a command line. With two dashes, it is brunt's.
func takeWorkers(args []string) (theirs, rest []string) {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--":
			return theirs, append(rest, args[i:]...)
		case args[i] == "-workers" && i+1 < len(args):
			theirs = append(theirs, args[i], args[i+1])
			i++
		case strings.HasPrefix(args[i], "-workers="):
			theirs = append(theirs, args[i])
		default:
			rest = append(rest, args[i])
		}
	}
	return theirs, rest
}

// attack sends a load.
func attack(s *command.Env, args []string, replacing bool) error {
	theirs, args := takeWorkers(args)
	own, args, err := httpload.TakeOwn(args)
	if err != nil {
		return flagsError{err}
	}
	o, err := parseAttack(append(theirs, args...))
	if errors.Is(err, flag.ErrHelp) {
		usage(s.Err)
		return nil
	}
	if err != nil {
		return err
	}
	if err := o.read(s.In); err != nil {
		return err
	}
	p, err := o.plan()
	if err == nil {
		err = own.Apply(p)
	}
	if err == nil && o.output != "stdout" {
		err = own.SpreadWithout("-output")
	}
	if err == nil {
		err = o.lookUp(p)
	}
	if err != nil {
		return err
	}
	if o.metrics != "" {
		own.Live.MetricsAddr = o.metrics
	}
	s.Flags = map[string]string{"sessions": "-max-workers", "rate": "-rate", "threshold": "--threshold"}
	e := &attacking{o: o, replacing: replacing, quiet: own.Quiet || replacing, spread: own.Spread(),
		texts: map[uint64]string{}}
	l := &loadtest.Test{
		Plan: p, Process: s.Process(), Workers: own.Workers.Workers,
		Options: runner.Options{NoSetup: true, StartDown: true,
			Recording: runner.Recording{Extra: map[string]string{"dialect": "vegeta"}}},
		Record: own.Record, Live: own.Live, Quiet: e.quiet, Hooks: e.hooks,
		Beyond: []string{"a result for each request, in " + o.output},
	}
	return l.Perform(s.Out, s.Err)
}

// attacking is a load whose results are written as vegeta writes them.
type attacking struct {
	o                *attackOptions
	replacing, quiet bool
	spread           bool // workers send the load
	outputs          *loadtest.Outputs
	samples          httpload.Samples

	out   io.Writer // of results, once the load begins
	file  *os.File  // that is out; nil: standard output
	chunk bytes.Buffer
	write func(*Result) error // adds a result to chunk
	flush func() error
	lost  error // the first fault of out; what follows isn't written, because results in gob build on those before them

	mu    sync.Mutex
	texts map[uint64]string // of failures without an answer, by the request's number
}

func (e *attacking) hooks(out *loadtest.Outputs) (runner.Hooks, error) {
	if e.spread {
		return httpload.SpreadHooks(out, e.replacing, e.quiet), nil
	}
	e.outputs = out
	v := runner.Hooks{Sinks: []measure.Sink{e}, Ready: e.ready,
		Attach: func(w *workload.Workload) { w.Timed = e.samples.Timed }, Failed: e.failed, Result: e.result,
		Exit: func(run *record.Run) error { return httpload.Exit(run, e.replacing) }}
	if !e.quiet {
		v.Notice = loadtest.Notices(out)
	}
	return v, nil
}

func (e *attacking) failed(f record.ErrorSample) {
	if f.Class == protocol.Server.String() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.texts[f.Index] = f.Text
}

var _ measure.Sink = (*attacking)(nil)

// ready opens the output.
func (e *attacking) ready(context.Context) (err error) {
	if e.write, e.flush, err = encoder(&e.chunk, "gob"); err != nil {
		return err
	}
	if e.o.output == "stdout" {
		e.out = e.outputs.Out
		return loadtest.Drain(e.out)
	}
	if e.file, err = os.Create(e.o.output); err == nil {
		e.out = e.file
	}
	return err
}

// Interval writes the results so far: what a load that is killed has measured isn't lost.
func (e *attacking) Interval(*measure.Interval) error { return e.results() }

// results writes the results that haven't been written, at once.
func (e *attacking) results() error {
	samples := e.samples.Take()
	if e.lost != nil {
		return nil
	}
	for _, s := range samples {
		if err := e.write(e.resultOf(&s)); err != nil {
			return err
		}
	}
	if err := e.flush(); err != nil || e.chunk.Len() == 0 {
		return err
	}
	_, e.lost = e.out.Write(e.chunk.Bytes())
	e.chunk.Reset()
	return e.lost
}

// result writes the last results.
func (e *attacking) result(run *record.Run, dir string) error {
	err := cmp.Or(e.results(), e.lost)
	if e.file != nil {
		err = errors.Join(err, e.file.Close())
	}
	if !e.quiet {
		command.Tell(e.outputs, run, dir)
	}
	return err
}

// moved reports whether a status is that of a redirect.
func moved(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return true
	}
	return false
}

// resultOf returns the result of a request. Answers' bodies and headers aren't kept.
func (e *attacking) resultOf(s *httpload.Sample) *Result {
	target := &e.o.requests[s.Index%uint64(len(e.o.requests))]
	start, took := s.Start, s.Took
	if e.o.waits() {
		start, took = start.Add(-s.Late), took+s.Late
	}
	r := &Result{Attack: e.o.name, Seq: s.Index, Code: uint16(s.Status), Timestamp: start, Latency: took,
		BytesIn: e.o.counted(s.Parts.BodyBytes), BytesOut: uint64(len(target.Body)), Method: target.Method,
		URL: target.URL.String()}
	switch {
	case s.Circled() || e.o.redirects == 0 && moved(s.Status):
		r.Code, r.BytesIn, r.Error = 0, 0, fmt.Sprintf("stopped after %d redirects", e.o.redirects)
	case s.Class == protocol.Server && s.Status != 0:
		r.Error = strings.TrimSpace(fmt.Sprintf("%d %s", s.Status, http.StatusText(s.Status)))
	case s.Class != protocol.OK:
		e.mu.Lock()
		r.Error = e.texts[s.Index]
		delete(e.texts, s.Index)
		e.mu.Unlock()
		if r.Code = 0; r.Error == "" {
			r.Error = s.Class.String()
		}
	}
	return r
}
