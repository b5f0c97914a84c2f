package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/calls"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/dialect/endpoints"
	"brunt/internal/dialect/service"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

// grpcCommand is the name of the command for gRPC services.
const grpcCommand = "grpc"

// grpcFlags are the flags of the grpc command.
type grpcFlags struct {
	command.LoadFlags
	calls.Server
	load        service.Options
	connections int
	data        string
	metadata    []string
	reflection  []string
	deadline    time.Duration
	receive     int
	send        int
	interval    time.Duration
	streamTime  time.Duration
	wait        time.Duration
}

func newGRPC(s *command.Env) *cobra.Command {
	f := &grpcFlags{}
	cmd := newCommand(grpcCommand, cobra.RangeArgs(1, 2), func(_ *cobra.Command, args []string) error {
		return f.run(s, args)
	})
	f.bind(s, cmd)
	return command.HasPlan(cmd)
}

func (f *grpcFlags) bind(s *command.Env, cmd *cobra.Command) {
	fs, o := cmd.Flags(), &f.load
	fs.SortFlags = false
	fs.Var((*usage.Rate)(&o.Rate), "rate",
		"calls a second, or N/unit such as 600/m, even if the server is slow (default 100 without --sessions)")
	fs.IntVarP(&o.Sessions, "sessions", "c", 0,
		"calls in flight; without --rate each follows the one before it (default: as many as answers within 1 s need, 1000 at most)")
	fs.IntVar(&f.connections, "connections", 1, "connections, which the calls in flight share; over TLS each has its own")
	fs.DurationVarP(&o.Duration, "duration", "z", service.UsualDuration, "how long")
	fs.Uint64VarP(&o.Requests, "requests", "n", 0, "end after exactly so many calls")
	fs.DurationVar(&f.wait, "wait", 0, "wait so long for the service to come up before the load")
	usage.InGroup(fs, usage.Load, "rate", "sessions", "duration", "requests")
	fs.BoolVar(&f.TLS.Enabled, "tls", false, "connect with TLS")
	fs.BoolVarP(&f.TLS.InsecureSkipVerify, "insecure", "k", false, "TLS without verifying certificates")
	fs.StringVar(&f.TLS.CAFile, "cacert", "", "authority's certificate (PEM)")
	fs.StringVar(&f.TLS.CertFile, "cert", "", "the client's certificate (PEM)")
	fs.StringVar(&f.TLS.KeyFile, "key", "", "the key of the client's certificate (PEM)")
	fs.StringVar(&f.TLS.ServerName, "server-name", "", "name in the server's certificate, if it isn't the host")
	command.BindWay(fs, &f.Way)
	fs.StringVar(&f.Authority, "authority", "", "the :authority of calls, if it isn't the address")
	fs.StringSliceVar(&f.Protos, "proto", nil, ".proto files that describe the methods (default: the server is asked)")
	fs.StringSliceVar(&f.Folders, "import-path", nil, "folders in which .proto files and what they import are looked for")
	fs.StringSliceVar(&f.Sets, "protoset", nil, "descriptor sets, instead of .proto files")
	fs.StringArrayVar(&f.reflection, "reflect-metadata", nil,
		`metadata "name: value" with which the server is asked for its methods (repeatable)`)
	usage.InGroup(fs, usage.Target, "tls", "proto")
	fs.StringVarP(&f.data, "data", "d", "",
		"the message as JSON, @file, or @- for standard input; several, or an array, are a stream's, or are sent in turn")
	fs.StringArrayVarP(&f.metadata, "metadata", "H", nil, `metadata "name: value" (repeatable)`)
	fs.DurationVar(&f.deadline, "deadline", 0, "deadline that the server is told (default none)")
	fs.IntVar(&f.receive, "receive", 0, "end a call after so many messages (default: the server ends it)")
	fs.IntVar(&f.send, "send", 0, "send so many messages in a stream, those of --data over and over (default: each once)")
	fs.DurationVar(&f.interval, "stream-interval", 0, "from one message of a stream to the next (default: all at once)")
	fs.DurationVar(&f.streamTime, "stream-duration", 0,
		"end a call's messages after so long, and the call if its method takes one message (default none)")
	fs.BoolVar(&f.Compress, "compress", false, "compress messages by gzip")
	fs.Uint64Var(&o.Seed, "seed", 1, "seed")
	usage.InGroup(fs, usage.Data, "data", "metadata")
	f.LoadFlags.Bind(s, cmd, "brief")
}

