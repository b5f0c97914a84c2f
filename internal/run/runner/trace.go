package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"brunt/internal/base/secret"
	"brunt/internal/load/gen"
	"brunt/internal/plan/workload"
	"brunt/internal/record"
)

// mostTraceBytes is how many bytes of an encoded request a trace shows.
const mostTraceBytes = 1024

// tracing writes the steps of the first operations to a file of the bundle.
type tracing struct {
	r    *Runner
	mu   sync.Mutex
	file *os.File
	err  error // the first failure to write
}

// traceLine is a line of record.TraceFile. Times are ns on the run's clock, as in the intervals.
type traceLine struct {
	Operation string             `json:"operation"`
	Index     uint64             `json:"index"`
	Attempt   int                `json:"attempt"`
	Step      workload.TraceStep `json:"step"`
	Request   string             `json:"request,omitempty"`
	Args      []string           `json:"args,omitempty"`
	Bytes     int                `json:"bytes,omitempty"`   // size of the encoded request
	Encoded   string             `json:"encoded,omitempty"` // its first bytes, quoted as in Go
	Rows      int64              `json:"rows,omitempty"`
	Affected  int64              `json:"affected,omitempty"`
	Status    int                `json:"status,omitempty"`
	BytesIn   int64              `json:"bytes_in,omitempty"`
	Captured  []string           `json:"captured,omitempty"`
	Class     string             `json:"class,omitempty"`
	Code      string             `json:"code,omitempty"`
	Text      string             `json:"text,omitempty"`
	Address   string             `json:"address,omitempty"`
	Intended  int64              `json:"intended_ns,omitempty"`
	Sent      int64              `json:"sent_ns,omitempty"`
	End       int64              `json:"end_ns,omitempty"`
}

// startTrace opens the trace's file and sets the workload's hook, if a trace was asked for.
func (r *Runner) startTrace() error {
	if r.o.Recording.Trace == 0 || r.Dir == "" {
		return nil
	}
	file, err := os.OpenFile(filepath.Join(r.Dir, record.TraceFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	r.tracing = &tracing{r: r, file: file}
	r.Workload.Trace = &workload.Trace{First: r.o.Recording.Trace, Event: r.tracing.write}
	return nil
}

// write writes one line.
func (t *tracing) write(e *workload.TraceEvent) {
	line := t.line(e)
	text, err := json.Marshal(line)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		_, err = t.file.Write(append(text, '\n'))
	}
	if t.err == nil {
		t.err = err
	}
}

// line describes an event without secrets.
func (t *tracing) line(e *workload.TraceEvent) *traceLine {
	line := &traceLine{
		Operation: t.r.Workload.Operations[e.Operation].Name, Index: e.Index, Attempt: e.Attempt, Step: e.Step,
		Args: t.texts(e.Args), Bytes: len(e.Bytes), Intended: e.IntendedNs, Sent: e.SentNs, End: e.EndNs,
	}
	if e.Request != nil {
		line.Request = t.hide(e.Request.Name)
	}
	if len(e.Bytes) > 0 {
		line.Encoded = strconv.Quote(t.hide(string(e.Bytes)))
		line.Encoded = line.Encoded[:min(len(line.Encoded), mostTraceBytes)]
	}
	if e.Reply != nil {
		line.Rows, line.Affected, line.Status = e.Reply.Rows, e.Reply.Affected, e.Reply.Status
		line.BytesIn, line.Captured = e.Reply.BytesIn, t.texts(e.Reply.Captured)
	}
	switch e.Step {
	case workload.TraceDrawn, workload.TraceEncoded:
		return line
	case workload.TraceRecorded, workload.TraceCutOff:
		line.Address = t.r.nodes.At(e.Address).Address
	}
	if e.Step != workload.TraceCutOff {
		line.Class, line.Code, line.Text = e.Failure.Class.String(), e.Failure.Code, t.hide(e.Failure.Text)
	}
	return line
}

// hide removes the plan's secrets from a text.
func (t *tracing) hide(text string) string { return secret.Redact(text, t.r.secrets) }

// texts returns values as text, without secrets.
func (t *tracing) texts(values []gen.Value) (all []string) {
	for i := range values {
		all = append(all, t.hide(string(values[i].AppendText(nil))))
	}
	return all
}

// endTrace closes the trace's file. A trace that is not whole is an error, because what it lacks can't be told.
func (r *Runner) endTrace() error {
	if r.tracing == nil {
		return nil
	}
	t := r.tracing
	r.tracing = nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := errors.Join(t.err, t.file.Close()); err != nil {
		return fmt.Errorf("--trace: %s lacks steps: %w", record.TraceFile, err)
	}
	return nil
}
