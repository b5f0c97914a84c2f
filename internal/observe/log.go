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

func newLog(fsys record.FS, dir, name, source string) *logFile {
	l := &logFile{path: filepath.Join(dir, name)}
	if l.file, l.err = fsys.Create(l.path); l.err == nil {
		l.write(record.WatchedHeader{Schema: 1, Source: source})
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
