package campaign

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"brunt/internal/message"
	"brunt/internal/program"
	"brunt/internal/record"
)

// ResultSchema is the version of step.json that this package writes.
const ResultSchema = 1

// Result is step.json: what a step came to.
type Result struct {
	Schema  int                `json:"schema"`
	ID      string             `json:"id"` // the step's folder
	Kind    string             `json:"kind"`
	Name    string             `json:"name,omitempty"`
	Number  int                `json:"number"`
	Round   int                `json:"round"`
	Started time.Time          `json:"started"`
	Ended   time.Time          `json:"ended"`
	Note    message.Message    `json:"note,omitzero"` // what makes it less than it seems
	Search  *program.SearchLog `json:"search,omitempty"`
	// Trial is of steps that hold a load: that of the hold that was held, or of the last one.
	Trial *program.Result `json:"trial,omitempty"`
	// Holds are all holds of a confirmation that went down from the maximum; nil if there was one.
	Holds []program.Result `json:"holds,omitempty"`
	// Confirms says that a confirmation began at the maximum of a search and could go down from it.
	Confirms bool  `json:"confirms,omitempty"`
	Seen     *Seen `json:"seen,omitempty"` // of steps that looked into the database
	// Requests is how many requests the step's runs were. Those of the next steps go on after them.
	Requests uint64             `json:"requests,omitempty"`
	Matrix   *program.MatrixLog `json:"matrix,omitempty"`
	Fix      *Fix               `json:"fix,omitempty"`
	Files    []string           `json:"files,omitempty"` // that it wrote
	// Messages are what the texts above are made of, by their text in English.
	Messages message.Table `json:"messages,omitempty"`
}

// Fix is what a step changed.
type Fix struct {
	Files    []string       `json:"files,omitempty"` // of SQL
	Commands []string       `json:"commands,omitempty"`
	Proofs   []record.Proof `json:"proofs,omitempty"` // of the advisor's proposals
	// of the advisor, all of them built: in folders of earlier versions
	Proposals []record.Proposal `json:"proposals,omitempty"`
}

// proofs are the advisor's proposals and what came of them.
func (f *Fix) proofs() []record.Proof {
	out := f.Proofs
	for _, p := range f.Proposals {
		out = append(out, record.Proof{Proposal: p, Built: true, Kept: true})
	}
	return out
}

// run is the record of a step of one run, in a campaign's folder.
func (r *Result) run(dir string) (*record.Run, error) {
	if r.Trial == nil {
		return nil, fmt.Errorf("step %s has no run of its own", r.ID)
	}
	b, err := record.Open(record.OS{}, filepath.Join(dir, r.ID, r.Trial.Dir))
	if err != nil {
		return nil, err
	}
	return b.Run, nil
}

func (r *Result) write(dir string) error {
	r.Messages = message.TableOf(r)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return record.ReplaceFile(record.OS{}, filepath.Join(dir, ResultName), append(data, '\n'))
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