// run sends the load and prints the result, or lists the server's methods if none is named.
func (f *grpcFlags) run(s *command.Env, args []string) error {
	if err := f.OutputFlags.Check(); err != nil {
		return err
	}
	if f.Address = args[0]; strings.Contains(f.Address, "://") {
		return exitcode.Usage(fmt.Errorf("%q is a URL; write host:port, and --tls if connections are secured", f.Address))
	}
	f.Reflection = map[string]string{}
	for _, h := range f.reflection {
		name, value, err := endpoints.ParseHeader(h)
		if err != nil {
			return exitcode.Usage(fmt.Errorf("--reflect-metadata: %w", err))
		}
		f.Reflection[strings.ToLower(name)] = value
	}
	t := &f.TLS
	t.Enabled = t.Enabled || t.InsecureSkipVerify || t.CAFile != "" || t.CertFile != "" || t.KeyFile != "" ||
		t.ServerName != ""
	if len(args) == 1 && s.PlanOnly {
		return exitcode.Usage(errors.New("name a method to convert"))
	}
	if len(args) == 1 {
		return interruptible(s, func(ctx context.Context) error { return f.List(ctx, s.Out) })
	}
	p, err := f.plan(s, args[1])
	if err != nil {
		return exitcode.Usage(err)
	}
	if err := f.CheckWorkers(&f.Record, p); err != nil {
		return err
	}
	if len(p.Operations[0].Steps[0].Request.RPC.Messages) > 1 {
		if err := interruptible(s, func(ctx context.Context) error {
			m, err := f.Method(ctx, args[1])
			if err == nil && !m.IsStreamingClient() {
				inTurn(p)
			}
			return err
		}); err != nil {
			return err
		}
	}
	l := &loadtest.Test{
		Plan: p, Record: f.Record, Live: f.Live, Workers: f.Workers, Process: s.Process(),
		Quiet: f.Quiet, Language: f.Language(),
		Options: runner.Options{Wait: f.wait}, Hooks: f.Report().Hooks,
	}
	return l.Perform(s.Out, s.Err)
}

// interruptible calls f with a context that signals end. The error has the exit code.
func interruptible(s *command.Env, f func(context.Context) error) error {
	ctx, _, stop := loadtest.Interruptible(s.Err, loadtest.Endings(false))
	defer stop()
	if err := f(ctx); err != nil {
		return loadtest.Failure(ctx, err)
	}
	return nil
}

// inTurn has each call of a plan send one of the messages, in turn.
func inTurn(p *plan.Plan) {
	op := &p.Operations[0]
	var all []plan.Step
	for _, m := range op.Steps[0].Request.RPC.Messages {
		step := op.Steps[0]
		one := *step.Request.RPC
		one.Messages = []string{m}
		step.Request.RPC = &one
		all = append(all, step)
	}
	*op = calls.Operation(op.Name, all)
}

// plan builds a plan from the method and the flags.
func (f *grpcFlags) plan(s *command.Env, method string) (*plan.Plan, error) {
	f.load.Given = f.Load.Given
	phase, inFlight, err := f.load.Phase()
	switch {
	case err != nil:
		return nil, err
	case f.connections < 1:
		return nil, fmt.Errorf("--connections %d: a load needs at least 1", f.connections)
	case f.receive < 0:
		return nil, fmt.Errorf("--receive %d: give a number of messages", f.receive)
	case f.send < 0:
		return nil, fmt.Errorf("--send %d: give a number of messages", f.send)
	case min(f.deadline, f.wait, f.interval, f.streamTime) < 0:
		return nil, errors.New("--deadline, --stream-interval, --stream-duration and --wait: give a time above zero, such as 500ms")
	}
	call := &protocol.RPC{Method: calls.FullName(method), Deadline: f.deadline, Receive: f.receive, Send: f.send,
		Interval: f.interval, Duration: f.streamTime}
	if f.data == "@" {
		f.data = "@-"
	}
	data, err := endpoints.ReadBody(f.data, s.In)
	if err == nil {
		call.Messages, err = calls.Messages(data)
	}
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	for i, m := range call.Messages {
		call.Messages[i] = calls.Escape(m)
	}
	for _, h := range f.metadata {
		name, value, err := endpoints.ParseHeader(h)
		if err != nil {
			return nil, fmt.Errorf("--metadata: %w", err)
		}
		call.Metadata = append(call.Metadata, [2]string{strings.ToLower(name), calls.Escape(value)})
	}
	p := &plan.Plan{Name: "grpc-" + f.Address, Seed: f.load.Seed, Target: f.Target(), Load: []plan.Phase{phase},
		Operations: []plan.Operation{calls.Operation(endpoints.Name(method), []plan.Step{{
			Request: protocol.Request{Verb: protocol.GRPC, RPC: call}}})}}
	p.Settings = plan.Settings{Retries: -1}
	if err := f.Load.Settings(&p.Settings); err != nil {
		return nil, err
	}
	if p.Settings.Pipeline > 1 {
		f.connections = (inFlight + p.Settings.Pipeline - 1) / p.Settings.Pipeline
	}
	p.Settings.Sessions, p.Settings.Pipeline = calls.Spread(inFlight, f.connections, f.TLS.Enabled, p.Settings.Tier)
	return p, f.Load.Shape(p)
}
