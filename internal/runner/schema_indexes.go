package runner

import (
	"context"
	"errors"
	"fmt"

	"brunt/internal/plan"
)

// CreateIndexes creates the plan's indexes on its tables, which are there already. Those of the same
// names are made anew.
func CreateIndexes(ctx context.Context, p *plan.Plan) error {
	s, a, err := openSchema(ctx, p, "")
	if err != nil {
		return err
	}
	defer a.Close()
	for i := range p.Tables {
		if err := s.index(ctx, a, &p.Tables[i], true); err != nil {
			return err
		}
	}
	return nil
}

// DropIndexes drops the plan's indexes. It goes on after a failure and returns all.
func DropIndexes(ctx context.Context, p *plan.Plan) error {
	s, a, err := openSchema(ctx, p, "")
	if err != nil {
		return err
	}
	defer a.Close()
	var all error
	for i := range p.Indexes {
		ix := &p.Indexes[i]
		if _, err := a.Exec(ctx, s.flavor.DropIndex(ix)); err != nil {
			all = errors.Join(all, fmt.Errorf("drop index %s: %w", ix.Name, err))
		}
	}
	return all
}
