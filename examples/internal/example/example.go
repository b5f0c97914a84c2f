// Package example contains what the services of the examples have in common: commands, a server of HTTP, and a test
// programme, which runs a campaign of brunt with a database and the service.
package example

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Command is a command with its arguments.
type Command func(ctx context.Context, args []string) error

// Main runs a program until it ends or is interrupted. It prints the error, and ends the process with status 1.
func Main(name string, run Command) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, name+":", err)
		}
		stop()
		os.Exit(1)
	}
}

// Run runs the command that the first argument names, serve or programme. If it names neither, Run prints the usage and
// returns flag.ErrHelp.
func Run(ctx context.Context, args []string, usage string, serve, programme Command) error {
	if len(args) > 0 {
		switch args[0] {
		case "serve":
			return serve(ctx, args[1:])
		case "programme":
			return programme(ctx, args[1:])
		}
	}
	fmt.Fprint(os.Stderr, usage)
	return flag.ErrHelp
}

// Number returns a number from an environment variable, or a default.
func Number(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// shutdownTime is how long a server waits for the answers to the last requests.
const shutdownTime = 5 * time.Second

// Serve serves until ctx ends.
func Serve(ctx context.Context, server *http.Server) error {
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	return server.Shutdown(bounded)
}

// Programme is a test programme of a service with its flags.
type Programme struct {
	Flags   *flag.FlagSet
	Brunt   string // absolute path, after Parse
	Files   string // folder of the plan and the campaign
	Results string

	name  string
	scale float64
}

// NewProgramme returns the test programme of a service. files and scale describe the flags of these names.
func NewProgramme(name, files, scale string) *Programme {
	p := &Programme{name: name, Flags: flag.NewFlagSet(name+" programme", flag.ContinueOnError)}
	p.Flags.StringVar(&p.Brunt, "brunt", "bin/brunt", "the brunt to run")
	p.Flags.StringVar(&p.Files, "files", "examples/"+name, files)
	p.Flags.StringVar(&p.Results, "results", "results/"+name, "folder for everything that comes of it")
	p.Flags.Float64Var(&p.scale, "time-scale", 1, scale)
	return p
}

// Parse parses the flags, and checks that brunt is there.
func (p *Programme) Parse(args []string) (err error) {
	if err := p.Flags.Parse(args); err != nil {
		return err
	}
	if p.Brunt, err = filepath.Abs(p.Brunt); err == nil {
		_, err = os.Stat(p.Brunt)
	}
	if err != nil {
		return fmt.Errorf("--brunt: %w; make build makes it", err)
	}
	return nil
}

// Run runs a campaign with brunt, which gets the arguments after the flags. The campaign starts this program again as
// the service. Its environment, besides the given one, is, for the service book: BOOK, the path of this program,
// BOOK_ADDRESS, the address to serve at, and BOOK_PG, the database.
func (p *Programme) Run(ctx context.Context, campaign, results, address, dsn string, environment ...string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, p.Brunt, append([]string{"campaign", "run", campaign,
		"--time-scale", strconv.FormatFloat(p.scale, 'g', -1, 64), "--results", results}, p.Flags.Args()...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	prefix := strings.ToUpper(p.name)
	cmd.Env = append(append(os.Environ(), prefix+"="+self, prefix+"_ADDRESS="+address, prefix+"_PG="+dsn), environment...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("brunt campaign run: %w", err)
	}
	return nil
}
