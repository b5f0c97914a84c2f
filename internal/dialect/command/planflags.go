package command

import (
	"errors"

	"github.com/spf13/cobra"

	"brunt/internal/base/password"
	"brunt/internal/dialect/command/flags"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/protocol/protocols"
)

// PlanFlags are the flags of every command with a plan.
type PlanFlags struct{ Target flags.Target }

// Bind binds the flags to a command.
func (f *PlanFlags) Bind(cmd *cobra.Command) {
	fs, t := cmd.Flags(), &f.Target
	t.Given = fs.Changed
	fs.SortFlags = false
	fs.StringVarP(&t.Config, "config", "c", "", "plan file (or name it as the argument; - for standard input)")
	usage.InGroup(fs, usage.Load, "config")
	fs.StringVar(&t.Protocol, "proto", "", "protocol: pg (pgwire), iproto, sqlite, redis, http …")
	ProposeValues(cmd, "proto", protocols.Names())
	fs.StringSliceVarP(&t.Addresses, "addr", "a", nil,
		"addresses, host:port[,host:port…], or a URL (postgres://…, redis://…); a file for sqlite")
	fs.StringVarP(&t.User, "user", "u", "", "user name")
	fs.StringVarP(&t.Password, "password", "p", "",
		"password (safer: "+password.Variable+", --password-file, --ask-password)")
	fs.StringVar(&t.PasswordFile, "password-file", "", "read the password from the first line of a file")
	fs.BoolVar(&t.AskPassword, "ask-password", false, "ask for the password")
	fs.StringVar(&t.Database, "database", "", "database to use")
	fs.StringArrayVarP(&t.Options, "option", "o", nil, "setting of the protocol, name=value (repeatable)")
	fs.BoolVar(&t.TLS.Enabled, "tls", false, "connect with TLS")
	fs.BoolVar(&t.TLS.InsecureSkipVerify, "tls-insecure", false, "don't verify the server's certificate")
	fs.StringVar(&t.TLS.CAFile, "tls-ca", "", "authority's certificate (PEM)")
	fs.StringVar(&t.TLS.CertFile, "tls-cert", "", "client certificate (PEM)")
	fs.StringVar(&t.TLS.KeyFile, "tls-key", "", "client key (PEM)")
	fs.StringVar(&t.TLS.ServerName, "tls-server-name", "",
		"name that is sent to the server and that its certificate must have")
	BindWay(fs, &t.Way)
	usage.InGroup(fs, usage.Target, "proto", "addr", "user", "database")
	fs.Uint64Var(&t.Seed, "seed", 0, "seed of all values and of the order of requests (default: the plan's)")
	usage.InGroup(fs, usage.Data)
}

// Read reads the plan and applies the flags to it.
func (f *PlanFlags) Read(s *Env, args []string) (*plan.Plan, error) {
	p, err := f.Target.Read(args, s.In, s.Err)
	if err == nil {
		return p, nil
	}
	if path, wrong := f.Target.File(args); wrong == nil {
		err = s.Unread(path, err)
	}
	return nil, err
}

// Unread returns the error of a file that can't be read as a plan or a list of requests: err, or what to do with it if
// it is another tool's.
func (s *Env) Unread(path string, err error) error {
	if s.Foreign == nil {
		return err
	}
	text, unread := ReadFile(path)
	if unread != nil {
		return err
	}
	if advice := s.Foreign(path, text); advice != "" {
		return exitcode.Usage(errors.New(advice))
	}
	return err
}
