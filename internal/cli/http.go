package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/dialect/service"
	"brunt/internal/dialect/tools"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

// httpCommand is the name of the command for HTTP services.
const httpCommand = "http"

// httpFlags are the flags of the http command.
type httpFlags struct {
	command.LoadFlags
	service.Options
	wait       time.Duration
	way        plan.Way
	serverName string
}

func newHTTP(s *command.Env) *cobra.Command {
	f := &httpFlags{}
	cmd := newCommand(httpCommand, cobra.MinimumNArgs(1), func(_ *cobra.Command, args []string) error {
		return f.run(s, args)
	})
	f.bind(s, cmd)
	return command.HasPlan(cmd)
}

func (f *httpFlags) bind(s *command.Env, cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Var((*usage.Rate)(&f.Rate), "rate",
		"requests a second, or N/unit such as 600/m, even if the server is slow (default 100 without --sessions)")
	fs.IntVarP(&f.Sessions, "sessions", "c", 0,
		"connections; without --rate each sends when it is free (default: as many as the rate needs and the server takes, up to those for answers within 1 s, 1000 at most)")
	fs.DurationVarP(&f.Duration, "duration", "z", service.UsualDuration, "how long")
	fs.Uint64VarP(&f.Requests, "requests", "n", 0, "end after exactly so many requests")
	fs.DurationVar(&f.wait, "wait", 0, "wait so long for the service to come up before the load")
	usage.InGroup(fs, usage.Load, "rate", "sessions", "duration", "requests")
	fs.BoolVarP(&f.Insecure, "insecure", "k", false, "don't verify certificates")
	fs.StringVar(&f.CA, "cacert", "", "authority's certificate (PEM)")
	fs.StringVar(&f.Cert, "cert", "", "the client's certificate (PEM)")
	fs.StringVar(&f.Key, "key", "", "the key of the client's certificate (PEM)")
	fs.StringVar(&f.serverName, "server-name", "",
		"name that is sent to the server (SNI) and that its certificate must have")
	command.BindWay(fs, &f.way)
	fs.BoolVar(&f.HTTP1, "http1", false, "HTTP/1.1 even where the server offers HTTP/2")
	fs.BoolVar(&f.Prior, "http2-prior", false,
		"HTTP/2 without asking, also without TLS (h2c); --pipeline is then the number of streams of a connection")
	fs.IntVar(&f.Redirects, "redirects", 0, "redirects that a request follows, up to 20; 0 takes them for answers")
	fs.BoolVar(&f.Compress, "compress", false, "ask for gzip")
	fs.BoolVar(&f.NoReuse, "noreuse", false, "a new connection for each request")
	usage.InGroup(fs, usage.Target, "insecure")
	fs.BoolVar(&f.InOrder, "in-order", true, "several requests in the order of the list; =false draws them by the seed")
	fs.StringVarP(&f.Method, "method", "X", "", "method, for URLs (default GET, with a body POST)")
	fs.StringArrayVarP(&f.Headers, "header", "H", nil, `header field "Name: value", for every request (repeatable)`)
	fs.StringVarP(&f.Data, "data", "d", "", "body, for URLs: text, @file, or @- for standard input")
	fs.StringVar(&f.SecretData, "secret-data", "", "the same, but kept in no record and no output")
	fs.Uint64Var(&f.Seed, "seed", 1, "seed of the order of requests")
	usage.InGroup(fs, usage.Data, "method", "header", "data")
	fs.StringVar(&f.Good, "good", "200-399", "statuses that are no failure")
	usage.InGroup(fs, usage.Judging)
	f.LoadFlags.Bind(s, cmd, "brief")
}

// run sends the load and prints the result.
func (f *httpFlags) run(s *command.Env, targets []string) error {
	if err := f.OutputFlags.Check(); err != nil {
		return err
	}
	p, err := f.plan(s, targets)
	if err != nil {
		return exitcode.Usage(err)
	}
	if err := f.CheckWorkers(&f.Record, p); err != nil {
		return err
	}
	l := &loadtest.Test{
		Plan: p, Record: f.Record, Live: f.Live, Workers: f.Workers, Process: s.Process(),
		Quiet: f.Quiet, Language: f.Language(),
		Options: runner.Options{Wait: f.wait}, Hooks: f.Report().Hooks,
	}
	return l.Perform(s.Out, s.Err)
}

// plan builds a plan from the arguments and the flags.
func (f *httpFlags) plan(s *command.Env, targets []string) (*plan.Plan, error) {
	f.Given, f.Lists = f.Load.Given, tools.All().Requests()
	p, err := f.Options.Plan(targets, s.In)
	if err != nil {
		if len(targets) == 1 { // another tool's file that was named as a list of requests
			err = s.Unread(targets[0], err)
		}
		return nil, err
	}
	p.Target.Way = f.way
	if f.serverName != "" && p.Target.TLS.Enabled {
		p.Target.TLS.ServerName = f.serverName
	}
	if f.wait < 0 {
		return nil, fmt.Errorf("--wait %s: give a time above zero, such as 30s", f.wait)
	}
	if err := f.Load.Settings(&p.Settings); err != nil {
		return nil, err
	}
	return p, f.Load.Shape(p)
}
