//go:build linux

// Command situations finds out whether brunt's verdict is right: it makes situations whose truth is
// known by construction, runs brunt in them against real servers, and prints how often which
// verdict came out.
//
//	go run ./internal/situations          the matrix of truth and verdict
//	go run ./internal/situations scenes   a dead server and a slow one, beside other tools
//
// docs/verdict.md says what the situations are and what came out. It needs Linux.
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "situations:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case serveCommand:
			return serve(args[1:])
		case burnCommand:
			return burn(args[1:])
		case "scenes":
			return playScenes(ctx, args[1:])
		}
	}
	return verdicts(ctx, args)
}
