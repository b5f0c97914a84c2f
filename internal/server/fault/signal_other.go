//go:build !unix

package fault

import (
	"errors"
	"os"
	"os/exec"
)

// errNoSignals means that the system has no signals that can stop processes.
var errNoSignals = errors.New("this system has no signals that stop processes")

func detach(*exec.Cmd)  {}
func grouped(*exec.Cmd) {}

func signalOf(string) (os.Signal, error) { return nil, errNoSignals }

func stopSignal() os.Signal     { return os.Kill }
func continueSignal() os.Signal { return os.Kill }
func killSignal() os.Signal     { return os.Kill }

func allowed(Process) error { return errNoSignals }

func send(Process, os.Signal) error { return errNoSignals }
