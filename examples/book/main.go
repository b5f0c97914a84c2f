// Book is a small service to test: an HTTP API over one table of PostgreSQL. It is written like typical services of
// this kind, with a limited number of worker threads, a pool of connections, and statements as an object-relational
// mapper generates them. It comes with a load profile (plan.yml), a test programme (campaign.yml), and a command that
// runs both.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage:
  book serve      serve the API over a database that is there
  book programme  start PostgreSQL, fill it, and run the test programme against the service

book serve -h and book programme -h list the flags.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "book:", err)
		}
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
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
