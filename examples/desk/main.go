// Desk is a small service with performance faults, which shows what a campaign finds: a help desk over three tables of
// PostgreSQL. It looks customers up by an expression without an index, asks for the agent of each ticket with a
// separate statement (N+1), pages by OFFSET, keeps transactions open while it waits for another server, and has an
// unused index. It comes with a load profile (plan.yml), a test programme (campaign.yml), and a command that runs both.
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
  desk serve      serve the API over a database that is there
  desk programme  start PostgreSQL and run the test programme against the service
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "desk:", err)
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
