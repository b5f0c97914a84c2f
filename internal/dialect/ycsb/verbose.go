package ycsb

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// Narrate makes the database basic print each finished operation to out, if verbose is set. The content of an operation
// is generated again from its number.
func (j *Job) Narrate(w *workload.Workload, out io.Writer) {
	if !j.Settings.Database.Dry || !j.Settings.Verbose {
		return
	}
	var mu sync.Mutex
	var st workload.State
	done := w.Done
	w.Done = func(operation int, i uint64, class protocol.Class) {
		mu.Lock()
		var b bytes.Buffer
		for step := range w.Operations[operation].Steps {
			r := w.Operations[operation].Steps[step].For(i)
			args := w.Args(&st, operation, step, i)
			rows := max(r.Rows, 1)
			for row := range rows {
				part := args[row*len(args)/rows : (row+1)*len(args)/rows]
				name, _ := verbName(r)
				fmt.Fprintf(&b, "%s %s %s ", name, j.Settings.Table, part[0].B)
				if r.Verb == protocol.Scan {
					fmt.Fprintf(&b, "%d ", part[1].I)
				}
				b.WriteString("[ ")
				j.contents(&b, r, func(k int) []byte { return part[k+1].B })
			}
		}
		_, _ = out.Write(b.Bytes())
		mu.Unlock()
		if done != nil {
			done(operation, i, class)
		}
	}
}

func verbName(r *protocol.Request) (name string, writes bool) {
	switch r.Verb {
	case protocol.Read:
		return OpRead, false
	case protocol.Scan:
		return OpScan, false
	case protocol.Update:
		return OpUpdate, true
	}
	return OpInsert, true
}

// contents prints the fields and, for writes, their values.
func (j *Job) contents(b *bytes.Buffer, r *protocol.Request, value func(k int) []byte) {
	_, writes := verbName(r)
	fields := r.Fields
	if fields == nil {
		fields = j.Settings.Fields
	}
	for k, f := range fields {
		b.WriteString(f)
		if writes {
			b.WriteByte('=')
			b.Write(value(k))
		}
		b.WriteByte(' ')
	}
	b.WriteString("]\n")
}

// stars is the line between parts of go-ycsb's output.
const stars = "**********************************************"

// Banner writes what go-ycsb prints before a load: the range of keys, the notes of the database, and all properties,
// with secrets replaced by ***.
func (s *Settings) Banner(w io.Writer) error {
	var b strings.Builder
	lo, hi := s.KeyRange()
	fmt.Fprintf(&b, "Using request distribution '%s' a keyrange of [%d %d]\n", s.Choice.Distribution, lo, hi)
	if s.Database.Notes != nil {
		for _, note := range s.Database.Notes(s) {
			b.WriteString(note + "\n")
		}
	}
	b.WriteString("***************** properties *****************\n")
	for _, key := range s.Set.Keys() {
		value, _ := s.Set.Get(key)
		fmt.Fprintf(&b, "\"%s\"=\"%s\"\n", key, secret.Value(key, value))
	}
	b.WriteString(stars + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Finished writes what go-ycsb prints between a load and its results.
func Finished(w io.Writer, took time.Duration) error {
	_, err := fmt.Fprintf(w, "%s\nRun finished, takes %s\n", stars, took)
	return err
}
