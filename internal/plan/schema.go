package plan

import (
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
)

// Table is a table to create and fill.
type Table struct {
	Name             string
	Rows             uint64
	Columns          []Column
	PrimaryKeys      []string
	Engine           string   // Picodata, Tarantool: "memtx" or "vinyl"; "" for the server's default
	DistributionKeys []string // Picodata; empty with Global false means the primary key
	Global           bool     // Picodata: DISTRIBUTED GLOBALLY
	Tier             string   // Picodata
	WaitApplied      string   // Picodata: "globally", "locally" or ""
	Unlogged         bool
	Timeout          time.Duration // DDL; 0 means 86400 s
	At               Position
	Where            Places // positions of its keys; items of lists as "primary_keys[0]"
}

// Column is a column of a table with the specification of its values.
type Column struct {
	Name string
	ValueSpec
}

// Index is a secondary index.
type Index struct {
	Name    string
	Table   string
	Columns []string
	Unique  bool
	Type    string // "tree", "hash", "rtree", "bitset"; "" for the server's default
	Options []IndexOption
	Timeout time.Duration
	At      Position
	Where   Places // positions of its keys; items of lists as "columns_names[0]"
}

// IndexOption is one option of an index. Options keep their order, and their values are as in the file.
type IndexOption struct {
	Name  string
	Value string
}

// ValueSpec says how the values of a column or parameter are generated, with positions in the file.
type ValueSpec struct {
	gen.Spec
	Nullable bool
	// SameRow: within one operation, references with the same non-empty SameRow take their values from the same row.
	SameRow string
	// Start is where a parameter that is a sequence begins. With StartAfter, Table and Column may name the column whose
	// greatest value it begins after.
	Start Start
	At    Position
	Where Places // positions of its keys
}

// FindColumn returns the table and the column with these names. A result is nil if it doesn't exist.
func FindColumn(tables []Table, table, column string) (*Table, *Column) {
	for i := range tables {
		t := &tables[i]
		if t.Name != table {
			continue
		}
		for k := range t.Columns {
			if t.Columns[k].Name == column {
				return t, &t.Columns[k]
			}
		}
		return t, nil
	}
	return nil, nil
}

// Resolve follows references to the specification that generates the values. The result is a reference only if the
// column it refers to doesn't exist, or if the references form a cycle.
func Resolve(s *gen.Spec, tables []Table) *gen.Spec {
	left := 1 // remaining steps: a chain is no longer than the number of columns
	for i := range tables {
		left += len(tables[i].Columns)
	}
	for ; s.Type == gen.TypeReference && left > 0; left-- {
		_, c := FindColumn(tables, s.Table, s.Column)
		if c == nil {
			break
		}
		s = &c.Spec
	}
	return s
}

// Placeholders are the parameters that a statement or template uses.
type Placeholders struct {
	Used      map[int]bool // $n, n from 1
	Max       int          // the greatest n
	Questions int          // question marks outside of literals and comments (SQL only)
}

func (p *Placeholders) use(n int) {
	if p.Used == nil {
		p.Used = map[int]bool{}
	}
	p.Used[n] = true
	p.Max = max(p.Max, n)
}

// SQLPlaceholders finds the parameters of a statement outside of literals, names and comments.
func SQLPlaceholders(sql string) Placeholders {
	var p Placeholders
	for _, t := range sqltext.Split(sql) {
		if n, ok := t.Parameter(); ok && n > 0 {
			p.use(n)
		}
		if t.Kind == sqltext.Mark {
			p.Questions++
		}
	}
	return p
}

// TemplatePlaceholders finds $n in a template, in which $$ means a dollar sign. other is the number of dollar signs
// that are neither.
func TemplatePlaceholders(text string) (p Placeholders, other int) {
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		n, length := number(text[i+1:])
		switch {
		case length > 0:
			p.use(n)
			i += length
		case strings.HasPrefix(text[i:], "$$"):
			i++
		default:
			other++
		}
	}
	return p, other
}

func number(s string) (n, length int) {
	for length < len(s) && '0' <= s[length] && s[length] <= '9' {
		length++
	}
	n, err := strconv.Atoi(s[:length])
	if err != nil || n == 0 || length > 5 {
		return 0, 0
	}
	return n, length
}
