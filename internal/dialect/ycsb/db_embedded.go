package ycsb

import (
	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
)

func boltDatabase() *Database {
	return embeddedDatabase(embedded{
		names: []string{"boltdb", "bbolt", "bolt"}, about: "bbolt, inside brunt", protocol: "bbolt",
		prefix: "bolt.", path: "path", standard: "bolt.db",
		options: []string{"timeout", "no_sync", "no_grow_sync", "no_freelist_sync", "freelist_type", "read_only", "mmap_flags", "initial_mmap_size"},
	})
}

func badgerDatabase() *Database {
	return embeddedDatabase(embedded{
		names: []string{"badger"}, about: "Badger, inside brunt", protocol: "badger",
		prefix: "badger.", path: "dir", standard: "badger",
		options: []string{
			"valuedir", "sync_writes", "num_versions_to_keep", "max_table_size", "level_size_multiplier", "max_levels", "value_threshold",
			"num_memtables", "num_level0_tables", "num_level0_tables_stall", "level_one_size", "value_log_file_size",
			"value_log_max_entries", "num_compactors", "do_not_compact", "table_loading_mode", "value_log_loading_mode",
			"block_cache_size", "compression",
		},
	})
}

func pebbleDatabase() *Database {
	return embeddedDatabase(embedded{
		names: []string{"pebble"}, about: "Pebble, inside brunt", protocol: "pebble",
		prefix: "pebble.", path: "dir", standard: "pebble",
		options: []string{"sync", "disable_wal", "cache_size", "mem_table_size", "max_open_files", "bloom_bits"},
	})
}

// embedded is a key-value store in a file or folder, whose options are properties with a prefix.
type embedded struct {
	names                  []string
	about, protocol        string
	prefix, path, standard string // path names the property of the file or folder
	options                []string
}

func embeddedDatabase(e embedded) *Database {
	list := []Property{{e.prefix + e.path, e.standard, "file or folder of the database"}}
	names := map[string]string{}
	for _, o := range e.options {
		list = append(list, Property{e.prefix + o, "", "option " + o + " of the library"})
		names[e.prefix+o] = o
	}
	return &Database{
		Names: e.names, About: e.about, Protocol: e.protocol, Properties: list, Batches: true,
		Target: func(set *properties.Reader) plan.Target {
			return plan.Target{Protocol: e.protocol, Addresses: []string{set.Text(e.prefix+e.path, e.standard)}, Options: options(set, names)}
		},
	}
}
