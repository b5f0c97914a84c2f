package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/cli/usage"
	"brunt/internal/password"
	"brunt/internal/plan"
	"brunt/internal/planfile"
	"brunt/internal/protocols"
	"brunt/internal/secret"
	"brunt/internal/target"
	"brunt/internal/verdict/exitcode"
)

// planFlags are the flags of every command with a plan.
type planFlags struct {
	cmd          *cobra.Command
	config       string
	user         string
	password     string
	passwordFile string
	askPassword  bool
	proto        string
	addresses    []string
	database     string
	options      []string
	tls          plan.TLS
	seed         uint64
}

func (f *planFlags) bind(cmd *cobra.Command) {
	f.cmd = cmd
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVarP(&f.config, "config", "c", "", "plan file (or name it as the argument; - for standard input)")
	usage.InGroup(fs, usage.Load, "config")
	fs.StringVar(&f.proto, "proto", "", "protocol: pg (pgwire), iproto, sqlite, redis, http …")
	proposeValues(cmd, "proto", protocols.Names())
	fs.StringSliceVarP(&f.addresses, "addr", "a", nil,
		"addresses, host:port[,host:port…], or a URL (postgres://…, redis://…); a file for sqlite")
	fs.StringVarP(&f.user, "user", "u", "", "user name")
	fs.StringVarP(&f.password, "password", "p", "",
		"password (safer: "+password.Variable+", --password-file, --ask-password)")
	fs.StringVar(&f.passwordFile, "password-file", "", "read the password from the first line of a file")
	fs.BoolVar(&f.askPassword, "ask-password", false, "ask for the password")
	fs.StringVar(&f.database, "database", "", "database to use")
	fs.StringArrayVarP(&f.options, "option", "o", nil, "setting of the protocol, name=value (repeatable)")
	fs.BoolVar(&f.tls.Enabled, "tls", false, "connect with TLS")
	fs.BoolVar(&f.tls.InsecureSkipVerify, "tls-insecure", false, "don't verify the server's certificate")
	fs.StringVar(&f.tls.CAFile, "tls-ca", "", "authority's certificate (PEM)")
	fs.StringVar(&f.tls.CertFile, "tls-cert", "", "client certificate (PEM)")
	fs.StringVar(&f.tls.KeyFile, "tls-key", "", "client key (PEM)")
	usage.InGroup(fs, usage.Target, "proto", "addr", "user", "database")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of all values and of the order of requests (default: the plan's)")
	usage.InGroup(fs, usage.Data)
}

// file returns the path of the plan: the flag's value or the only argument.
func (f *planFlags) file(args []string) (string, error) {
	switch {
	case f.config != "" && len(args) > 0:
		return "", exitcode.Usage(fmt.Errorf("both -c %s and %s name a plan; give one", f.config, args[0]))
	case f.config != "":
		return f.config, nil
	case len(args) > 0:
		return args[0], nil
	}
	return "", exitcode.Usage(errors.New("no plan given; name its file, as the argument or with -c"))
}

// read reads the plan and applies the flags to it.
func (f *planFlags) read(s *streams, args []string) (*plan.Plan, error) {
	path, err := f.file(args)
	if err != nil {
		return nil, err
	}
	data, err := readFile(path, s.in)
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	p, err := planfile.Read(path, data)
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	if err := f.apply(s, p); err != nil {
		return nil, exitcode.Usage(err)
	}
	return p, nil
}

// readFile reads a plan. The size is limited, so that a wrong path can't fill the memory.
func readFile(path string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("plan: %w; check the path", err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, planfile.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", path, err)
	}
	if len(data) > largePlan && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(largePlanGCPercent)
	}
	return data, nil
}

// Plans larger than largePlan lower the garbage collector's target, since a plan of many thousand statements needs a
// hundred times the size of its text while it runs. Until then, the target of the program's start lets its few
// megabytes grow fivefold without a collection.
const (
	largePlan          = 256 << 10
	largePlanGCPercent = 50
)

func (f *planFlags) apply(s *streams, p *plan.Plan) error {
	t := &p.Target
	override(f.cmd, "proto", &t.Protocol, f.proto)
	override(f.cmd, "addr", &t.Addresses, f.addresses)
	known, protocol := t.Password, t.Protocol
	if f.cmd.Flags().Changed("addr") && !f.cmd.Flags().Changed("proto") {
		t.Protocol = "" // a connection string contains the protocol
	}
	if err := target.Unfold(p); err != nil {
		return err
	}
	t.Protocol = cmp.Or(t.Protocol, protocol)
	if t.Password != known && !f.cmd.Flags().Changed("addr") {
		return errors.New("the plan's address holds a password; give it with -a, or in " + password.Variable)
	}
	override(f.cmd, "user", &t.User, f.user)
	override(f.cmd, "database", &t.Database, f.database)
	override(f.cmd, "seed", &p.Seed, f.seed)
	if f.tls != (plan.TLS{}) {
		f.tls.Enabled = true
		t.TLS = f.tls
	}
	for _, o := range f.options {
		name, value, ok := strings.Cut(o, "=")
		if !ok || name == "" {
			return fmt.Errorf("-o %s: not of the form name=value", secret.Value(o, o))
		}
		if t.Options == nil {
			t.Options = map[string]string{}
		}
		t.Options[name] = value
	}
	if t.Protocol == "" {
		return errors.New("no protocol given; add --proto, or target.protocol to the plan")
	}
	given, err := password.Find(f.password, f.passwordFile, f.askPassword, s.in, s.err)
	if errors.Is(err, password.ErrInterrupted) {
		return exitcode.With(exitcode.Interrupted, err)
	}
	if err != nil {
		return err
	}
	// A password in an address takes precedence over the environment's, but not over a flag's.
	if given != "" && (t.Password == known || f.password != "" || f.passwordFile != "" || f.askPassword) {
		t.Password = given
	}
	target.Fill(t, os.Getenv)
	return planfile.Secrets(p, os.LookupEnv)
}

// durationFlag checks that a duration flag is above zero.
func durationFlag(name string, d time.Duration) error {
	if d <= 0 {
		return exitcode.Usage(fmt.Errorf("--%s %s: give a time above zero, such as 30s", name, d))
	}
	return nil
}
