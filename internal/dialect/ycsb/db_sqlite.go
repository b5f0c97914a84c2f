package ycsb

import (
	"os"
	"path/filepath"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
)

func sqliteDatabase() *Database {
	return &Database{
		Names: []string{"sqlite"}, About: "SQLite, inside brunt", Protocol: "sqlite", Batches: true,
		Properties: []Property{
			{"sqlite.db", "ycsb.db in the folder for temporary files", "the database's file"},
			{"sqlite.mode", "rwc", "accepted: the file is made if it isn't there"},
			{"sqlite.journalmode", "WAL", "journal mode"},
			{"sqlite.cache", "shared", "accepted"},
			{"sqlite.maxopenconns", "1", "accepted: threadcount counts"},
			{"sqlite.maxidleconns", "2", "accepted"},
			{"sqlite.optimistic", "false", "accepted: a locked database is waited for"},
			{"sqlite.optimistic_backoff_ms", "5", "accepted"},
		},
		Target: func(set *properties.Reader) plan.Target {
			return plan.Target{
				Protocol:  "sqlite",
				Addresses: []string{set.Text("sqlite.db", filepath.Join(os.TempDir(), "ycsb.db"))},
				Options:   options(set, map[string]string{"sqlite.journalmode": "journal_mode"}),
			}
		},
		Store: func(s *Settings, _ *properties.Reader) Store {
			return &sqlStore{s: s, insert: "INSERT OR IGNORE", text: "VARCHAR(%d)"}
		},
	}
}
