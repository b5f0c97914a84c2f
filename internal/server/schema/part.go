package schema

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"brunt/internal/plan"
	"brunt/internal/server/schema/fill"
	"brunt/internal/server/target"
)

// PartOptions are the options of FillPart.
type PartOptions struct {
	Part       fill.Part
	Tables     []string // names of the plan's tables to fill
	Checkpoint string   // the part's own file
	Resumed    bool     // an earlier run began the load, so rows may exist that no checkpoint names
	Sessions   int      // number of database sessions; 0 means 4
	Progress   func(fill.Progress)
}

// FillPart loads one part of the rows of tables that Up has prepared in another process. Its reports give the part's
// rows and their checksums.
func FillPart(ctx context.Context, p *plan.Plan, o PartOptions) ([]fill.TableReport, error) {
	if err := os.MkdirAll(filepath.Dir(o.Checkpoint), 0o755); err != nil {
		return nil, &target.UsageError{Err: fmt.Errorf("checkpoint: %w", err)}
	}
	if !o.Resumed {
		if err := removed(o.Checkpoint); err != nil {
			return nil, &target.UsageError{Err: fmt.Errorf("checkpoint: %w", err)}
		}
	}
	system, err := target.Find(ctx, p, target.Patience{})
	if err != nil {
		return nil, err
	}
	s := &database{System: system}
	var tables []*plan.Table
	for _, name := range o.Tables {
		t := s.Table(name)
		if t == nil {
			return nil, &target.UsageError{Err: fmt.Errorf("plan %s has no table %s", p.Name, name)}
		}
		tables = append(tables, t)
	}
	report, err := s.load(ctx, tables, nil, FillOptions{
		Checkpoint: o.Checkpoint, Workers: o.Sessions, Check: fill.CheckNone, Progress: o.Progress,
		part: o.Part, replace: o.Resumed,
	})
	return report.Tables, err
}

// forgetLoad removes the checkpoint of a load and the checkpoints of its parts, which are in the same folder. "" means
// that there is no checkpoint.
func forgetLoad(checkpoint string) error {
	if checkpoint == "" {
		return nil
	}
	err := removed(checkpoint)
	dir, name := filepath.Split(checkpoint)
	entries, _ := os.ReadDir(filepath.Clean(dir)) // if the folder doesn't exist, there are no parts
	for _, e := range entries {
		var p fill.Part
		rest, ok := strings.CutPrefix(e.Name(), name)
		if n, _ := fmt.Sscanf(rest, ".%d-of-%d", &p.Number, &p.Of); !ok || n != 2 {
			continue
		}
		p.Number--
		if p.File(name) == e.Name() {
			err = errors.Join(err, removed(p.File(checkpoint)))
		}
	}
	return err
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
