package pgbench

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/base/password"
	"brunt/internal/base/secret"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/pgbench/script"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

//go:embed help/*.txt
var helpFiles embed.FS

func newCommand(s *command.Env) *cobra.Command {
	texts := command.Texts{Files: helpFiles, Folder: "help"}
	cmd := texts.New("pgbench", nil, func(_ *cobra.Command, args []string) error { return execute(s, args) })
	cmd.DisableFlagParsing = true
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { usage(cmd.OutOrStdout(), "brunt pgbench", newest) })
	return command.HasPlan(cmd)
}

// execute executes a command line of pgbench.
func execute(s *command.Env, args []string) error {
	name := "brunt pgbench"
	if s.Program != "" {
		name = s.Program
	}
	workers, args, err := command.TakeWorkers(args)
	if err != nil {
		return told(s, fault("%s", err))
	}
	o, err := Parse(&Input{Args: args, Stdin: s.In, Getenv: os.Getenv, User: systemUser, Now: time.Now,
		Info: func(line string) { fmt.Fprintln(s.Err, "pgbench: "+line) }})
	if show, ok := errors.AsType[*Show](err); ok {
		return show.print(s, name)
	}
	if err == nil {
		err = run(s, o, workers)
	}
	return told(s, err)
}

// print prints the text.
func (show *Show) print(s *command.Env, name string) (err error) {
	switch {
	case show.Usage:
		usage(s.Out, name, newest)
	case show.Stderr:
		_, err = io.WriteString(s.Err, show.Text)
	default:
		_, err = io.WriteString(s.Out, show.Text)
	}
	return err
}

// told prints a *Fault as pgbench prints errors, and returns an error with its exit code.
func told(s *command.Env, err error) error {
	f, ok := errors.AsType[*Fault](err)
	if !ok {
		return err
	}
	var b strings.Builder
	for _, line := range f.Lines {
		b.WriteString("pgbench: " + line + "\n")
	}
	for _, line := range f.Plain {
		b.WriteString(line + "\n")
	}
	_, werr := io.WriteString(s.Err, secret.Text(b.String()))
	return exitcode.With(exitError, werr)
}

func systemUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "postgres"
}

// run initializes the tables, or sends the load.
func run(s *command.Env, o *Options, workers *command.WorkerFlags) error {
	p, err := o.Plan(os.Getenv, systemUser)
	if err != nil {
		return err
	}
	if s.PlanOnly && o.Initialize {
		return fault("brunt convert: -i makes tables and sends no load")
	}
	err = workers.CheckWorkers(&loadtest.Record{None: o.Ours.NoRecord}, p)
	if err == nil && workers.Workers.Number > 0 {
		err = o.spreads()
	}
	if err != nil {
		return err
	}
	e := &execution{o: o, replacing: s.Program != "", far: workers.Workers.Number > 0}
	beyond := o.beyond()
	switch {
	case s.PlanOnly:
		beyond = append(beyond, o.askScale(s, p)...)
	case !workers.Workers.Cluster.Print:
		if p, err = o.prepare(s, e, p); err != nil || o.Initialize {
			return err
		}
	}
	s.Flags = map[string]string{"sessions": "-c", "rate": "-R", "loops": "-j", "threshold": "--threshold"}
	l := &loadtest.Test{
		Plan: p, Process: s.Process(), Workers: workers.Workers,
		Options: runner.Options{NoSetup: true, Recording: runner.Recording{Extra: map[string]string{"dialect": "pgbench"}}},
		Record:  loadtest.Record{Root: o.Ours.Results, Dir: o.Ours.Bundle, None: o.Ours.NoRecord, Upload: o.Ours.Upload},
		Live: loadtest.Live{MetricsAddr: o.Ours.MetricsAddr, Destinations: o.Ours.Exports, Watched: o.Ours.Watched,
			Inspected: o.Ours.Inspected, Page: o.Ours.Page},
		Quiet: true, Hooks: e.hooks, Beyond: beyond,
	}
	err = l.Perform(s.Out, s.Err)
	if c, ok := errors.AsType[*exitcode.Error](err); ok && e.replacing && c.Err != nil {
		return fault("%s", c.Err) // no load was sent
	}
	return err
}

