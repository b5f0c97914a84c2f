//go:build linux

// Command situations tests brunt's verdict. It sets up situations whose correct verdict is known by construction, runs
// brunt in them against real servers, and prints how often each verdict occurred.
//
//	make verdict                    the matrix of truth and verdict
//	make verdict VERDICT=scenes     a dead server and a slow one, next to other tools
//
// docs/verdict.md describes the situations and the results. It needs Linux.
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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"brunt/internal/base/linefile"
	"brunt/test/testserver"
)

func main() {
	err := run(os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "situations:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	// Servers and burners don't handle signals, so that a signal ends them directly.
	if len(args) > 0 && args[0] == serveCommand {
		return serve(args[1:])
	}
	if len(args) > 0 && args[0] == burnCommand {
		return burn(args[1:])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) > 0 && args[0] == "scenes" {
		return playScenes(ctx, args[1:])
	}
	return verdicts(ctx, args)
}

// verdicts runs the situations and prints the matrix. It fails if a goal is not reached.
func verdicts(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("situations", flag.ContinueOnError)
	only := onlyFlag(f, "run only the situations whose name matches this regular expression")
	seed := f.Uint64("seed", 1, "seed of what is chosen at random")
	count := f.Int("count", 0, "how many situations (default: as many as the families say)")
	seconds := f.Float64("seconds", 3, "length of each load")
	listed := f.Bool("list", false, "list the situations and why their truth is what it is, and run none")
	jobs := f.Int("jobs", 1, "how many at a time; more than one disturb each other")
	attempts := f.Int("attempts", 3, "how often a situation is made until nothing else disturbs it")
	program := f.String("brunt", "bin/brunt", "the program")
	out := f.String("out", "results/situations", "folder for raw results and the bundles of wrong verdicts")
	if err := f.Parse(args); err != nil {
		return err
	}
	chosen := slices.DeleteFunc(situations(*seed, *count, time.Duration(*seconds*float64(time.Second))),
		func(s situation) bool { return !only.MatchString(s.Name) })
	if *listed {
		for i := range chosen {
			fmt.Printf("%-55s %s: %s\n", chosen[i].Name, chosen[i].Truth, chosen[i].Why)
		}
		return nil
	}
	if len(chosen) == 0 {
		return errors.New("there are no such situations: -list shows all")
	}
	c := campaign{program: *program, out: *out, jobs: max(1, *jobs), attempts: max(1, *attempts)}
	all, err := c.run(ctx, chosen)
	if err != nil {
		return err
	}
	return report(os.Stdout, all)
}

func onlyFlag(f *flag.FlagSet, usage string) *regexp.Regexp {
	only := &regexp.Regexp{}
	f.TextVar(only, "only", regexp.MustCompile(""), usage)
	return only
}

// campaign contains the settings for running a set of situations.
type campaign struct {
	program, out   string
	jobs, attempts int
}

// run runs situations on as many stages as there are jobs, and writes each result to the log.
func (c *campaign) run(ctx context.Context, chosen []situation) ([]*finished, error) {
	log, err := openLog(c.out)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	work := make(chan *situation)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		defer close(work)
		for i := range chosen {
			select {
			case work <- &chosen[i]:
			case <-ctx.Done():
				return
			}
		}
	}()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []*finished
	began := time.Now()
	for range c.jobs {
		wg.Go(func() {
			tb := testserver.NewStandalone(os.Stderr)
			defer tb.Close()
			st, err := newStage(tb, c.program, c.out)
			for s := range work {
				if err == nil {
					var f *finished
					if f, err = st.undisturbed(ctx, s, c.attempts); err == nil {
						mu.Lock()
						all = append(all, f)
						err = log.AppendJSON(f)
						progress(os.Stderr, f, len(all), len(chosen), time.Since(began))
						mu.Unlock()
					}
				}
				if err != nil {
					cancel(fmt.Errorf("%s: %w", s.Name, err))
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && (len(all) == 0 || !errors.Is(err, context.Canceled)) {
		return all, err
	}
	return all, nil
}

func newStage(tb testserver.TB, program, out string) (*stage, error) {
	cores, err := testserver.Cores()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("%w: make build makes it", err)
	}
	return &stage{tb: tb, brunt: []string{program}, self: self, cores: cores, dir: out,
		servers: map[kind]*testserver.Server{}}, nil
}

// undisturbed repeats a situation until a run is not disturbed, at most attempts times. It keeps the bundle if the
// verdict is wrong.
func (st *stage) undisturbed(ctx context.Context, s *situation, attempts int) (f *finished, err error) {
	for attempt := 1; attempt <= attempts; attempt++ {
		if f, err = st.do(ctx, s, attempt); err != nil || f.Void == "" || f.falsePass() {
			break
		}
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err == nil && f.Right {
		os.RemoveAll(f.Bundle)
		os.Remove(f.Bundle + ".yml")
	}
	return f, err
}

func progress(w io.Writer, f *finished, done, of int, took time.Duration) {
	left := time.Duration(float64(took) / float64(done) * float64(of-done)).Round(time.Second)
	word := "right"
	if !f.Right {
		word = "WRONG"
	}
	if f.Void != "" {
		word += " (" + f.Void + ")"
	}
	fmt.Fprintf(w, "%3d of %d, %v left  %-50s truth %s, verdict %s: %s\n", done, of, left, f.Name, f.Truth,
		f.Verdict, word)
	if !f.Right {
		fmt.Fprintf(w, "    %s\n", strings.Join(f.Reasons, "\n    "))
	}
}

// openLog creates the file of raw results, named after the current time (UTC).
func openLog(out string) (*linefile.File, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(out, "situations-"+time.Now().UTC().Format("2006-01-02T150405")+".ndjson")
	return linefile.Open(path)
}
