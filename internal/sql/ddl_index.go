package sql

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/plan"
)

// CreateIndex writes the statement that creates ix on t, which is the plan's table of that name
// (nil if the plan doesn't describe it).
func (f Flavor) CreateIndex(ix *plan.Index, t *plan.Table) (stmt string, notices []Notice, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("create index %s on %s: %w", ix.Name, f.product, err)
		}
	}()
	if ix.Name == "" || ix.Table == "" {
		return "", nil, errors.New("the index needs name and table_name")
	}
	if len(ix.Columns) == 0 {
		return "", nil, errors.New("the index has no columns")
	}
	head := "CREATE "
	if ix.Unique {
		head += "UNIQUE "
	}
	head += "INDEX " + f.quote(ix.Name) + " ON " + f.quote(ix.Table)
	kind, notices, err := f.indexType(ix)
	if err != nil {
		return "", nil, err
	}
	columns := " (" + f.quoteAll(ix.Columns) + ")"
	if f.product != Picodata {
		if len(ix.Options) > 0 {
			notices = Merge(notices, Notice{"sql-index-options-ignored", fmt.Sprintf("%s has no such options of indexes (hint and others): ignored", f.product)})
		}
		if ix.Timeout > 0 {
			notices = Merge(notices, Notice{"sql-timeout-ignored", fmt.Sprintf("%s has no timeout in the text of DDL (timeout): ignored", f.product)})
		}
		return head + kind + columns, notices, nil
	}
	if err := checkUnique(ix, t); err != nil {
		return "", nil, err
	}
	options, err := picodataOptions(ix.Options)
	if err != nil {
		return "", nil, err
	}
	return head + kind + columns + options + timeoutOption(ix.Timeout), nil, nil
}

// indexType returns the USING clause.
func (f Flavor) indexType(ix *plan.Index) (using string, notices []Notice, err error) {
	t := strings.ToLower(ix.Type)
	switch t {
	case "", "tree", "hash", "rtree", "bitset":
	default:
		return "", nil, fmt.Errorf("unknown index type %q: use tree, hash, rtree or bitset", ix.Type)
	}
	if f.product == Picodata {
		if t == "" {
			t = "tree"
		}
		return " USING " + strings.ToUpper(t), nil, nil
	}
	if t == "rtree" || t == "bitset" {
		return "", nil, fmt.Errorf("it has no %s index for such columns: use tree or hash, or leave the index out", t)
	}
	switch f.product {
	case PostgreSQL:
		if t != "hash" {
			return " USING btree", nil, nil
		}
		if ix.Unique || len(ix.Columns) > 1 {
			return "", nil, errors.New("its hash indexes have one column and can't be unique: use tree")
		}
		return " USING hash", nil, nil
	default:
		if t == "hash" {
			notices = []Notice{{"sql-hash-index-mapped", fmt.Sprintf("%s's SQL has no hash indexes: a tree index is made", f.product)}}
		}
		return "", notices, nil
	}
}

func checkUnique(ix *plan.Index, t *plan.Table) error {
	if !ix.Unique {
		return nil
	}
	if k := strings.ToLower(ix.Type); k != "" && k != "tree" {
		return fmt.Errorf("a unique index must be of type tree, not %s", k)
	}
	if t == nil || t.Global {
		return nil
	}
	keys := t.DistributionKeys
	if len(keys) == 0 {
		keys = t.PrimaryKeys
	}
	for _, k := range keys {
		if !slices.Contains(ix.Columns, k) {
			return fmt.Errorf("a unique index must hold the table's distribution keys, and %q isn't among its columns: add it, or make the index not unique", k)
		}
	}
	return nil
}

// picodataOptions writes the WITH clause. The names and what they take are those of Picodata's
// grammar of CREATE INDEX.
func picodataOptions(options []plan.IndexOption) (string, error) {
	if len(options) == 0 {
		return "", nil
	}
	parts := make([]string, len(options))
	for i, o := range options {
		name, value := strings.ToUpper(o.Name), strings.ToLower(o.Value)
		ok := false
		switch name {
		case "HINT":
			ok = value == "true" || value == "false"
		case "DISTANCE":
			ok = value == "euclid" || value == "manhattan"
			value = strings.ToUpper(value)
		case "BLOOM_FPR", "PAGE_SIZE", "RANGE_SIZE", "RUN_COUNT_PER_LEVEL", "RUN_SIZE_RATIO", "DIMENSION", "COMPRESSION_LEVEL":
			ok = isNumber(value)
		default:
			return "", fmt.Errorf("unknown option %q: use hint, bloom_fpr, page_size, range_size, run_count_per_level, run_size_ratio, dimension, distance or compression_level", o.Name)
		}
		if !ok {
			return "", fmt.Errorf("option %s can't be %q", o.Name, o.Value)
		}
		parts[i] = name + " = " + value
	}
	return " WITH (" + strings.Join(parts, ", ") + ")", nil
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && strings.Trim(s, "0123456789.-") == ""
}

// DropIndex writes the statement that drops ix if it exists; MySQL refuses it otherwise.
func (f Flavor) DropIndex(ix *plan.Index) string {
	s := "DROP INDEX IF EXISTS " + f.quote(ix.Name)
	switch f.product {
	case MySQL: // which itself, unlike MariaDB, has no IF EXISTS here
		s = "DROP INDEX " + f.quote(ix.Name) + " ON " + f.quote(ix.Table)
	case Tarantool:
		s += " ON " + f.quote(ix.Table)
	case Picodata:
		s += timeoutOption(ix.Timeout)
	}
	return s
}