// prepare connects to the server and does what precedes a load, or all of an initialization. It returns the plan with
// what it has learned.
func (o *Options) prepare(s *command.Env, e *execution, p *plan.Plan) (*plan.Plan, error) {
	ctx := context.Background()
	for _, line := range o.warnings {
		fmt.Fprintf(s.Err, "WARNING: %s\n", line)
	}
	db, err := connect(ctx, p, s.Err)
	if lacksPassword(p, err) {
		if p.Target.Password, err = password.Prompt(s.In, s.Err); err != nil {
			return nil, fault("%s", err)
		}
		db, err = connect(ctx, p, s.Err)
	}
	if err != nil {
		text := unconnected(p, err)
		if o.passfile != "" && strings.Contains(text, "password authentication failed") {
			text += fmt.Sprintf("\npassword retrieved from file \"%s\"", o.passfile)
		}
		f := o.unready(text)
		if !e.replacing {
			return nil, exitcode.With(exitcode.Unreachable, told(s, f))
		}
		return nil, f
	}
	defer db.Close()
	if o.Initialize {
		i := &initializer{o: o, db: db, stderr: s.Err, now: time.Now, live: loadtest.Look(s.Err).Live}
		return nil, i.run(ctx)
	}
	if o.Debug > 0 {
		limit, n := "nxacts", o.Transactions
		if o.DurationS > 0 {
			limit, n = "duration", o.DurationS
		}
		host, port := addressOf(p)
		fmt.Fprintf(s.Err, "pgbench: pghost: %s pgport: %s nclients: %d %s: %d dbName: %s\n", host, port, o.Clients, limit, n,
			p.Target.Database)
	}
	var warning string
	e.server, warning, err = o.lookAt(ctx, db, p.Target.Database)
	if e.server != nil {
		fmt.Fprint(s.Out, e.server.banner(o))
	}
	if err != nil {
		return nil, err
	}
	if warning != "" {
		fmt.Fprintf(s.Err, "pgbench: warning: %s\n", warning)
	}
	p.Scripts.Options = o.Language().Strings()
	if !o.NoVacuum {
		o.clean(ctx, db, s.Err)
	}
	return p, nil
}

// unready returns an error of the connection that precedes a load or makes up an initialization.
func (o *Options) unready(text string) *Fault {
	purpose := "setup"
	if o.Initialize {
		purpose = "initialization"
	}
	return fault("%s", text).detail("error", "could not create connection for %s", purpose)
}

// lacksPassword reports whether the server has refused a connection for want of a password.
func lacksPassword(p *plan.Plan, err error) bool {
	e, ok := errors.AsType[*protocol.Error](err)
	return ok && e.Code == "28P01" && p.Target.Password == ""
}

// addressOf returns the host and the port of the first server.
func addressOf(p *plan.Plan) (host, port string) {
	address := p.Target.Addresses[0]
	if i := strings.LastIndexByte(address, ':'); i > 0 {
		return strings.Trim(address[:i], "[]"), address[i+1:]
	}
	return address, "5432"
}

// unconnected returns a failure to connect as PostgreSQL's libraries print it.
func unconnected(p *plan.Plan, err error) string {
	where, port := addressOf(p)
	text := fmt.Sprintf("connection to server at \"%s\", port %s failed: ", where, port)
	running := "\n\tIs the server running on that host and accepting TCP/IP connections?"
	if strings.HasPrefix(where, "/") {
		text = fmt.Sprintf("connection to server on socket \"%s/.s.PGSQL.%s\" failed: ", where, port)
		running = "\n\tIs the server running locally and accepting connections on that socket?"
	}
	reason := err.Error()
	if lacksPassword(p, err) {
		return text + "fe_sendauth: no password supplied"
	}
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		// The server has answered if the text says as whom it was asked.
		if _, said, answered := strings.Cut(e.Text, fmt.Sprintf(" as %q: ", p.Target.User)); answered {
			said, _, _ = strings.Cut(said, "; ") // brunt's advice
			return text + "FATAL:  " + said
		}
	}
	switch {
	case strings.Contains(reason, "connection refused"):
		return text + "Connection refused" + running
	case strings.Contains(reason, "there is no such socket"):
		return text + "No such file or directory" + running
	case strings.Contains(reason, "the name can't be resolved"):
		return fmt.Sprintf("could not translate host name \"%s\" to address: Name or service not known", where)
	}
	return text + reason
}

