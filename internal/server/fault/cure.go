package fault

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/server/target"
)

// defaultTimeout is how long a command or request may take if the plan sets no limit.
const defaultTimeout = 30 * time.Second

// Cure describes how to heal one fault, in a form that can be sent to the watchdog before the fault is injected. It
// must be harmless if the fault wasn't injected or has already been healed. Exactly one of Processes, Command, HTTP,
// Requests and Other is set.
type Cure struct {
	ID        string        `json:"id"` // identifies the fault's occurrence; see Watch
	Processes []Process     `json:"processes,omitempty"`
	Command   string        `json:"command,omitempty"`
	HTTP      *protocol.Web `json:"http,omitempty"`
	Requests  *requests     `json:"requests,omitempty"`
	// Other is what the function of Watch undoes: something other than a fault. See Guard.
	Other   json.RawMessage `json:"other,omitempty"`
	Timeout time.Duration   `json:"timeout,omitempty"` // 0 means 30 s
}

// requests are sent to each address of a target.
type requests struct {
	Target   plan.Target        `json:"target"`
	Requests []protocol.Request `json:"requests"`
}

// limit returns how long the cure may take.
func (c *Cure) limit() time.Duration { return cmp.Or(c.Timeout, defaultTimeout) }

// byHand says how people can do the cure.
func (c *Cure) byHand() string {
	switch {
	case len(c.Processes) > 0:
		words := []string{"kill", "-CONT"}
		for _, p := range c.Processes {
			words = append(words, strconv.Itoa(p.PID))
		}
		return strings.Join(words, " ")
	case c.Command != "":
		return secret.Text(c.Command)
	case c.HTTP != nil:
		return secret.Text(c.HTTP.Method + " " + c.HTTP.Origin + c.HTTP.Path)
	case c.Requests != nil:
		var texts []string
		for i := range c.Requests.Requests {
			r := &c.Requests.Requests[i]
			texts = append(texts, cmp.Or(r.Text, strings.Join(r.Words, " "), r.Name))
		}
		return secret.Text(strings.Join(texts, "; ") + " at " + strings.Join(c.Requests.Target.Addresses, ", "))
	}
	return ""
}

// Do heals the fault.
func (c *Cure) Do(ctx context.Context) error { return c.do(ctx, commands{}) }

// commands are told of the commands that run. Both fields may be nil.
type commands struct {
	begun, ended func(*running)
}

// do is Do in a process that has a watchdog.
func (c *Cure) do(ctx context.Context, tell commands) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit())
	defer cancel()
	switch {
	case len(c.Processes) > 0:
		return signal(c.Processes, continueSignal())
	case c.Command != "":
		return shell(ctx, c.Command, tell)
	case c.HTTP != nil:
		return ask(ctx, c.HTTP)
	case c.Requests != nil:
		return c.Requests.send(ctx)
	}
	return nil
}

// signal sends a signal to processes. It goes on after failures and joins their errors. Processes that have ended
// don't count as failures unless all have; the error then wraps errEnded.
func signal(all []Process, s os.Signal) error {
	var errs []error
	ended := 0
	for _, p := range all {
		switch err := send(p, s); {
		case errors.Is(err, errEnded):
			ended++
		case err != nil:
			errs = append(errs, err)
		}
	}
	if ended == len(all) {
		return fmt.Errorf("process %s: %w", all[0], errEnded)
	}
	return errors.Join(errs...)
}

// maxOutput is how many bytes of the output of a command or server an error quotes.
const maxOutput = 200

// said returns the first line of an output, cut to maxOutput bytes and without secrets, for an error.
func said(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if len(line) > maxOutput {
		line = line[:maxOutput] + "…"
	}
	return secret.Text(line)
}

// shell runs a command. It doesn't wait for processes that the command leaves in the background, nor end them. If ctx
// ends, all its processes are ended. If this process dies before tell.begun has returned, the command isn't run.
func shell(ctx context.Context, line string, tell commands) error {
	out, err := os.CreateTemp("", "brunt-fault-")
	if err != nil {
		return err
	}
	defer func() {
		_ = out.Close()
		_ = os.Remove(out.Name())
	}()
	err = runMarked(ctx, line, out, tell)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = errors.New("it didn't end in time")
	}
	text := make([]byte, 4*maxOutput)
	n, _ := out.ReadAt(text, 0)
	if n > 0 {
		return fmt.Errorf("command: %w: %s", err, said(text[:n]))
	}
	return fmt.Errorf("command: %w", err)
}

// ask makes an HTTP request and fails unless the status is from 200 to 299. $$ stands for a dollar sign, as in the
// requests of plans.
func ask(ctx context.Context, w *protocol.Web) error {
	plain := func(s string) string { return strings.ReplaceAll(s, "$$", "$") }
	r, err := http.NewRequestWithContext(ctx, w.Method, w.Origin+plain(w.Path), strings.NewReader(plain(string(w.Body))))
	if err != nil {
		return err
	}
	for _, h := range w.Header {
		r.Header.Add(h[0], plain(h[1]))
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return errors.New(said([]byte(err.Error())))
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 4*maxOutput))
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("%s %s: %s: %s", w.Method, w.Origin, answer.Status, said(bytes.ToValidUTF8(body, nil)))
	}
	return nil
}

// send sends the requests to each address, over a separate connection. It goes on after failures.
func (r *requests) send(ctx context.Context) error {
	var errs []error
	for _, address := range r.Target.Addresses {
		p := &plan.Plan{Name: "fault", Target: r.Target}
		p.Target.Addresses = []string{address}
		s, err := target.Connect(ctx, p)
		if err == nil {
			err = errors.Join(s.Execute(ctx, r.Requests), s.Close())
		}
		if err != nil {
			errs = append(errs, errors.New(said([]byte(strings.TrimPrefix(err.Error(), "prepare: ")))))
		}
	}
	return errors.Join(errs...)
}
