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

// The files in a campaign's folder, besides the folders of its steps.
const (
	FileName    = "campaign.yml"   // the file that was run
	JournalName = "journal.ndjson" // what was begun and what is done
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
	Process *process  `json:"process,omitempty"` // a started process that must not outlive the campaign
	Action  *action   `json:"action,omitempty"`  // of the step
}

// action is a command or a statement that a step executes.
type action struct {
	What string `json:"what"` // its list: commands before a step, or a file of SQL
	N    int    `json:"n"`    // index in the list, from 0
	Done bool   `json:"done"` // false: it has begun
}

// Header identifies the campaign in a folder.
type Header struct {
	Name string `json:"name"`
	Path string `json:"path"`   // of the campaign's file
	Hash string `json:"sha256"` // of its text
	// Files contains the hashes of the plans and of the files of SQL that the campaign names, by path.
	Files  map[string]string `json:"files,omitempty"`
	Scale  float64           `json:"time_scale"`
	Anyway bool              `json:"anyway,omitempty"` // see Program.Anyway
	Brunt  string            `json:"brunt"`
}

// journal is the persistent state of a campaign: one line for each action that was begun or is done. Each line is on
// disk before the next action begins.
type journal struct {
	file    *linefile.File
	lock    io.Closer
	entries []entry
}

// openJournal opens or creates the journal in a folder, and locks it for this process.
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

// Header returns the journal's first line, or nil if the journal is new.
func (j *journal) header() *Header {
	if len(j.entries) == 0 {
		return nil
	}
	return j.entries[0].Header
}

// state returns the last state of a step, or "" if it has not begun.
func (j *journal) state(step string) (state string) {
	for i := range j.entries {
		if j.entries[i].Step == step && j.entries[i].State != "" {
			state = j.entries[i].State
		}
	}
	return state
}

// progress returns how many actions of a step's list are done, and whether the next one was begun.
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

// failures returns the errors of the steps whose last attempt failed, by ID.
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

// failuresIn reads the failures of a campaign that another process may be executing.
func failuresIn(dir string) (map[string]string, error) {
	f, err := os.Open(filepath.Join(dir, JournalName))
	if err != nil {
		return nil, fmt.Errorf("open the campaign's journal: %w", err)
	}
	defer f.Close()
	var entries []entry
	for d := json.NewDecoder(f); ; {
		var e entry
		if d.Decode(&e) != nil { // the end, or an incomplete line
			return failuresOf(entries), nil
		}
		entries = append(entries, e)
	}
}

// processes returns the processes that were started, in order.
func (j *journal) processes() (all []process) {
	for i := range j.entries {
		if p := j.entries[i].Process; p != nil {
			all = append(all, *p)
		}
	}
	return all
}

func (j *journal) close() error { return errors.Join(j.file.Close(), j.lock.Close()) }
