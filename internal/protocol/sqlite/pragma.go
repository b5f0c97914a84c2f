package sqlite

import (
	"context"
	sqldriver "database/sql/driver"
	"slices"
	"strings"

	"brunt/internal/protocol"
	"brunt/internal/protocol/sqlconn"
)

// options returns the pragmas that Target.Options may set, in the order of setting them: first the timeout for
// locks, then those that must be set before a file is written.
func options() []string {
	return []string{"busy_timeout", "page_size", "auto_vacuum", "journal_mode", "synchronous", "cache_size", "temp_store",
		"mmap_size", "wal_autocheckpoint", "foreign_keys", "locking_mode"}
}

// pragma is one setting of a session.
type pragma struct{ name, value string }

// pragmasOf returns the pragmas of a target: its options, and defaults for busy_timeout, 5000 ms, and, for
// files, journal_mode, WAL.
func pragmasOf(t protocol.Target) ([]pragma, error) {
	values := map[string]string{"busy_timeout": "5000"}
	if !strings.HasPrefix(t.Address, memory) {
		values["journal_mode"] = "wal"
	}
	known := options()
	for name, value := range t.Options {
		if !slices.Contains(known, name) {
			return nil, protocol.Bad("option %q isn't one of SQLite's; there are %s", name, strings.Join(known, ", "))
		}
		if !isWord(value) {
			return nil, protocol.Bad("option %s: %q is neither a word nor a number", name, value)
		}
		values[name] = value
	}
	var out []pragma
	for _, name := range known {
		if value, ok := values[name]; ok {
			out = append(out, pragma{name, value})
		}
	}
	return out, nil
}

func isWord(s string) bool {
	for i, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && (c != '-' || i > 0) {
			return false
		}
	}
	return s != "" && s != "-"
}

// set sets the pragma. If SQLite can't use a journal mode, it answers with the mode that it keeps.
func (p pragma) set(ctx context.Context, s *session) *protocol.Error {
	if p.name != "journal_mode" {
		if _, err := s.ExecContext(ctx, "PRAGMA "+p.name+" = "+p.value, nil); err != nil {
			return failure(ctx, err)
		}
		return nil
	}
	mode, err := s.word(ctx, "PRAGMA journal_mode")
	if err == nil && !strings.EqualFold(mode, p.value) {
		mode, err = s.word(ctx, "PRAGMA journal_mode = "+p.value)
	}
	if err != nil {
		e := failure(ctx, err)
		if e.Code == "SQLITE_NOTADB" || e.Code == "SQLITE_CANTOPEN" || e.Code == "SQLITE_READONLY" {
			e.Class, e.Fatal = protocol.Connect, true
		}
		return e
	}
	if !strings.EqualFold(mode, p.value) {
		return protocol.Bad("journal_mode %s isn't possible there; it stays %s", p.value, mode)
	}
	return nil
}

// word runs a query and returns its single value as text.
func (s *session) word(ctx context.Context, query string) (string, error) {
	word := ""
	err := (&sqlconn.Statement{Text: query}).Each(ctx, s, nil, nil, func(row []sqldriver.Value) error {
		word = string(sqlconn.Text(row[0]))
		return nil
	})
	return word, err
}
