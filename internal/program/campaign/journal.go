package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"brunt/internal/filelock"
	"brunt/internal/linefile"
)

// The files of a campaign's folder next to those of its steps.
const (
	FileName    = "campaign.yml"   // the file that was run
	JournalName = "journal.ndjson" // what was begun and done
	lockName    = "campaign.lock"
	ResultName  = "step.json" // in a step's folder
)

// The states of a step in the journal.
const (
	begun  = "begun"
	done   = "done"
	failed = "failed"
)

// entry is a line of the journal.
type entry struct {
	At      time.Time `json:"at"`
	Header  *Header   `json:"campaign,omitempty"` // the first line
	Step    string    `json:"step,omitempty"`
	State   string    `json:"state,omitempty"`
	Error   string    `json:"error,omitempty"`
	Process *process  `json:"process,omitempty"` // that was started and must not outlive the campaign
	Action  *action   `json:"action,omitempty"`  // of the step
}

// action is a command or a statement that a step carries out.
type action struct {
	What string `json:"what"` // the list that it is of: commands before a step, or a file of SQL
	N    int    `json:"n"`    // in the list, from 0
	Done bool   `json:"done"` // false: it was begun
}

// Header says what the campaign in a folder is.
type Header struct {
	Name string `json:"name"`
	Path string `json:"path"`   // of the campaign's file
	Hash string `json:"sha256"` // of its text
	// Files are the hashes of the plans and of the files of SQL that it names, by their paths.
	Files  map[string]string `json:"files,omitempty"`
	Scale  float64           `json:"time_scale"`
	Anyway bool              `json:"anyway,omitempty"` // see Program.Anyway
	Brunt  string            `json:"brunt"`
}

// journal is what a campaign remembers: a line for each thing that was begun or done, safe on disk before
// the next thing is begun.
type journal struct {
	file    *linefile.File
	lock    io.Closer
	entries []entry
}

// openJournal opens or begins the journal in a folder, for this process alone.
func openJournal(dir string) (*journal, error) {
	lock, held, err := filelock.Hold(filepath.Join(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("campaign's folder: %w", err)
	}
	if held {
		return nil, fmt.Errorf("a campaign is running in %s; wait for its end, or name another folder", dir)
	}
	file, err := linefile.Open(filepath.Join(dir, JournalName))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the campaign's journal: %w", err), lock.Close())
	}
	j := &journal{file: file, lock: lock}
	for i, line := range file.Lines() {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, errors.Join(fmt.Errorf("%s:%d: damaged: %w", file.Name(), i+1, err), j.close())
		}
		j.entries = append(j.entries, e)
	}
	return j, nil
}

func (j *journal) add(e entry) error {
	e.At = time.Now().UTC()
	if err := j.file.AppendJSON(e); err != nil {
		return fmt.Errorf("%s: %w", j.file.Name(), err)
	}
	j.entries = append(j.entries, e)
	return nil
}

// Header is the journal's first line, nil if it is new.
func (j *journal) header() *Header {
	if len(j.entries) == 0 {
		return nil
	}
	return j.entries[0].Header
}

// state is the last that is known of a step, "" if it hasn't begun.
func (j *journal) state(step string) (state string) {
	for i := range j.entries {
		if j.entries[i].Step == step && j.entries[i].State != "" {
			state = j.entries[i].State
		}
	}
	return state
}

// progress is how far a step came in a list of actions, and whether the next one was begun.
func (j *journal) progress(step, what string) (done int, begun bool) {
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

// failures are the errors of steps that failed last, by their IDs.
func (j *journal) failures() map[string]string { return failuresOf(j.entries) }

func failuresOf(entries []entry) map[string]string {
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

// failuresIn reads the failures of a campaign that another process may be carrying out.
func failuresIn(dir string) (map[string]string, error) {
	f, err := os.Open(filepath.Join(dir, JournalName))
	if err != nil {
		return nil, fmt.Errorf("open the campaign's journal: %w", err)
	}
	defer f.Close()
	var entries []entry
	for d := json.NewDecoder(f); ; {
		var e entry
		if d.Decode(&e) != nil { // the end, or a line that isn't whole yet
			return failuresOf(entries), nil
		}
		entries = append(entries, e)
	}
}

// processes are those that were started, in their order.
func (j *journal) processes() (all []process) {
	for i := range j.entries {
		if p := j.entries[i].Process; p != nil {
			all = append(all, *p)
		}
	}
	return all
}

func (j *journal) close() error { return errors.Join(j.file.Close(), j.lock.Close()) }
