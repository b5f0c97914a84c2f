package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// stopPatience is the time between asking a process to end and killing it.
const stopPatience = 10 * time.Second

// lastWords is how long to wait for the last output of a service that has ended.
const lastWords = time.Second

// service is the tested service, as far as the campaign starts and stops it.
type service struct {
	*commandRunner
	log   string        // file for its output
	cmd   *exec.Cmd     // the running command; nil if none runs
	ended chan struct{} // closed when it has ended
	err   error         // how it ended; valid once ended is closed

	up bool // configured and ready
	of *campaignfile.Service
}

// configure starts or reconfigures the service with settings that replace the campaign's own, and waits until it is
// ready.
func (v *service) configure(ctx context.Context, settings []campaignfile.Setting) error {
	v.settings, v.up = settings, false
	switch {
	case v.of.Run.Given():
		v.stop()
		if err := v.silent(ctx, v.of.Ready); err != nil {
			return err
		}
		if err := v.start(); err != nil {
			return err
		}
	case v.of.Reconfigure.Given():
		if err := v.run(ctx, &v.of.Reconfigure, v.log); err != nil {
			return err
		}
	}
	if err := v.await(ctx, v.of.Ready, v.of.Within, v.gone); err != nil {
		return err
	}
	// If the service has ended, another process answered the probes.
	if err := v.gone(); err != nil {
		return err
	}
	v.up = true
	return nil
}

// start starts the command that runs permanently.
func (v *service) start() error {
	file, err := os.OpenFile(v.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("output of the service: %w", err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("output of the service: %w", err), file.Close())
	}
	cmd := v.command(context.Background(), &v.of.Run)
	cmd.Stdout, cmd.Stderr = in, in
	if err := startHeld(cmd, v.started); err != nil {
		err = fmt.Errorf("%s: the service can't be started: %w", v.of.Run.At, err)
		return errors.Join(err, in.Close(), out.Close(), file.Close())
	}
	_ = in.Close() // the service has its own
	logged, secrets := make(chan struct{}), v.secrets()
	go func() {
		defer close(logged)
		log := &maskedLog{to: file, secrets: secrets}
		_, _ = io.Copy(log, out) // until the last process of the service has ended
		log.flush()
		_, _ = out.Close(), file.Close()
	}()
	ended := make(chan struct{})
	v.cmd, v.ended = cmd, ended
	go func() {
		v.err = cmd.Wait()
		select {
		case <-logged:
		case <-time.After(lastWords): // a process that it started still runs
		}
		close(ended)
	}()
	return nil
}

// gone returns an error if the service has ended by itself, and nil while it runs.
func (v *service) gone() error {
	if v.cmd == nil {
		return nil
	}
	select {
	case <-v.ended:
		why := "exit status 0"
		if v.err != nil {
			why = v.err.Error()
		}
		return fmt.Errorf("%s: the service ended by itself: %s%s; see %s", v.of.Run.At, why, lastLine(v.log), v.log)
	default:
		return nil
	}
}

// stop ends the running command and waits for it.
func (v *service) stop() {
	v.up = false
	if v.cmd == nil {
		return
	}
	pid := v.cmd.Process.Pid
	endGroup(pid, func() bool { return v.gone() == nil || groupThere(pid) })
	<-v.ended
	v.cmd = nil
}

// close ends the service and runs its stop command.
func (v *service) close() error {
	v.stop()
	if !v.of.Stop.Given() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return v.run(ctx, &v.of.Stop, v.log)
}

// startAtOnce starts a command and calls known with its PID. If known fails, it kills the command.
func startAtOnce(cmd *exec.Cmd, known func(pid int) error) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	err := known(cmd.Process.Pid)
	if err != nil {
		end(cmd.Process.Pid, true)
		_ = cmd.Wait() // killed
	}
	return err
}

// endLeft ends the processes that a killed campaign left behind.
func endLeft(left []program.Process) {
	for _, p := range left {
		if p.Began != "" && beganAt(p.PID) == p.Began {
			endGroup(p.PID, func() bool { return groupThere(p.PID) })
		}
	}
}

// endGroup asks a process group to end, and kills it if it still exists after a time.
func endGroup(pid int, there func() bool) {
	for _, kill := range []bool{false, true} {
		end(pid, kill)
		for until := time.Now().Add(stopPatience); there() && time.Now().Before(until); {
			time.Sleep(20 * time.Millisecond)
		}
		if !there() {
			return
		}
	}
}

// lastLine returns the last line of a file, for an error, or "" if there is none.
func lastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 4096
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, 2)
	}
	t := &tail{}
	_, _ = t.ReadFrom(f)
	return t.line()
}
