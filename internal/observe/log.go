package observe

import (
	"encoding/json"
	"path/filepath"

	"brunt/internal/record"
)

// logFile is a source's file in the record: a line that says what is in it, then a line a sample.
type logFile struct {
	path string
	file record.File
	err  error // the first; nothing is written after it
}

// header is a file's first line.
type header struct {
	Schema int    `json:"schema"`
	Source string `json:"source"`
}

// line is a sample. Counters are as they were read.
type line struct {
	TNs    int64              `json:"t_ns"` // since the run's start, end of the interval
	UnixNs int64              `json:"unix_ns"`
	Phase  string             `json:"phase,omitempty"`
	WarmUp bool               `json:"warm_up,omitempty"`
	Values map[string]float64 `json:"values,omitempty"`
	Error  string             `json:"error,omitempty"`
}

func newLog(fsys record.FS, dir, name, source string) *logFile {
	l := &logFile{path: filepath.Join(dir, name)}
	if l.file, l.err = fsys.Create(l.path); l.err == nil {
		l.write(header{1, source})
	}
	return l
}

func (l *logFile) write(v any) {
	if l.err != nil || l.file == nil {
		return
	}
	data, err := json.Marshal(v)
	if err == nil {
		_, err = l.file.Write(append(data, '\n'))
	}
	l.err = err
}

func (l *logFile) close() error {
	if l.file == nil {
		return l.err
	}
	if err := l.file.Close(); l.err == nil {
		l.err = err
	}
	return l.err
}
