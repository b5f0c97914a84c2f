package cassandrastress

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/flags"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/result"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/run/loadtest"
)

// commandName is the command below brunt, and the name of the program.
const commandName = "cassandra-stress"

//go:embed help/*.txt
var helpFiles embed.FS

// Tool declares cassandra-stress.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: commandName, Formats: []string{commandName}, Programs: []string{commandName},
		Commands:  []dialect.Command{{Name: commandName, New: newStress}},
		Results:   []result.Format{Results()},
		Languages: []script.Language{Language{}},
		File: func(name string, text []byte) []string {
			if !profileKey().Match(text) {
				return nil
			}
			return []string{commandName, "user", "profile=" + name}
		},
	}
}

// profileKey matches a line that profiles have, and plans haven't.
var profileKey = lazyregexp.New(`(?m)^(keyspace_definition|table_definition|columnspec):`)

// own are brunt's own flags.
type own struct {
	command.LiveFlags
	command.RecordFlags
	command.WorkerFlags
	tls        plan.TLS
	seed       uint64
	awake      string
	thresholds []string
	report     bool
	quiet      bool
}

func (w *own) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Uint64Var(&w.seed, "seed", 0, "seed of all values and of the order of operations")
	usage.InGroup(fs, usage.Load, "seed")
	fs.BoolVar(&w.tls.Enabled, "tls", false, "connect with TLS")
	fs.BoolVar(&w.tls.InsecureSkipVerify, "tls-insecure", false, "don't verify the server's certificate")
	fs.StringVar(&w.tls.CAFile, "tls-ca", "", "authority's certificate (PEM)")
	fs.StringVar(&w.tls.CertFile, "tls-cert", "", "client certificate (PEM)")
	fs.StringVar(&w.tls.KeyFile, "tls-key", "", "client key (PEM)")
	usage.InGroup(fs, usage.Target)
	w.WorkerFlags.Bind(cmd)
	fs.StringVar(&w.awake, "awake", "auto", "keep this machine's cores from sleeping during the load: auto, on or off")
	usage.InGroup(fs, usage.Machine)
	command.BindThresholds(fs, &w.thresholds)
	w.RecordFlags.Bind(fs)
	w.LiveFlags.Bind(fs)
	fs.BoolVar(&w.report, "report", false, "also print brunt's own report, and exit by its verdict")
	fs.BoolVar(&w.quiet, "quiet", false, "no notices")
	usage.InGroup(fs, usage.Output, "results", "bundle", "no-record", "report")
}

// split separates brunt's own flags, which have two dashes, from the options of cassandra-stress.
func split(fs *pflag.FlagSet, args []string) (mine, theirs []string) {
	for i := 0; i < len(args); i++ {
		name, isMine := strings.CutPrefix(args[i], "--")
		if !isMine || name == "" {
			theirs = append(theirs, args[i])
			continue
		}
		mine = append(mine, args[i])
		f := fs.Lookup(name)
		if f != nil && f.NoOptDefVal == "" && !strings.Contains(name, "=") && i+1 < len(args) {
			i++
			mine = append(mine, args[i])
		}
	}
	return mine, theirs
}

func newStress(s *command.Env) *cobra.Command {
	w := &own{}
	texts := command.Texts{Files: helpFiles, Folder: "help"}
	var cmd *cobra.Command
	cmd = texts.New(commandName, nil, func(_ *cobra.Command, args []string) error {
		mine, theirs := split(cmd.Flags(), args)
		if done, err := inform(s, theirs); done {
			return err
		}
		for _, a := range append(mine, theirs...) {
			if a == "--help" || a == "-h" || a == "help" || a == "-?" {
				return cmd.Help()
			}
		}
		if err := cmd.Flags().Parse(mine); err != nil {
			return usageError(s, err)
		}
		return w.run(s, theirs)
	})
	cmd.DisableFlagParsing = true
	w.bind(cmd)
	return command.HasPlan(cmd)
}

// usageError marks an error as the user's, with the tool's exit code if brunt was called by its name.
func usageError(s *command.Env, err error) error {
	if s.Program != "" {
		return exitcode.With(1, err)
	}
	return exitcode.Usage(err)
}

