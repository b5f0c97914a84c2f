//go:build !nok6

package k6x

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/k6x/session"
)

// The environment variables that say what is kept of a run, beside k6's own.
const (
	envResults = "BRUNT_RESULTS" // folder for bundles
	envBundle  = "BRUNT_BUNDLE"  // this run's bundle
	envSeed    = "BRUNT_SEED"    // of what modules generate
	envExport  = "BRUNT_EXPORT"  // destinations of intervals, with spaces between them
	envMetrics = "BRUNT_METRICS_ADDR"
)

func (r *run) sessionOptions(args []string) session.Options {
	seed, fault := seed()
	return session.Options{
		Version: r.o.Version, Command: r.o.Command, Seed: seed,
		Fault: fault, Root: os.Getenv(envResults), Dir: os.Getenv(envBundle),
		Quiet: slices.Contains(args, "-q") || slices.Contains(args, "--quiet"),
		Live:  session.Live{MetricsAddr: os.Getenv(envMetrics), Destinations: strings.Fields(os.Getenv(envExport))},
		Tell:  func(text string) { fmt.Fprintln(r.o.Err, text) },
	}
}

// seed is the one asked for; without one all runs are alike.
func seed() (uint64, error) {
	text := os.Getenv(envSeed)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: write a whole number from 0 to 18446744073709551615", envSeed, text)
	}
	return n, nil
}
