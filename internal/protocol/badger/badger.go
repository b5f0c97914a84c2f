// Package badger runs Badger inside the process: a folder with keys "table:key". Transactions that use the same
// key at the same time fail as retryable.
//
// Options of a target, with Badger's own defaults unless noted: valuedir (the address), sync_writes,
// num_versions_to_keep, max_table_size, level_size_multiplier, max_levels, value_threshold, num_memtables,
// num_level0_tables, num_level0_tables_stall, level_one_size, value_log_file_size, value_log_max_entries,
// num_compactors, do_not_compact, block_cache_size, compression (snappy, none, zstd). table_loading_mode and
// value_log_loading_mode are accepted but have no effect: current versions of Badger always map their files.
package badger

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// New returns the driver of protocol "badger".
func New() *kv.Embedded {
	return kv.NewEmbedded("badger", "github.com/dgraph-io/badger/v4", open, classify)
}

type store struct{ db *badger.DB }

// stillLocked is how long to retry if a store is locked, before concluding that another process has it open.
const stillLocked = time.Second

func open(t protocol.Target) (kv.Store, error) {
	read := protocol.OptionsOf("badger", t)
	o := badger.DefaultOptions(t.Address).WithLogger(nil)
	number := func(name string, standard int64) int64 { return read.Int(name, standard, 0, 1<<50) }
	o.ValueDir = read.Text("valuedir", t.Address)
	o.SyncWrites = read.Bool("sync_writes", o.SyncWrites)
	o.NumVersionsToKeep = int(number("num_versions_to_keep", int64(o.NumVersionsToKeep)))
	o.BaseTableSize = number("max_table_size", o.BaseTableSize)
	o.LevelSizeMultiplier = int(number("level_size_multiplier", int64(o.LevelSizeMultiplier)))
	o.MaxLevels = int(number("max_levels", int64(o.MaxLevels)))
	o.ValueThreshold = number("value_threshold", o.ValueThreshold)
	o.NumMemtables = int(number("num_memtables", int64(o.NumMemtables)))
	o.NumLevelZeroTables = int(number("num_level0_tables", int64(o.NumLevelZeroTables)))
	o.NumLevelZeroTablesStall = int(number("num_level0_tables_stall", int64(o.NumLevelZeroTablesStall)))
	o.BaseLevelSize = number("level_one_size", o.BaseLevelSize)
	o.ValueLogFileSize = min(number("value_log_file_size", o.ValueLogFileSize), 1<<31-2) // Badger's limit
	o.ValueLogMaxEntries = uint32(read.Int("value_log_max_entries", int64(o.ValueLogMaxEntries), 1, 1<<32-1))
	o.NumCompactors = int(number("num_compactors", int64(o.NumCompactors)))
	if read.Bool("do_not_compact", false) {
		o.NumCompactors = 0
	}
	o.BlockCacheSize = number("block_cache_size", o.BlockCacheSize)
	o.Compression = map[string]options.CompressionType{"snappy": options.Snappy, "none": options.None,
		"zstd": options.ZSTD}[read.Choice("compression", "snappy", "none", "zstd")]
	for _, mode := range []string{"table_loading_mode", "value_log_loading_mode"} {
		read.Choice(mode, "memorymap", "fileio", "loadtoram")
	}
	if refused := read.Done(); refused != nil {
		return nil, refused
	}
	db, err := badger.Open(o)
	// The lock of a store that was just closed persists while a process started in the meantime has inherited its
	// file.
	for end := time.Now().Add(stillLocked); err != nil && strings.Contains(err.Error(), "Cannot acquire directory lock") &&
		time.Now().Before(end); {
		time.Sleep(stillLocked / 50)
		db, err = badger.Open(o)
	}
	if err != nil {
		return nil, err
	}
	return &store{db}, nil
}

func classify(err error) *protocol.Error {
	e := &protocol.Error{Class: protocol.Server, Text: protocol.Line(err.Error(), ""), Err: err}
	switch {
	case errors.Is(err, badger.ErrConflict):
		e.Class = protocol.Retryable
	case errors.Is(err, badger.ErrTxnTooBig):
		e.Class, e.Text = protocol.Client, e.Text+"; use smaller batches"
	case errors.Is(err, badger.ErrEmptyKey), errors.Is(err, badger.ErrInvalidKey):
		e.Class = protocol.Client
	case errors.Is(err, badger.ErrDBClosed), errors.Is(err, badger.ErrBlockedWrites):
		e.Class, e.Fatal = protocol.Connect, true
	}
	return e
}

func (s *store) View(f func(kv.Transaction) error) error {
	return s.db.View(func(tx *badger.Txn) error { return f(&transaction{tx: tx}) })
}

func (s *store) Update(f func(kv.Transaction) error) error {
	return s.db.Update(func(tx *badger.Txn) error { return f(&transaction{tx: tx}) })
}

func (s *store) Prepare(table string, drop bool) error {
	if !drop {
		return nil
	}
	return s.db.DropPrefix(prefix(table))
}

func (s *store) Settings() map[string]string {
	o := s.db.Opts()
	return map[string]string{
		"sync_writes": fmt.Sprint(o.SyncWrites), "value_threshold": fmt.Sprint(o.ValueThreshold),
		"num_memtables":  fmt.Sprint(o.NumMemtables),
		"num_compactors": fmt.Sprint(o.NumCompactors), "block_cache_size": fmt.Sprint(o.BlockCacheSize),
		"mem_table_size": fmt.Sprint(o.MemTableSize),
	}
}

func (s *store) Close() error { return s.db.Close() }

// transaction is a Badger transaction. Badger keeps the keys and values that are written until the transaction
// ends, so every key is allocated again.
type transaction struct {
	tx    *badger.Txn
	value []byte
}

func prefix(table string) []byte { return []byte(table + ":") }

func fullKey(table string, key []byte) []byte { return append(prefix(table), key...) }

func (t *transaction) Get(table string, key []byte) ([]byte, bool, error) {
	item, err := t.tx.Get(fullKey(table, key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, false, nil
	}
	if err == nil {
		t.value, err = item.ValueCopy(t.value)
	}
	return t.value, err == nil, err
}

func (t *transaction) Put(table string, key, value []byte) error {
	return t.tx.Set(fullKey(table, key), value)
}

func (t *transaction) Delete(table string, key []byte) (bool, error) {
	full := fullKey(table, key)
	_, err := t.tx.Get(full)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, t.tx.Delete(full)
}

func (t *transaction) Scan(table string, from []byte, f func(key, value []byte) bool) error {
	o := badger.DefaultIteratorOptions
	o.Prefix = prefix(table)
	it := t.tx.NewIterator(o)
	defer it.Close()
	for it.Seek(fullKey(table, from)); it.Valid(); it.Next() {
		item := it.Item()
		value, err := item.ValueCopy(t.value)
		if err != nil {
			return err
		}
		t.value = value
		if !f(item.Key()[len(o.Prefix):], value) {
			return nil
		}
	}
	return nil
}
