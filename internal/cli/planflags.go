package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"brunt/internal/plan"
	"brunt/internal/planfile"
	"brunt/internal/secret"
)

// planFlags are the flags that every command with a plan takes.
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
	fs.StringVar(&f.proto, "proto", "", "protocol: pg (pgwire), iproto, sqlite, redis, http …")
	fs.StringSliceVarP(&f.addresses, "addr", "a", nil, "addresses, host:port[,host:port…]; a file for sqlite")
	fs.StringVarP(&f.user, "user", "u", "", "user name")
	fs.StringVarP(&f.password, "password", "p", "", "password (safer: "+passwordEnv+", --password-file, --ask-password)")
	fs.StringVar(&f.passwordFile, "password-file", "", "read the password from the first line of a file")
	fs.BoolVar(&f.askPassword, "ask-password", false, "ask for the password")
	fs.StringVar(&f.database, "database", "", "database to use")
	fs.StringArrayVarP(&f.options, "option", "o", nil, "setting of the protocol, name=value (repeatable)")
	fs.BoolVar(&f.tls.Enabled, "tls", false, "connect with TLS")
	fs.BoolVar(&f.tls.InsecureSkipVerify, "tls-insecure", false, "don't verify the server's certificate")
	fs.StringVar(&f.tls.CAFile, "tls-ca", "", "authority's certificate (PEM)")
	fs.StringVar(&f.tls.CertFile, "tls-cert", "", "client certificate (PEM)")
	fs.StringVar(&f.tls.KeyFile, "tls-key", "", "client key (PEM)")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of all values and of the order of requests (default: the plan's)")
}

// file is the plan's path: the flag or the only argument.
func (f *planFlags) file(args []string) (string, error) {
	switch {
	case f.config != "" && len(args) > 0:
		return "", usage(fmt.Errorf("both -c %s and %s name a plan; give one", f.config, args[0]))
	case f.config != "":
		return f.config, nil
	case len(args) > 0:
		return args[0], nil
	}
	return "", usage(errors.New("no plan given; name its file with -c"))
}

// read reads the plan and puts the flags over it.
func (f *planFlags) read(s *streams, args []string) (*plan.Plan, error) {
	path, err := f.file(args)
	if err != nil {
		return nil, err
	}
	data, err := readFile(path, s.in)
	if err != nil {
		return nil, usage(err)
	}
	p, err := planfile.Read(path, data)
	if err != nil {
		return nil, usage(err)
	}
	if err := f.apply(s, p); err != nil {
		return nil, usage(err)
	}
	return p, nil
}

// readFile reads a plan, bounded so that a wrong path can't fill the memory.
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

// A plan of many thousand statements takes a hundred times the bytes of its text while it runs. The
// program's start, which lets its own few megabytes grow fivefold without a collection, is over then.
const (
	largePlan          = 256 << 10
	largePlanGCPercent = 50
)

func (f *planFlags) apply(s *streams, p *plan.Plan) error {
	t := &p.Target
	override(f.cmd, "proto", &t.Protocol, f.proto)
	override(f.cmd, "addr", &t.Addresses, f.addresses)
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
	given, err := password(f.password, f.passwordFile, f.askPassword, s.in, s.err)
	if err != nil {
		return err
	}
	if given != "" {
		t.Password = given
	}
	return planfile.Secrets(p, os.LookupEnv)
}

// durationFlag checks that a duration flag is above zero.
func durationFlag(name string, d time.Duration) error {
	if d <= 0 {
		return usage(fmt.Errorf("--%s %s: give a time above zero, such as 30s", name, d))
	}
	return nil
}

// passwordEnv is the variable that a password may come from.
const passwordEnv = "BRUNT_PASSWORD"

// password finds the password: the flag, a file, a prompt, or the environment, in this order. It
// is never printed.
func password(flag, file string, prompt bool, stdin io.Reader, stderr io.Writer) (string, error) {
	switch {
	case flag != "":
		return flag, nil
	case file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("--password-file: %w; check the path and its permissions", err)
		}
		line, _, _ := strings.Cut(string(b), "\n")
		return strings.TrimSuffix(line, "\r"), nil
	case prompt:
		return ask(stdin, stderr)
	}
	return os.Getenv(passwordEnv), nil
}

// ask reads a password without echo from a terminal, or a line from anything else.
func ask(stdin io.Reader, stderr io.Writer) (string, error) {
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return askTerminal(f, stderr)
	}
	line, err := bufio.NewReader(stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the password from standard input: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// askTerminal turns the echo off before it prints the prompt, so that nothing that is typed in answer
// to it shows, and on again whatever happens. After a signal the reading goroutine is left behind, as
// nothing ends a read from a terminal.
func askTerminal(tty *os.File, stderr io.Writer) (string, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	restore, err := muteEcho(tty)
	if err != nil {
		return "", fmt.Errorf("asking for the password: turning the echo off: %w; use --password-file or %s", err, passwordEnv)
	}
	defer fmt.Fprintln(stderr)
	defer restore()
	fmt.Fprint(stderr, "Password: ")
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(tty).ReadString('\n')
		read <- answer{line, err}
	}()
	select {
	case a := <-read:
		if a.err != nil && (a.line == "" || !errors.Is(a.err, io.EOF)) {
			return "", fmt.Errorf("reading the password: %w", a.err)
		}
		return strings.TrimRight(a.line, "\r\n"), nil
	case <-signals:
		return "", &exitError{exitInterrupted, errors.New("interrupted at the password prompt; nothing was sent")}
	}
}
