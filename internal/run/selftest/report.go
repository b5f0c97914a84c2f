package selftest

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"brunt/internal/record"
)

// Serve runs the built-in servers and prints their addresses, until in ends.
func Serve(in io.Reader, out io.Writer) error {
	servers, err := Listen()
	if err != nil {
		return err
	}
	defer servers.Close()
	for _, p := range Protocols() {
		fmt.Fprintln(out, p, servers.Addresses[p])
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// Report makes all measurements against servers in another process, keeps the ceilings, and prints what was measured to
// out. Each measurement lasts duration; progress shows which are done. version is brunt's.
func Report(ctx context.Context, out, progress io.Writer, duration time.Duration, version string) error {
	addresses, end, err := StartServers()
	if err != nil {
		return err
	}
	defer end()
	cores := runtime.NumCPU()
	total, n := Count(cores), 0
	fmt.Fprintf(progress, "brunt: %d measurements of %v\n", total, duration)
	rows, err := Run(ctx, Options{
		Addresses: addresses, Duration: duration, Cores: cores, Version: version,
		Done: func(r Row) {
			n++
			fmt.Fprintf(progress, "brunt: %d of %d: %s, %.0f/s\n", n, total, r.Protocol, r.PerS)
		},
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	e := record.Fingerprint()
	path, err := Keep(rows, &e, version)
	if printed := Print(out, rows, &e, path); err == nil {
		err = printed
	}
	return err
}
