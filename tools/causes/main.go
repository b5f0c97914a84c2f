//go:build linux

// Command causes tests what brunt names as the cause of slowness. It plants one cause after another in real servers,
// sends a moderate load, and compares the first finding of the report with what was planted. Healthy servers must have
// no finding worse than a hint.
//
//	make causes                            all rows
//	make causes CAUSES='-run postgres'     the rows of a system
//	make causes CAUSES=-list               the rows and what is planted in each
//
// docs/causes.md describes the method and has the results. It needs Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"brunt/internal/base/linefile"
	"brunt/test/testserver"
)

func main() {
	err := run(os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "causes:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	// Servers and burners don't handle signals, so that a signal ends them directly.
	if len(args) > 1 && args[0] == helperCommand {
		return help(args[1], args[2:])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	f := flag.NewFlagSet("causes", flag.ContinueOnError)
	only := &regexp.Regexp{}
	f.TextVar(only, "run", regexp.MustCompile(""), "run only the rows whose system/cause matches this regular expression")
	seed := f.Uint64("seed", 1, "seed of the loads")
	length := f.Duration("length", 6*time.Second, "length of each load")
	listed := f.Bool("list", false, "list the rows and run none")
	program := f.String("brunt", "bin/brunt", "the program")
	out := f.String("out", "results/causes", "folder for raw results and bundles")
	rounds := f.Int("cost", 0, "measure what asking costs on the first healthy row of each system instead, in so many rounds")
	document := f.String("write", "", "replace the lines of these rows in the table of this page: docs/causes.md")
	if err := f.Parse(args); err != nil {
		return err
	}
	var chosen []row
	for _, r := range rows() {
		if only.MatchString(r.name()) {
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		return errors.New("there are no such rows: -list shows all")
	}
	if *listed {
		for i := range chosen {
			fmt.Printf("%-32s %s\n", chosen[i].name(), chosen[i].Planted)
		}
		return nil
	}
	st := &stage{program: *program, out: *out, seed: *seed, length: *length, servers: map[string]*testserver.Server{},
		groups: map[string][]*testserver.Server{}}
	if *rounds > 0 {
		return st.measured(func() error { return st.costs(ctx, chosen, *rounds, os.Stdout) })
	}
	all, err := st.runAll(ctx, chosen)
	if len(all) > 0 {
		printTable(os.Stdout, all)
		fmt.Println()
		printSummary(os.Stdout, count(all))
	}
	if err == nil && *document != "" {
		err = writeTable(*document, all)
	}
	if err != nil {
		return err
	}
	return goals(all)
}

// runAll runs rows one after another, prints the evidence of each, and writes each result to the log.
func (st *stage) runAll(ctx context.Context, chosen []row) ([]*outcome, error) {
	if _, err := os.Stat(st.program); err != nil {
		return nil, fmt.Errorf("%w: make build makes it", err)
	}
	if err := os.MkdirAll(st.out, 0o755); err != nil {
		return nil, err
	}
	log, err := linefile.Open(filepath.Join(st.out, "causes-"+time.Now().UTC().Format("2006-01-02T150405")+".ndjson"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	var all []*outcome
	err = st.measured(func() error {
		for i := range chosen {
			o, err := st.do(ctx, &chosen[i])
			if err != nil {
				return fmt.Errorf("%s: %w", chosen[i].name(), err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			all = append(all, o)
			if err := log.AppendJSON(o); err != nil {
				return err
			}
			printEvidence(os.Stderr, o, len(all), len(chosen))
		}
		return nil
	})
	return all, err
}

// measured runs something with servers, and stops these.
func (st *stage) measured(do func() error) (err error) {
	tb := testserver.NewStandalone(os.Stderr)
	defer tb.Close()
	st.tb = tb
	if st.self, err = os.Executable(); err != nil {
		return err
	}
	if err := os.MkdirAll(st.out, 0o755); err != nil {
		return err
	}
	return do()
}

func printEvidence(w io.Writer, o *outcome, done, of int) {
	word := "right"
	if !o.Right {
		word = "WRONG"
	}
	fmt.Fprintf(w, "%2d of %d  %-32s %s: %s\n", done, of, o.Name, word, orUnknown(o.First))
	if o.Evidence != "" {
		fmt.Fprintf(w, "    %s\n", o.Evidence)
	}
	for _, f := range o.Others {
		fmt.Fprintf(w, "    also %s\n", f)
	}
	if o.Sum != "" {
		fmt.Fprintf(w, "    %s\n", o.Sum)
	}
	if o.Said != "" {
		fmt.Fprintf(w, "    %s\n", o.Said)
	}
}

func orUnknown(id string) string {
	if id == "" {
		return "unknown"
	}
	return id
}
