package ycsb

import (
	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
)

func boltDatabase() *Database {
	d := embeddedDatabase("bbolt", "bolt.path", "bolt.db", "bbolt, inside brunt", "boltdb", "bbolt", "bolt")
	d.Properties = append(d.Properties, accepted("bolt.", "timeout", "no_grow_sync", "read_only", "mmap_flags", "initial_mmap_size")...)
	return d
}

func badgerDatabase() *Database {
	d := embeddedDatabase("badger", "badger.dir", "badger", "Badger, inside brunt", "badger")
	d.Properties = append(d.Properties, accepted("badger.", "valuedir", "sync_writes", "num_versions_to_keep", "max_table_size",
		"level_size_multiplier", "max_levels", "value_threshold", "num_memtables", "num_level0_tables", "num_level0_tables_stall",
		"level_one_size", "value_log_file_size", "value_log_max_entries", "num_compactors", "do_not_compact", "table_loading_mode",
		"value_log_loading_mode")...)
	return d
}

func pebbleDatabase() *Database {
	return embeddedDatabase("pebble", "pebble.dir", "pebble", "Pebble, inside brunt", "pebble")
}

// embeddedDatabase is a key-value store in a file or folder.
func embeddedDatabase(protocol, property, path, about string, names ...string) *Database {
	return &Database{
		Names: names, About: about, Protocol: protocol,
		Properties: []Property{{property, path, "file or folder of the database"}},
		Target: func(set *properties.Set) (plan.Target, error) {
			return plan.Target{Protocol: protocol, Addresses: []string{set.Text(property, path)}}, nil
		},
		Store: func(s *Settings) (Store, error) { return &kvStore{s: s}, nil },
	}
}

func accepted(prefix string, names ...string) []Property {
	var out []Property
	for _, n := range names {
		out = append(out, Property{prefix + n, "", "accepted: the library's default holds"})
	}
	return out
}
