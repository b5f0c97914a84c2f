package tpc

import (
	"context"
	"fmt"
	"strings"

	"brunt/internal/protocol"
	"brunt/internal/render/units"
)

// Condition is a condition that the data must satisfy.
type Condition struct {
	Name string // in lists and records: "3.3.2.1" or "B.1"
	Says string
	// Query returns one row for each violation. Its columns are described by Columns.
	Query   string
	Columns []string
	// Fresh says that the condition holds only until the first load has been sent.
	Fresh bool
}

// Outcome is the outcome of a condition.
type Outcome struct {
	*Condition
	Skipped    bool   // it doesn't apply any more
	Violations uint64 // number of rows that Query returned
	Example    string // the first violation
	Err        error  // it couldn't be checked
}

// Holds reports whether the condition was checked and holds.
func (o *Outcome) Holds() bool { return !o.Skipped && o.Err == nil && o.Violations == 0 }

// Broken reports whether the condition is violated, or couldn't be checked.
func (o *Outcome) Broken() bool { return o.Err != nil || o.Violations > 0 }

// State returns the outcome in a word, for records.
func (o *Outcome) State() string {
	switch {
	case o.Skipped:
		return "not applicable"
	case o.Err != nil:
		return "unknown"
	case o.Violations > 0:
		return "violated"
	}
	return "ok"
}

// violated says how often the condition is violated, with an example.
func (o *Outcome) violated() string {
	return "violated, " + units.Plural(o.Violations, "row", "rows") + "; first: " + o.Example
}

// Check checks conditions. fresh says that no load has been sent since the data was loaded. told, if not nil, is called
// before each condition.
func (d *Database) Check(ctx context.Context, conditions []Condition, fresh bool, told func(*Condition)) []Outcome {
	out := make([]Outcome, len(conditions))
	for i := range conditions {
		c := &conditions[i]
		out[i].Condition = c
		if out[i].Skipped = c.Fresh && !fresh; out[i].Skipped {
			continue
		}
		if told != nil {
			told(c)
		}
		query := c.Query
		if d.Product() == protocol.FlavorPicodata {
			query += picodataLimits
		}
		out[i].Err = d.Query(ctx, query, func(values []*string) error {
			if out[i].Violations++; out[i].Violations == 1 {
				out[i].Example = example(c.Columns, values)
			}
			return nil
		})
	}
	return out
}

// picodataLimits lifts Picodata's limits of the work and of the rows of one statement.
const picodataLimits = " OPTION (SQL_VDBE_OPCODE_MAX = 0, SQL_MOTION_ROW_MAX = 0)"

func example(columns []string, values []*string) string {
	var parts []string
	for i, v := range values {
		text := "null"
		if v != nil {
			text = *v
		}
		name := ""
		if i < len(columns) {
			name = columns[i] + " "
		}
		parts = append(parts, name+text)
	}
	return strings.Join(parts, ", ")
}

// Counted returns how many conditions hold, are violated, couldn't be checked, and don't apply.
func Counted(all []Outcome) (hold, violated, unknown, skipped int) {
	for i := range all {
		switch o := &all[i]; {
		case o.Skipped:
			skipped++
		case o.Err != nil:
			unknown++
		case o.Violations > 0:
			violated++
		default:
			hold++
		}
	}
	return hold, violated, unknown, skipped
}

// Summary says in one line how many conditions hold.
func Summary(all []Outcome) string {
	hold, violated, unknown, skipped := Counted(all)
	text := fmt.Sprintf("%d of %d conditions hold", hold, len(all)-skipped)
	if violated > 0 {
		text += fmt.Sprintf(", %d violated", violated)
	}
	if unknown > 0 {
		text += fmt.Sprintf(", %d couldn't be checked", unknown)
	}
	if skipped > 0 {
		text += fmt.Sprintf("; %d applies to fresh data only", skipped)
	}
	return text
}
