package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/record"
)

// trial is a way to find out how the planner would use an index that doesn't exist.
type trial interface {
	// with calls f while the indexes exist for this session. It returns their total size in bytes.
	with(ctx context.Context, on []string, f func() error) (sizeB float64, err error)
	// keep creates the indexes for all that follows, until end.
	keep(ctx context.Context, on []string) error
	proof() string
	end(ctx context.Context)
}

// errUntried says that an index can't be tried this way, so that its effect can only be estimated.
var errUntried = errors.New("this index can only be tried by building it")

// hypothetical tries indexes with HypoPG, whose functions are in schema. HypoPG doesn't know GIN, so such indexes are
// built in transactions that are rolled back, if build permits it.
type hypothetical struct {
	session *session
	schema  string
	build   bool
}

var _ trial = (*hypothetical)(nil)

func (h *hypothetical) create(ctx context.Context, on string) (string, error) {
	return h.session.text(ctx,
		"select indexrelid from "+h.schema+".hypopg_create_index("+sqltext.QuoteText("create index on "+on)+")")
}

func (h *hypothetical) with(ctx context.Context, on []string, f func() error) (float64, error) {
	if slices.ContainsFunc(on, inverted) {
		if !h.build {
			return 0, errUntried
		}
		b, err := newBuilt(ctx, h.session)
		if err != nil {
			return 0, err
		}
		defer b.end(ctx)
		return b.with(ctx, on, f)
	}
	sum := 0.0
	for _, one := range on {
		id, err := h.create(ctx, one)
		if err != nil {
			return 0, err
		}
		defer func() { _, _ = h.session.text(ctx, "select "+h.schema+".hypopg_drop_index("+id+")") }()
		size, err := h.session.text(ctx, "select "+h.schema+".hypopg_relation_size("+id+")")
		if err != nil {
			return 0, err
		}
		bytes, _ := strconv.ParseFloat(size, 64)
		sum += bytes
	}
	return sum, f()
}

// inverted reports whether an index is a GIN index.
func inverted(on string) bool { return strings.Contains(on, " using "+gin+" ") }

func (h *hypothetical) keep(ctx context.Context, on []string) error {
	for _, one := range on {
		if inverted(one) {
			continue // statements keep the costs that were found with it
		}
		if _, err := h.create(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

func (h *hypothetical) proof() string { return record.ProofHypothetical }

func (h *hypothetical) end(ctx context.Context) {
	_, _ = h.session.text(ctx, "select "+h.schema+".hypopg_reset()")
}

// built tries indexes by building them in a transaction that is never committed. This blocks writes to their
// tables.
type built struct{ session *session }

var _ trial = (*built)(nil)

func newBuilt(ctx context.Context, s *session) (*built, error) {
	for _, text := range []string{"begin read write", "set local statement_timeout = 0"} {
		if _, err := s.plain(ctx, text); err != nil {
			return nil, err
		}
	}
	return &built{s}, nil
}

const builtName = "brunt_tried_index"

func (b *built) with(ctx context.Context, on []string, f func() error) (sum float64, err error) {
	if _, err := b.session.plain(ctx, "savepoint brunt_tried"); err != nil {
		return 0, err
	}
	defer func() {
		if _, failed := b.session.plain(ctx, "rollback to savepoint brunt_tried"); failed != nil && err == nil {
			err = failed
		}
	}()
	for i, one := range on {
		if first := needs(one); first != "" {
			if _, err := b.session.plain(ctx, first); err != nil {
				return 0, err
			}
		}
		name := fmt.Sprintf("%s_%d", builtName, i)
		if _, err := b.session.plain(ctx, "create index "+name+" on "+one); err != nil {
			return 0, fmt.Errorf("build an index on %s: %w", one, err)
		}
		text, err := b.session.text(ctx, "select pg_relation_size(c.oid) from pg_class c where relname = '"+name+"'")
		if err != nil {
			return 0, err
		}
		size, _ := strconv.ParseFloat(text, 64)
		sum += size
	}
	return sum, f()
}

func (b *built) keep(ctx context.Context, on []string) error {
	for _, one := range on {
		if first := needs(one); first != "" {
			if _, err := b.session.plain(ctx, first); err != nil {
				return err
			}
		}
		if _, err := b.session.plain(ctx, "create index on "+one); err != nil {
			return err
		}
	}
	return nil
}

func (b *built) proof() string { return record.ProofBuilt }

func (b *built) end(ctx context.Context) { _, _ = b.session.plain(ctx, "rollback") }
