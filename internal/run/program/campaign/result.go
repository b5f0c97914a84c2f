package campaign

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/run/program"
)

// ResultSchema is the version of step.json that this package writes.
const ResultSchema = 1

// Result is the content of step.json: the result of a step.
type Result struct {
	Schema  int                `json:"schema"`
	ID      string             `json:"id"` // the step's folder
	Kind    string             `json:"kind"`
	Name    string             `json:"name,omitempty"`
	Number  int                `json:"number"`
	Round   int                `json:"round"`
	Started time.Time          `json:"started"`
	Ended   time.Time          `json:"ended"`
	Note    message.Message    `json:"note,omitzero"` // restrictions, such as a time scale
	Search  *program.SearchLog `json:"search,omitempty"`
	// Contradicts is a search of the same step that contradicted the search before it although nothing had been changed,
	// so that Search was made after it; nil if there was none.
	Contradicts *program.SearchLog `json:"contradicts,omitempty"`
	// Trial is set by steps that hold a load: the hold that passed, or the last one.
	Trial *program.Result `json:"trial,omitempty"`
	// Holds are all holds of a confirmation that went down from the maximum; nil if there was only one.
	Holds []program.Result `json:"holds,omitempty"`
	// Confirms says that a confirmation began at the maximum of a search and could go down from it.
	Confirms bool  `json:"confirms,omitempty"`
	Seen     *Seen `json:"seen,omitempty"` // of steps that inspected the database
	// Requests is how many requests the step's runs sent. The next steps begin after them.
	Requests uint64             `json:"requests,omitempty"`
	Matrix   *program.MatrixLog `json:"matrix,omitempty"`
	Fix      *Fix               `json:"fix,omitempty"`
	// Experiment is what trying settings of the database found.
	Experiment *record.Proof `json:"experiment,omitempty"`
	Files      []string      `json:"files,omitempty"` // the files that it wrote
	// Messages contains the messages of the texts above, by their English text.
	Messages message.Table `json:"messages,omitempty"`
}

// Fix lists what a step changed.
type Fix struct {
	Files    []string       `json:"files,omitempty"` // of SQL
	Commands []string       `json:"commands,omitempty"`
	Proofs   []record.Proof `json:"proofs,omitempty"` // of the advisor's proposals
	// indexes that the advisor built, in folders of earlier versions
	Proposals []record.Proposal `json:"proposals,omitempty"`
}

// proofs returns the advisor's proposals and their results.
func (f *Fix) proofs() []record.Proof {
	out := f.Proofs
	for _, p := range f.Proposals {
		out = append(out, record.Proof{Proposal: p, Built: true, Kept: true})
	}
	return out
}

// bundle opens a bundle in the step's folder. dir is the campaign's folder.
func (r *Result) bundle(dir, name string) (*record.Recorded, error) {
	return record.Open(record.OS{}, filepath.Join(dir, r.ID, name))
}

// lastOf returns the last result of a kind, or nil if there is none.
func lastOf(results []Result, kind string) *Result {
	for i := len(results) - 1; i >= 0; i-- {
		if results[i].Kind == kind {
			return &results[i]
		}
	}
	return nil
}

func (r *Result) write(dir string) error {
	r.Messages = message.TableOf(r)
	return program.WriteJSON(filepath.Join(dir, ResultName), r)
}

func readResult(path string) (*Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("result of a step: %w", err)
	}
	r := &Result{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", path, err)
	}
	if err := r.Messages.Resolve(r); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", path, err)
	}
	if r.Schema > ResultSchema {
		return nil, fmt.Errorf("%s: schema version %d is newer than this program reads (%d); update brunt", path, r.Schema,
			ResultSchema)
	}
	return r, nil
}
