package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/render/units"
	"brunt/internal/run/program/campaign/campaignfile"
)

// commandTimeout limits a command that should return.
const commandTimeout = 30 * time.Minute

// commandRunner runs commands in a folder and an environment, and keeps their output in a file.
type commandRunner struct {
	program  *Program
	brunt    string                 // the program that runs, as ${BRUNT}
	settings []campaignfile.Setting // in place of the campaign's
	sql      func(ctx context.Context, text string) error
	started  func(pid int) error // called for each process that is started, before it does anything
}

// command returns the process of a command, not yet started. It has a process group of its own, so that the processes
// that it starts end with it.
func (s *commandRunner) command(ctx context.Context, c *campaignfile.Command) *exec.Cmd {
	var cmd *exec.Cmd
	if c.Shell != "" {
		cmd = exec.CommandContext(ctx, "/bin/sh", "-c", c.Shell)
	} else {
		args := make([]string, len(c.Args))
		for i, a := range c.Args {
			args[i] = os.Expand(a, s.variable)
		}
		cmd = exec.CommandContext(ctx, args[0], args[1:]...)
	}
	cmd.Dir = s.program.Folder
	cmd.Env = os.Environ()
	for _, list := range [][]campaignfile.Setting{s.program.Settings, s.settings, {{Name: "BRUNT", Value: s.brunt}}} {
		for _, v := range list {
			cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
		}
	}
	ownGroup(cmd)
	return cmd
}

// secrets returns the values of settings whose names mark them as secrets.
func (s *commandRunner) secrets() (all []string) {
	for _, list := range [][]campaignfile.Setting{s.program.Settings, s.settings} {
		for _, v := range list {
			if secret.Name(v.Name) {
				all = append(all, v.Value)
			}
		}
	}
	return all
}

func (s *commandRunner) variable(name string) string {
	if name == "BRUNT" {
		return s.brunt
	}
	return s.program.variable(name, s.settings)
}

// run runs a command to its end and appends its output to a file. An error is one line: the command, its position
// in the campaign's file, and its last line of output.
func (s *commandRunner) run(ctx context.Context, c *campaignfile.Command, path string) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("output of commands: %w", err)
	}
	defer out.Close()
	tail := &tail{}
	log := &maskedLog{to: io.MultiWriter(out, tail), secrets: s.secrets()}
	fmt.Fprintf(out, "# %s: %s\n", time.Now().UTC().Format(time.RFC3339), log.masked(c.String()))
	bounded, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	err = s.finish(s.command(bounded, c), log)
	log.flush()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case bounded.Err() != nil:
		err = fmt.Errorf("it didn't end within %s", units.Span(commandTimeout))
	case err == nil:
		return nil
	}
	return fmt.Errorf("%s: command %q failed: %w%s; see %s", c.At, log.masked(short(c.String())), err, tail.line(), path)
}

// finish starts a command whose output goes to out, and waits for its end.
func (s *commandRunner) finish(cmd *exec.Cmd, out io.Writer) error {
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 5 * time.Second
	if err := startHeld(cmd, s.started); err != nil {
		return err
	}
	return cmd.Wait()
}

// maskedLog writes lines to a file and removes the secrets in them. The last line needs a flush.
type maskedLog struct {
	to      io.Writer
	secrets []string // known ones, such as values of settings
	rest    []byte   // of an incomplete line
}

func (l *maskedLog) masked(text string) string { return secret.Log(secret.Redact(text, l.secrets)) }

// longestLine is the length at which an unterminated line is cut, in bytes.
const longestLine = 64 << 10

func (l *maskedLog) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 && len(l.rest) > longestLine {
		end = len(l.rest)
	}
	if end > 0 {
		text := l.masked(string(l.rest[:end]))
		l.rest = append(l.rest[:0], l.rest[end:]...)
		if _, err := io.WriteString(l.to, text); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// flush writes the rest of an unterminated last line.
func (l *maskedLog) flush() {
	if len(l.rest) > 0 {
		_, _ = io.WriteString(l.to, l.masked(string(l.rest))+"\n")
		l.rest = nil
	}
}

// tail keeps the last bytes that are written to it. Secrets must be removed before.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	const most = 4096
	n, err := t.Buffer.Write(p)
	if over := t.Len() - most; over > 0 {
		t.Next(over)
	}
	return n, err
}

// line returns the last line that is not empty.
func (t *tail) line() string {
	lines := strings.Split(strings.TrimSpace(t.String()), "\n")
	last := units.Clean(lines[len(lines)-1])
	if last == "" {
		return ""
	}
	return ": " + short(last)
}

// short cuts a text for an error.
func short(s string) string { return cut(s, 200) }

// cut returns the first letters of a text, followed by … if that isn't all.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// betweenProbes is the pause before a probe is repeated.
const betweenProbes = 100 * time.Millisecond

// silent checks, before a service is started, that no URL of its probes answers. Otherwise the load would measure
// another process that is already running. Commands and SQL are not checked, because they may probe something that
// existed before.
func (s *commandRunner) silent(ctx context.Context, probes []campaignfile.Probe) error {
	for i := range probes {
		if p := &probes[i]; p.URL != "" && s.probe(ctx, p) == nil {
			return fmt.Errorf("%s: %s answers before the service is started, so another process is there; "+
				"end it, or give the service an address of its own", p.At, secret.Text(os.Expand(p.URL, s.variable)))
		}
	}
	return ctx.Err()
}

// await waits until all probes succeed. Its error contains that of the last probe.
func (s *commandRunner) await(ctx context.Context, probes []campaignfile.Probe, within time.Duration,
	gone func() error) error {
	until := time.Now().Add(within)
	for i := range probes {
		for {
			err := s.probe(ctx, &probes[i])
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if gone != nil {
				if ended := gone(); ended != nil {
					return ended
				}
			}
			if time.Now().After(until) {
				return fmt.Errorf("%s: the service isn't ready after %s: %s", probes[i].At, units.Span(within),
					secret.Text(units.Clean(err.Error())))
			}
			select {
			case <-time.After(betweenProbes):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// probe runs a probe once.
func (s *commandRunner) probe(ctx context.Context, p *campaignfile.Probe) error {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch {
	case p.URL != "":
		return s.get(ctx, os.Expand(p.URL, s.variable))
	case p.SQL != "":
		if s.sql == nil {
			return errors.New("no database to ask; add inspect: pg=DSN to the campaign")
		}
		return s.sql(ctx, p.SQL)
	}
	t := &tail{}
	log := &maskedLog{to: t, secrets: s.secrets()}
	err := s.finish(s.command(ctx, &p.Exec), log)
	if log.flush(); err != nil {
		return fmt.Errorf("%s: %w%s", short(p.Exec.String()), err, t.line())
	}
	return nil
}

func (s *commandRunner) get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 400 {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}
