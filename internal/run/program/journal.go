package program

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"brunt/internal/base/linefile"
	"brunt/internal/base/linefile/filelock"
	"brunt/internal/base/secret"
)

// JournalName is the name of the file in a program's folder that lists which steps were begun and which are done.
const JournalName = "journal.ndjson"

const (
	lockName  = "program.lock"
	orderFile = "series.sha256" // in folders of series that earlier versions made: the header's hash, without a journal
)

// The states of a step in the journal.
const (
	begun  = "begun"
	done   = "done"
	failed = "failed"
)

// Entry is a line of the journal.
type Entry struct {
	At       time.Time `json:"at"`
	Header   *Header   `json:"program,omitempty"`  // the first line
	Campaign *Header   `json:"campaign,omitempty"` // the first line of campaigns that earlier versions began
	Step     string    `json:"step,omitempty"`
	State    string    `json:"state,omitempty"`
	Error    string    `json:"error,omitempty"`
	Process  *Process  `json:"process,omitempty"` // a started process that must not outlive the program
	Action   *Action   `json:"action,omitempty"`  // of the step
}

// Process is a process that a program started: its PID, and when it began, to distinguish it from a later process with
// the same PID.
type Process struct {
	PID   int    `json:"pid"`
	Began string `json:"began,omitempty"` // "" if the system doesn't report it
}

// Action is a command or a statement that a step executes.
type Action struct {
	What string `json:"what"` // its list: commands before a step, or a file of SQL
	N    int    `json:"n"`    // index in the list, from 0
	Done bool   `json:"done"` // false: it has begun
}

// Header identifies the program in a folder: a series of one step, or a campaign.
type Header struct {
	Kind string `json:"kind,omitempty"` // "repeat", "search", "advise" or "campaign"
	Name string `json:"name"`
	Path string `json:"path,omitempty"` // of the campaign's file
	Hash string `json:"sha256"`         // of the text that determines it; see Hash
	// Files contains the hashes of the plans and of the files of SQL that a campaign names, by path.
	Files  map[string]string `json:"files,omitempty"`
	Scale  float64           `json:"time_scale,omitempty"`
	Anyway bool              `json:"anyway,omitempty"` // judge runs that the generator spoiled
	Brunt  string            `json:"brunt"`
	// Command is the command line, without secrets, and Folder the working directory, in which the program began. Both
	// are empty in folders that earlier versions made.
	Command []string `json:"command,omitempty"`
	Folder  string   `json:"folder,omitempty"`
}

// Hash returns the hash of a text in a Header.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ErrOther means that a folder holds another program than the one to be resumed.
var ErrOther = errors.New("the folder holds another program")

// Journal is the persistent state of a program: one line for each action that was begun or is done. Each line is on
// disk before the next action begins.
type Journal struct {
	dir     string
	file    *linefile.File
	lock    io.Closer
	entries []Entry
}

// Begin writes the first line, with the working directory. The folder must not hold a program yet; see Header.
func (j *Journal) Begin(h Header) error {
	h.Folder, _ = os.Getwd() // without it, relative paths are those of the folder in which it is resumed
	return j.Add(Entry{Header: &h})
}

// Resume checks that the folder holds the program h. It returns ErrOther if the program's text has changed since it
// began. If one of its files has changed, the error names the file.
func (j *Journal) Resume(h Header) error {
	was := j.Header()
	switch {
	case was == nil:
		return fmt.Errorf("%s holds no %s to resume; name the folder that it made", j.dir, h.Kind)
	case was.Kind != h.Kind && was.Kind != seriesKind:
		return fmt.Errorf("%s is a folder of brunt %s; name one of brunt %s", j.dir, was.Kind, h.Kind)
	case was.Hash != h.Hash:
		return ErrOther
	}
	for path, sum := range was.Files {
		if h.Files[path] != sum {
			return fmt.Errorf("%s isn't the file that the %s began with; put that back, or begin a new %[2]s", path, h.Kind)
		}
	}
	if len(j.entries) == 0 { // an earlier version began it
		return j.Begin(h)
	}
	return nil
}

// OpenJournal opens or creates the journal in a program's folder, and locks the folder for this process until the
// journal is closed.
func OpenJournal(dir string) (*Journal, error) {
	lock, held, err := filelock.Hold(filepath.Join(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("folder %s: %w", dir, err)
	}
	if held {
		return nil, fmt.Errorf("a program is running in %s; wait for its end, or name another folder", dir)
	}
	file, err := linefile.Open(filepath.Join(dir, JournalName))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the journal: %w", err), lock.Close())
	}
	j := &Journal{dir: dir, file: file, lock: lock}
	for i, line := range file.Lines() {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, errors.Join(fmt.Errorf("%s:%d: damaged: %w", file.Name(), i+1, err), j.Close())
		}
		j.entries = append(j.entries, e)
	}
	return j, nil
}