// run sends the load that a command line describes.
func (w *own) run(s *command.Env, args []string) error {
	o, err := Parse(args)
	if err != nil {
		return usageError(s, err)
	}
	if err := flags.OneOf("awake", w.awake, flags.Choices("awake")); err != nil {
		return exitcode.Usage(err)
	}
	var profile *Profile
	if o.ProfilePath != "" {
		text, err := command.ReadFile(o.ProfilePath)
		if err != nil {
			return usageError(s, fmt.Errorf("profile: %w", err))
		}
		if profile, err = ParseProfile(o.ProfilePath, text); err != nil {
			return usageError(s, err)
		}
	}
	e := &execution{o: o, own: w}
	if o.sendsRanges(profile) {
		if o.tokens, err = e.tokensOnServer(context.Background()); err != nil {
			return err
		}
	}
	e.test, err = o.Compile(profile, nil)
	if errors.Is(err, errNoTable) {
		var t *Table
		if t, err = e.tableOnServer(context.Background(), profile); err == nil {
			e.test, err = o.Compile(profile, t)
		}
	}
	if err != nil {
		if code, ok := errors.AsType[*exitcode.Error](err); ok {
			return code
		}
		return usageError(s, err)
	}
	p := e.test.Plan
	p.Seed, p.Settings.Awake = w.seed, w.awake
	if w.tls != (plan.TLS{}) {
		p.Target.TLS = w.tls
		p.Target.TLS.Enabled = true
	}
	if err := p.Require(w.thresholds); err != nil {
		return usageError(s, err)
	}
	if problems := p.Validate(); len(problems) > 0 {
		return usageError(s, problems)
	}
	s.Flags = map[string]string{"sessions": "-rate threads=", "rate": "-rate fixed=", "threshold": "--threshold",
		"awake": "--awake"}
	if err := w.CheckWorkers(&w.Record, p); err != nil {
		return err
	}
	if o.SchemaOnly {
		return e.onlySchema(s)
	}
	if o.Until != nil && w.Workers.Number > 0 {
		return usageError(s, errors.New("err<: a load that ends once its rate is certain is sent by one process; give n= or "+
			"duration=, or leave --workers out"))
	}
	if o.GraphFile != "" && (w.Record.None || w.Workers.Number > 0) {
		return usageError(s, errors.New("-graph file=: the page is made from the record of one process; leave --no-record and "+
			"--workers out"))
	}
	if o.Threads == 0 && w.Workers.Number > 0 {
		return usageError(s, errors.New("-rate: a range of threads is tried in one process; give threads=, or leave --workers "+
			"out"))
	}
	if w.Record.HDRLog == "" {
		w.Record.HDRLog = o.HDRFile
	}
	t := &loadtest.Test{
		Plan: p, Record: w.Record, Live: w.Live, Process: s.Process(), Quiet: w.quiet, Workers: w.Workers, Hooks: e.hooks,
		Beyond: e.beyond(),
	}
	if o.Threads == 0 && o.Auto {
		t.Next = e.climb()
	}
	t.Options.Recording.Extra = map[string]string{"dialect": commandName}
	if o.LogFile == "" || s.PlanOnly {
		return t.Perform(s.Out, s.Err)
	}
	file, err := os.Create(o.LogFile)
	if err != nil {
		return usageError(s, fmt.Errorf("-log file=: %w", err))
	}
	err = t.Perform(io.MultiWriter(s.Out, file), s.Err)
	return errors.Join(err, file.Close())
}

// onlySchema makes the keyspace and the table.
func (e *execution) onlySchema(s *command.Env) error {
	if s.PlanOnly {
		return usageError(s, errors.New("n=0 sends nothing: there is no plan of it"))
	}
	if err := e.prepare(context.Background()); err != nil {
		return err
	}
	_, err := fmt.Fprintln(s.Out, "N=0: SCHEMA CREATED, NOTHING ELSE DONE.")
	return err
}

// beyond returns what of the command no plan describes.
func (e *execution) beyond() []string {
	out := []string{"cassandra-stress's lines and results: brunt run prints its own report"}
	if len(e.test.Schema) > 0 {
		out = append(out, "the keyspace and the table, which must exist: "+strings.Join(e.test.Schema, "; "))
	}
	if e.o.Truncate != "never" {
		out = append(out, "truncate=: the table is emptied before the load")
	}
	if e.o.LogFile != "" {
		out = append(out, "-log file=: redirect the output")
	}
	if e.o.GraphFile != "" {
		out = append(out, "-graph file=: brunt report --html makes the page")
	}
	if u := e.o.Until; u != nil {
		out = append(out, fmt.Sprintf("err<%v: the end of the load once the rate of rows is certain, after at least %d "+
			"intervals", u.Below, u.Least))
	}
	if e.o.Auto {
		out = append(out, "-rate auto: the end of the load once more threads bring nothing")
	}
	return out
}
