//go:build !unix

package fault

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// errNoSignals means that the system has no signals that can stop processes.
var errNoSignals = errors.New("this system has no signals that stop processes")

func detach(*exec.Cmd) {}

// runMarked runs a command. Its processes can't be found later.
func runMarked(ctx context.Context, line string, out *os.File, _ commands) error {
	c := exec.CommandContext(ctx, "sh", "-c", line)
	c.Stdout, c.Stderr = out, out
	return c.Run()
}

func (r *running) kill() bool { return false }

func signalOf(string) (os.Signal, error) { return nil, errNoSignals }

func stopSignal() os.Signal     { return os.Kill }
func continueSignal() os.Signal { return os.Kill }
func killSignal() os.Signal     { return os.Kill }

func allowed(Process) error { return errNoSignals }

func send(Process, os.Signal) error { return errNoSignals }