// Add appends an entry.
func (j *Journal) Add(e Entry) error {
	e.At = time.Now().UTC()
	if err := j.file.AppendJSON(e); err != nil {
		return fmt.Errorf("%s: %w", j.file.Name(), err)
	}
	j.entries = append(j.entries, e)
	return nil
}

// Close unlocks the folder.
func (j *Journal) Close() error { return errors.Join(j.file.Close(), j.lock.Close()) }

// Entries returns the journal's lines.
func (j *Journal) Entries() []Entry { return slices.Clone(j.entries) }

// Header returns the header of the first line; nil if the folder holds no program.
func (j *Journal) Header() *Header {
	if len(j.entries) == 0 {
		return orderOf(j.dir)
	}
	return headerOf(j.entries)
}

func headerOf(entries []Entry) *Header {
	if len(entries) == 0 {
		return nil
	}
	h := entries[0].Header
	if old := entries[0].Campaign; h == nil && old != nil {
		h, old.Kind = old, "campaign"
	}
	return h
}

// seriesKind is the kind of all series that earlier versions began.
const seriesKind = "series"

// orderOf returns the header of a series that an earlier version began, or nil if there is none.
func orderOf(dir string) *Header {
	sum, err := os.ReadFile(filepath.Join(dir, orderFile))
	if err != nil {
		return nil
	}
	return &Header{Kind: seriesKind, Hash: strings.TrimSpace(string(sum))}
}

// HeaderOf returns the header of the program in a folder; nil if the folder holds none, or an incomplete one.
func HeaderOf(dir string) *Header {
	h, _, err := ReadJournal(dir)
	if err != nil {
		return orderOf(dir)
	}
	return h
}

// ReadJournal reads the header and the lines of a journal that another process may be writing. The header is nil if the
// folder holds no program.
func ReadJournal(dir string) (*Header, []Entry, error) {
	f, err := os.Open(filepath.Join(dir, JournalName))
	if err != nil {
		return nil, nil, fmt.Errorf("open the journal: %w", err)
	}
	defer f.Close()
	var entries []Entry
	for d := json.NewDecoder(f); ; {
		var e Entry
		if d.Decode(&e) != nil { // the end, or an incomplete line
			return headerOf(entries), entries, nil
		}
		entries = append(entries, e)
	}
}

// Do executes a step and writes its states. The state of a step stays begun if it failed because ctx ended.
func (j *Journal) Do(ctx context.Context, step string, do func() error) error {
	if err := j.Add(Entry{Step: step, State: begun}); err != nil {
		return err
	}
	err := do()
	switch {
	case err == nil:
		return j.Add(Entry{Step: step, State: done})
	case ctx.Err() != nil:
		return err
	}
	return errors.Join(err, j.Add(Entry{Step: step, State: failed, Error: secret.Text(err.Error())}))
}

// Done reports whether a step is done.
func (j *Journal) Done(step string) bool { return j.State(step) == done }

// State returns the last state of a step, or "" if it has not begun.
func (j *Journal) State(step string) (state string) {
	for i := range j.entries {
		if j.entries[i].Step == step && j.entries[i].State != "" {
			state = j.entries[i].State
		}
	}
	return state
}

// Note records that an action of a step begins or is done.
func (j *Journal) Note(step, what string, n int, done bool) error {
	return j.Add(Entry{Step: step, Action: &Action{What: what, N: n, Done: done}})
}

// Progress returns how many actions of a step's list are done, and whether the next one was begun.
func (j *Journal) Progress(step, what string) (done int, begun bool) {
	for i := range j.entries {
		if a := j.entries[i].Action; a != nil && j.entries[i].Step == step && a.What == what {
			done, begun = a.N, !a.Done
			if a.Done {
				done++
			}
		}
	}
	return done, begun
}

// Failures returns the errors of the steps whose last attempt failed, by step.
func (j *Journal) Failures() map[string]string { return FailuresOf(j.entries) }

// FailuresOf returns the errors of the steps whose last attempt failed, by step.
func FailuresOf(entries []Entry) map[string]string {
	all := map[string]string{}
	for i := range entries {
		switch e := &entries[i]; e.State {
		case begun, done:
			delete(all, e.Step)
		case failed:
			all[e.Step] = e.Error
		}
	}
	return all
}

// Processes returns the processes that were started, in order.
func (j *Journal) Processes() (all []Process) {
	for i := range j.entries {
		if p := j.entries[i].Process; p != nil {
			all = append(all, *p)
		}
	}
	return all
}
