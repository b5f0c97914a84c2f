package advise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"brunt/internal/inspect"
	"brunt/internal/judge/result"
	"brunt/internal/record"
	"brunt/internal/run/program"
)

// proposalsFile is the file in a trial's folder that stores the proposals.
const proposalsFile = "proposals.json"

// Proposals returns the proposals stored in the folder dir. If there are none, it asks db for proposals and stores
// them: a later answer would depend on which indexes an attempt that was killed has already built.
func Proposals(ctx context.Context, dir string, db inspect.Database, seen []record.Inspection) (list []record.Proposal,
	err error) {
	path := filepath.Join(dir, proposalsFile)
	data, err := os.ReadFile(path)
	if !errors.Is(err, os.ErrNotExist) {
		if err == nil {
			err = json.Unmarshal(data, &list)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: damaged: %w", path, err)
		}
		return list, nil
	}
	if list, err = db.Propose(ctx, seen); err != nil {
		return nil, fmt.Errorf("advisor: %w", err)
	}
	return list, program.WriteJSON(path, list)
}

// Into sets t.Run to make the runs with execute, ordered by o, into bundles below dir, and t.Kept to recognize runs
// that an attempt that was killed has completed there.
func (t *Trial) Into(dir string, o program.Load, execute program.Driver) {
	t.Kept = func(name string) bool {
		kept, err := program.KeptOutcome(filepath.Join(dir, name))
		return err == nil && kept != nil
	}
	t.Run = func(ctx context.Context, name string) (*result.Result, []record.Inspection, error) {
		o.Name = name
		done, err := execute(ctx, o)
		if err == nil && done.Run.Interrupted {
			err = context.Canceled
		}
		if err != nil {
			return nil, nil, err
		}
		return result.Of(done.Run), done.Run.Inspections, nil
	}
}
