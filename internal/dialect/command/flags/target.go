// Package flags applies the flags of brunt's own commands to plans. Commands bind flags to the fields of its types. A
// field is used only if Given reports that its flag was given.
package flags

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"brunt/internal/base/password"
	"brunt/internal/base/secret"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/server/target"
)

// Given reports whether the flag with a name was given.
type Given func(name string) bool

// Target contains the values of the flags for a plan's file, its target and its seed.
type Target struct {
	Given        Given
	Config       string // the plan's file
	User         string
	Password     string
	PasswordFile string // its first line is the password
	AskPassword  bool
	Protocol     string
	Addresses    []string
	Database     string
	Options      []string // name=value
	TLS          plan.TLS
	Way          plan.Way
	Seed         uint64
}

// File returns the path of the plan: the flag's value or the only argument.
func (t *Target) File(args []string) (string, error) {
	switch {
	case t.Config != "" && len(args) > 0:
		return "", fmt.Errorf("both -c %s and %s name a plan; give one", t.Config, args[0])
	case t.Config != "":
		return t.Config, nil
	case len(args) > 0:
		return args[0], nil
	}
	return "", errors.New("no plan given; name its file, as the argument or with -c")
}

// Read reads the plan that the flag or the only argument names (- is stdin), and applies the flags to it. If a password
// must be asked for, stderr shows the question. Errors have the exit code for bad usage.
func (t *Target) Read(args []string, stdin io.Reader, stderr io.Writer) (*plan.Plan, error) {
	path, err := t.File(args)
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	p, err := readFile(path, stdin)
	if err == nil {
		err = t.apply(p, stdin, stderr)
	}
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	return p, nil
}

// ReadPlan reads a plan, with the password and the secrets of the environment.
func ReadPlan(path string, stdin io.Reader, stderr io.Writer) (*plan.Plan, error) {
	p, err := readFile(path, stdin)
	if err != nil {
		return nil, err
	}
	given, err := password.Find("", "", false, stdin, stderr)
	if err != nil {
		return nil, err
	}
	if given != "" {
		p.Target.Password = given
	}
	return p, planfile.Secrets(p, os.LookupEnv)
}

// Plans larger than largePlan lower the garbage collector's target, since a plan of many thousand statements needs a
// hundred times the size of its text while it runs. Until then, the target of the program's start lets its few
// megabytes grow fivefold without a collection.
const (
	largePlan          = 256 << 10
	largePlanGCPercent = 50
)

// readFile reads a plan. The size is limited, so that a wrong path can't fill the memory.
func readFile(path string, stdin io.Reader) (*plan.Plan, error) {
	in := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil && strings.Contains(path, "://") {
			return nil, fmt.Errorf("plan: %s is a URL and no file; to load it, write brunt http %s", secret.Text(path),
				secret.Text(path))
		}
		if err != nil {
			return nil, fmt.Errorf("plan: %w; check the path", err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, planfile.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("plan: %w; check the path", err)
	}
	if len(data) > largePlan && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(largePlanGCPercent)
	}
	return planfile.Read(path, data)
}

// Apply applies the flags to a plan that wasn't read from a file. Errors have the exit code for bad usage.
func (t *Target) Apply(p *plan.Plan, stdin io.Reader, stderr io.Writer) error {
	return exitcode.Usage(t.apply(p, stdin, stderr))
}

// apply applies the flags to a plan.
func (t *Target) apply(p *plan.Plan, stdin io.Reader, stderr io.Writer) error {
	to := &p.Target
	t.forget(p)
	override(t.Given, "proto", &to.Protocol, t.Protocol)
	override(t.Given, "addr", &to.Addresses, t.Addresses)
	known, protocol := to.Password, to.Protocol
	secured := t.TLS != (plan.TLS{}) || strings.Contains(strings.Join(to.Addresses, ","), "sslmode=")
	if t.Given("addr") && !t.Given("proto") {
		to.Protocol = "" // a connection string contains the protocol
	}
	if err := target.Unfold(p); err != nil {
		return err
	}
	to.Protocol = cmp.Or(to.Protocol, protocol)
	if to.Password != known && !t.Given("addr") {
		return errors.New("the plan's address holds a password; give it with -a, or in " + password.Variable)
	}
	override(t.Given, "user", &to.User, t.User)
	override(t.Given, "database", &to.Database, t.Database)
	override(t.Given, "seed", &p.Seed, t.Seed)
	if len(t.Way.Resolve) > 0 {
		to.Way.Resolve = t.Way.Resolve
	}
	to.Way.Via, to.Way.Announce = cmp.Or(t.Way.Via, to.Way.Via), cmp.Or(t.Way.Announce, to.Way.Announce)
	if t.TLS != (plan.TLS{}) {
		t.TLS.Enabled = true
		to.TLS = t.TLS
	}
	for _, o := range t.Options {
		name, value, ok := strings.Cut(o, "=")
		if !ok || name == "" {
			return fmt.Errorf("-o %s: not of the form name=value", secret.Value(o, o))
		}
		if to.Options == nil {
			to.Options = map[string]string{}
		}
		to.Options[name] = value
	}
	if to.Protocol == "" {
		return errors.New("no protocol given; add --proto, or target.protocol to the plan")
	}
	given, err := password.Find(t.Password, t.PasswordFile, t.AskPassword, stdin, stderr)
	if errors.Is(err, password.ErrInterrupted) {
		return exitcode.With(exitcode.Interrupted, err)
	}
	if err != nil {
		return err
	}
	// A password in an address takes precedence over the environment's, but not over a flag's.
	if given != "" && (to.Password == known || t.Password != "" || t.PasswordFile != "" || t.AskPassword) {
		to.Password = given
	}
	warn := func(line string) { fmt.Fprintf(stderr, "brunt: WARNING: %s\n", line) }
	if err := target.Fill(to, secured, os.Getenv, warn); err != nil {
		return err
	}
	return planfile.Secrets(p, os.LookupEnv)
}

// forget makes a plan forget the positions of keys in its file that flags take the place of, so that errors don't name
// them.
func (t *Target) forget(p *plan.Plan) {
	given := map[string]bool{
		"addresses": t.Given("addr"),
		"protocol":  t.Given("proto"),
		"user":      t.Given("user"),
		"database":  t.Given("database"),
		"options":   len(t.Options) > 0,
		"tls":       t.TLS != (plan.TLS{}),
		"resolve":   len(t.Way.Resolve) > 0,
		"via":       t.Way.Via != "",
	}
	for key, replaced := range given {
		if replaced {
			p.Where = append(plan.Places{{Key: "target." + key}}, p.Where...)
		}
	}
}

// override sets a setting to the value of a flag, if the flag was given.
func override[T any](given Given, flag string, setting *T, value T) {
	if given(flag) {
		*setting = value
	}
}