// scaleWithin is the time for asking a server for the scale of a plan that isn't sent.
const scaleWithin = 5 * time.Second

// askScale gives the plan of built-in scripts the scale of the server's tables, as the load has it whatever -s says. If
// the server doesn't say, it returns what the plan has instead.
func (o *Options) askScale(s *command.Env, p *plan.Plan) []string {
	if !o.Internal {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), scaleWithin)
	defer cancel()
	given := o.Scale
	db, err := connect(ctx, p, s.Err)
	if err == nil {
		defer db.Close()
		var warning string
		if _, warning, err = o.lookAt(ctx, db, p.Target.Database); err == nil {
			if warning != "" {
				fmt.Fprintf(s.Err, "pgbench: warning: %s\n", warning)
			}
			p.Scripts.Options = o.Language().Strings()
			return nil
		}
	}
	o.Scale = given
	return []string{fmt.Sprintf("the scale of the server's tables, which can't be asked (%s): the plan has %d, see "+
		"scripts.options.scale", strings.Join(strings.Fields(err.Error()), " "), given)}
}

// shell returns the name of a script that runs shell commands; "" if there is none.
func (o *Options) shell() string {
	for _, s := range o.Scripts {
		parsed, err := script.Parse(s.Name, s.Text, o.Language())
		if err == nil && slices.ContainsFunc(parsed.Commands, func(c script.Command) bool { return c.Shell() }) {
			return s.Name
		}
	}
	return ""
}

// spreads returns an error if workers can't do what the options ask for.
func (o *Options) spreads() error {
	name := o.shell()
	switch {
	case o.Initialize:
		return fault("-i: tables are made by this process; omit --workers")
	case name != "":
		return fault("%s: workers run no shell commands; omit \\shell and \\setshell, or --workers", name)
	case o.Log:
		return fault("-l: with --workers there is no log of transactions; omit -l or --workers")
	case o.ExitOnAbort:
		return fault("--exit-on-abort: no worker knows of the clients of another; omit it or --workers")
	}
	return nil
}

// beyond returns what of the command line no plan describes.
func (o *Options) beyond() (out []string) {
	out = []string{"pgbench's report: brunt run prints its own"}
	if !o.NoVacuum {
		out = append(out, "the vacuum of pgbench's tables before the load")
	}
	if o.Log {
		out = append(out, "the log of transactions: see brunt export")
	}
	if o.ExitOnAbort {
		out = append(out, "--exit-on-abort: the other clients go on when one is aborted")
	}
	if o.ProgressS > 0 {
		out = append(out, "the lines of --progress")
	}
	if name := o.shell(); name != "" {
		out = append(out, "\\shell and \\setshell of "+name+": a client that comes to one is aborted")
	}
	return out
}

// usage writes the help for the flags.
func usage(w io.Writer, name string, version int) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is a benchmarking tool for PostgreSQL: it has the flags of pgbench %d to %d.\n\n", name, oldest,
		newest)
	fmt.Fprintf(&b, "Usage:\n  %s [OPTION]... [DBNAME]\n", name)
	options := map[string]longOption{}
	for _, o := range longOptions(version) {
		options[o.name] = o
	}
	for _, group := range flagTexts() {
		fmt.Fprintf(&b, "\n%s:\n", group.title)
		for _, f := range group.flags {
			o := options[f.name]
			left := "  --" + f.name
			if o.short != 0 {
				left = fmt.Sprintf("  -%c, --%s", o.short, f.name)
			}
			if f.value != "" {
				left += "=" + f.value
			}
			fmt.Fprintf(&b, "%-30s %s\n", left, f.about)
		}
	}
	b.WriteString("\nBrunt's own options:\n")
	for _, o := range ourOptions() {
		fmt.Fprintf(&b, "%-30s %s\n", "  --"+o.name, o.about)
	}
	b.WriteString(command.AboutWorkers)
	b.WriteString("\nReport bugs to the project that you have this program from.\n")
	// Errors of writing a help text are ignored.
	_, _ = io.WriteString(w, b.String())
}
