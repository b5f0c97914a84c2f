package selftest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"brunt/internal/record"
)

// Keep saves the ceilings in the user's cache folder and returns the file's path.
func Keep(rows []Row, e *record.Environment, version string) (path string, err error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("keep the ceiling: %w; set XDG_CACHE_HOME", err)
	}
	c := CeilingOf(rows, e, version, time.Now())
	path = CeilingFile(dir)
	return path, c.Save(record.OS{}, path)
}

// CeilingFor returns the rate that the last self-test on this machine measured for the run's protocol. It applies to
// loads on the codec tier with one request in flight a session; for others, or if nothing was measured, it returns 0.
func CeilingFor(run *record.Run) float64 {
	if !run.OnLoops() || run.Pipeline > 1 {
		return 0
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return 0
	}
	e := record.Fingerprint()
	c, ok := Load(record.OS{}, CeilingFile(dir), &e)
	if !ok {
		return 0
	}
	return c.PerS[run.Targets[0].Protocol]
}

// StartServers starts the built-in servers in a separate process, so that their CPU time isn't counted as the
// generator's. It returns their addresses by protocol, and a function that ends them.
func StartServers() (addresses map[string]string, end func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("start the servers: %w", err)
	}
	cmd := exec.Command(program, "selftest", "--serve")
	cmd.Args[0] = "brunt" // also if the program was called by another name
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
	for len(addresses) < len(Protocols()) && lines.Scan() {
		if protocol, address, ok := strings.Cut(lines.Text(), " "); ok {
			addresses[protocol] = address
		}
	}
	if len(addresses) < len(Protocols()) {
		end()
		return nil, nil, errors.New("start the servers: their process ended at once")
	}
	return addresses, end, nil
}
