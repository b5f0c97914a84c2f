package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/record"
	"brunt/internal/selftest"
)

func newSelftest(s *streams) *cobra.Command {
	var duration time.Duration
	var serve, quiet bool
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Measure this machine's ceiling: the most that the generator can do here",
		Long: `Measure what the generator can do on this machine, against built-in servers on loopback that answer
every request at once: the engine's own cost without sockets, the most requests a second by protocol,
and how late requests of an open load are sent. Run it on a machine that has nothing else to do.

The ceilings are kept in the user's cache folder. Reports of later runs on this machine show how near
to its ceiling the generator came, and warn above 80 %.`,
		Example: "  brunt selftest\n  brunt selftest --duration 10s",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if serve {
				return serveSelftest(s)
			}
			if err := durationFlag("duration", duration); err != nil {
				return err
			}
			return runSelftest(s, duration, quiet)
		},
	}
	cmd.Flags().DurationVar(&duration, "duration", 2*time.Second, "length of each measurement")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress")
	cmd.Flags().BoolVar(&serve, "serve", false, "only run the servers, until standard input ends")
	_ = cmd.Flags().MarkHidden("serve")
	return cmd
}

// serveSelftest runs the built-in servers and prints where they are.
func serveSelftest(s *streams) error {
	servers, err := selftest.Listen()
	if err != nil {
		return err
	}
	defer servers.Close()
	for _, p := range selftest.Protocols() {
		fmt.Fprintln(s.out, p, servers.Addresses[p])
	}
	_, err = io.Copy(io.Discard, s.in)
	return err
}

func runSelftest(s *streams, duration time.Duration, quiet bool) error {
	ctx, _, stop := interruptible(s.err, endings(false))
	defer stop()
	addresses, end, err := startServers()
	if err != nil {
		return err
	}
	defer end()
	cores := runtime.NumCPU()
	o := selftest.Options{Addresses: addresses, Duration: duration, Cores: cores, Version: s.version}
	if !quiet {
		total, n := selftest.Count(cores), 0
		fmt.Fprintf(s.err, "brunt: %d measurements of %v\n", total, duration)
		o.Done = func(r selftest.Row) {
			n++
			fmt.Fprintf(s.err, "brunt: %d of %d: %s, %.0f/s\n", n, total, r.Protocol, r.PerS)
		}
	}
	rows, err := selftest.Run(ctx, o)
	if ctx.Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted; no ceiling was kept")}
	}
	if err != nil {
		return err
	}
	e := record.Fingerprint()
	path, err := keepCeiling(rows, &e, s.version)
	if printed := selftest.Print(s.out, rows, &e, path); err == nil {
		err = printed
	}
	return err
}

// keepCeiling saves the ceilings and returns the file's path.
func keepCeiling(rows []selftest.Row, e *record.Environment, version string) (path string, err error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("keep the ceiling: %w; set XDG_CACHE_HOME", err)
	}
	c := selftest.CeilingOf(rows, e, version, time.Now())
	path = selftest.CeilingFile(dir)
	return path, c.Save(record.OS{}, path)
}

// ceiling is what the last self-test on this machine found for loads like a run's: event loops, one
// request in flight a session. It is 0 if nothing was measured.
func ceiling(run *record.Run) float64 {
	if run.Tier != "codec" || run.Pipeline > 1 {
		return 0
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return 0
	}
	e := record.Fingerprint()
	c, ok := selftest.Load(record.OS{}, selftest.CeilingFile(dir), &e)
	if !ok {
		return 0
	}
	return c.PerS[run.Targets[0].Protocol]
}

// startServers starts the built-in servers in a process of their own, so that their work isn't
// taken for the generator's.
func startServers() (addresses map[string]string, end func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("start the servers: %w", err)
	}
	cmd := exec.Command(program, "selftest", "--serve")
	cmd.Args[0] = "brunt" // whatever name it was called by
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("start the servers: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("start the servers: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start the servers: %w", err)
	}
	end = func() { in.Close(); _ = cmd.Wait() }
	addresses = make(map[string]string)
	lines := bufio.NewScanner(out)
	for len(addresses) < len(selftest.Protocols()) && lines.Scan() {
		if protocol, address, ok := strings.Cut(lines.Text(), " "); ok {
			addresses[protocol] = address
		}
	}
	if len(addresses) < len(selftest.Protocols()) {
		end()
		return nil, nil, errors.New("start the servers: their process ended at once")
	}
	return addresses, end, nil
}
