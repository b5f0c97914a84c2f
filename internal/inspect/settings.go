package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/base/secret"
)

// Setting is a setting of a server with its value, as the server writes it.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Unset says that the value is the server's own or that of its configuration file: setting it back means to
	// withdraw what was set.
	Unset bool `json:"unset,omitempty"`
}

// Settings reads and changes settings of a running server. Only one goroutine may use it. Its errors are one line,
// without secrets.
type Settings interface {
	// Read returns the values that apply to new sessions now.
	Read(ctx context.Context, names []string) ([]Setting, error)
	// Check returns an error if one of the settings can't be changed while the server runs, if the user may not do so,
	// or if the change can't be undone.
	Check(ctx context.Context, wanted []Setting) error
	// Set changes settings of the running server.
	Set(ctx context.Context, to []Setting) error
	Close()
}

// deleting are settings that limit what servers keep of logs, replication slots and snapshots ("Replication" in
// PostgreSQL's documentation, "Replication and Binary Log System Variables" in MariaDB's, "Configuration parameters" in
// Tarantool's manual).
var deleting = []string{"max_slot_wal_keep_size", "idle_replication_slot_timeout", "wal_keep_size", "wal_keep_segments",
	"archive_command", "archive_library", "binlog_expire_logs_seconds", "expire_logs_days", "max_binlog_total_size",
	"relay_log_purge", "checkpoint_count"}

// SettingName returns an error if a text can't be the name of a setting that may be changed for a test.
func SettingName(name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.-", r)
	}) {
		return fmt.Errorf("%q is no name of a setting; use letters, digits, _, - and dots", name)
	}
	if lower := strings.ToLower(name); secret.Name(name) || strings.Contains(lower, "pass") ||
		slices.Contains([]string{"masterauth", "primaryauth", "primary_conninfo", "replication"}, lower) {
		return fmt.Errorf("%s is a secret, which isn't changed for a test", name)
	}
	if slices.Contains(deleting, strings.ToLower(name)) {
		return fmt.Errorf("the server may delete data because of %s, which can't be undone", name)
	}
	return nil
}

// SettingNames returns the names of settings.
func SettingNames(list []Setting) (names []string) {
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// ReadEach reads settings one by one.
func ReadEach(names []string, read func(name string) (Setting, error)) (list []Setting, err error) {
	for _, name := range names {
		s, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, s)
	}
	return list, nil
}

// SetEach sets settings one by one, and goes on after errors.
func SetEach(list []Setting, set func(Setting) error) error {
	var errs []error
	for _, s := range list {
		if err := set(s); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
		}
	}
	return errors.Join(errs...)
}

// SameSettings reports whether two readings of the same settings agree.
func SameSettings(a, b []Setting) bool {
	return slices.EqualFunc(a, b, func(x, y Setting) bool { return x.Name == y.Name && x.Value == y.Value })
}

// SettingsText formats settings as name = value, separated by commas.
func SettingsText(list []Setting) string {
	var parts []string
	for _, s := range list {
		parts = append(parts, s.Name+" = "+s.Value)
	}
	return strings.Join(parts, ", ")
}
