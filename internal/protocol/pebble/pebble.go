// Package pebble runs Pebble inside the process: a folder with keys "table:key". Writers of the same key wait
// for each other; all others commit together.
//
// Options of a target:
//
//	sync            "true" (default): commits wait for the disk
//	disable_wal     "true": no write-ahead log at all
//	cache_size      bytes of the block cache; 8 MiB by default
//	mem_table_size  bytes of a memtable; 4 MiB by default
//	max_open_files  1000 by default
//	bloom_bits      bits per key of the Bloom filters; 10 by default, 0 for none
package pebble

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"sync"

	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// New returns the driver of protocol "pebble".
func New() *kv.Embedded {
	return kv.NewEmbedded("pebble", "github.com/cockroachdb/pebble/v2", open, classify)
}

const stripes = 1024

type store struct {
	db    *pebble.DB
	cache *pebble.Cache
	write *pebble.WriteOptions
	// settings are the effective options.
	settings map[string]string

	seed  maphash.Seed
	locks [stripes]sync.Mutex // for keys being written, by hash
}

// quiet is a logger that discards messages; failures are returned as errors as well.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic("pebble: " + fmt.Sprintf(format, args...)) // the store can't continue, and expects Fatalf not to return
}

func open(t protocol.Target) (kv.Store, error) {
	read := protocol.OptionsOf("pebble", t)
	synced, wal := read.Bool("sync", true), !read.Bool("disable_wal", false)
	cache := read.Int("cache_size", 8<<20, 0, 1<<46)
	memory := read.Int("mem_table_size", 4<<20, 1<<16, 1<<32-1)
	files := read.Int("max_open_files", 1000, 64, 1<<24)
	bits := read.Int("bloom_bits", 10, 0, 100)
	if refused := read.Done(); refused != nil {
		return nil, refused
	}
	s := &store{seed: maphash.MakeSeed(), cache: pebble.NewCache(cache), write: pebble.NoSync, settings: map[string]string{
		"sync": fmt.Sprint(synced), "disable_wal": fmt.Sprint(!wal), "cache_size": fmt.Sprint(cache),
		"mem_table_size": fmt.Sprint(memory), "max_open_files": fmt.Sprint(files), "bloom_bits": fmt.Sprint(bits),
	}}
	if synced && wal {
		s.write = pebble.Sync
	}
	o := &pebble.Options{Cache: s.cache, DisableWAL: !wal, MemTableSize: uint64(memory), MaxOpenFiles: int(files),
		FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}}
	if bits > 0 {
		for i := range o.Levels {
			o.Levels[i].FilterPolicy = bloom.FilterPolicy(bits)
		}
	}
	db, err := pebble.Open(t.Address, o)
	if err != nil {
		s.cache.Unref()
		return nil, err
	}
	s.db = db
	return s, nil
}

func classify(err error) *protocol.Error {
	e := &protocol.Error{Class: protocol.Server, Text: protocol.Line(err.Error(), ""), Err: err}
	if errors.Is(err, pebble.ErrClosed) {
		e.Class, e.Fatal = protocol.Connect, true
	}
	return e
}

func prefix(table string) []byte { return []byte(table + ":") }

// end returns the first key after all keys of a table.
func end(table string) []byte { return []byte(table + ";") } // ':' + 1

func (s *store) View(f func(kv.Transaction) error) error {
	t := transaction{store: s, reader: s.db}
	defer t.finish()
	return f(&t)
}

func (s *store) Update(f func(kv.Transaction) error) error {
	t := transaction{store: s}
	defer t.finish()
	if err := f(&t); err != nil {
		return err
	}
	if t.batch == nil {
		return nil
	}
	return t.batch.Commit(s.write)
}

func (s *store) Prepare(table string, drop bool) error {
	if !drop {
		return nil
	}
	return s.db.DeleteRange(prefix(table), end(table), pebble.Sync)
}

func (s *store) Settings() map[string]string { return s.settings }

func (s *store) Close() error {
	err := s.db.Close()
	s.cache.Unref()
	return err
}

// transaction reads the store and collects writes in a batch.
type transaction struct {
	store  *store
	reader pebble.Reader
	batch  *pebble.Batch
	held   []int // numbers of the locks held
	key    []byte
	value  io.Closer
}

func (t *transaction) full(table string, key []byte) []byte {
	t.key = append(append(append(t.key[:0], table...), ':'), key...)
	return t.key
}

var errBusy = &protocol.Error{Class: protocol.Retryable, Code: "busy",
	Text: "another session is writing one of the batch's keys"}

// claim keeps other transactions from writing a key until this one ends. To avoid deadlocks, only a transaction
// that holds no lock waits for one; others fail with errBusy.
func (t *transaction) claim(key []byte) error {
	n := int(maphash.Bytes(t.store.seed, key) % stripes)
	if slices.Contains(t.held, n) {
		return nil
	}
	if len(t.held) == 0 {
		t.store.locks[n].Lock()
	} else if !t.store.locks[n].TryLock() {
		return errBusy
	}
	t.held = append(t.held, n)
	return nil
}

func (t *transaction) Get(table string, key []byte) ([]byte, bool, error) {
	full := t.full(table, key)
	if t.reader == nil {
		if t.batch == nil {
			t.batch = t.store.db.NewIndexedBatch()
		}
		t.reader = t.batch
	}
	if t.batch != nil {
		if err := t.claim(full); err != nil {
			return nil, false, err
		}
	}
	t.release()
	value, closer, err := t.reader.Get(full)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	t.value = closer
	return value, true, nil
}

// release releases the value that was read last.
func (t *transaction) release() {
	if t.value != nil {
		t.value.Close()
		t.value = nil
	}
}

func (t *transaction) Put(table string, key, value []byte) error {
	full := t.full(table, key)
	if err := t.claim(full); err != nil {
		return err
	}
	if t.batch == nil {
		t.batch = t.store.db.NewBatch()
	}
	return t.batch.Set(full, value, nil)
}

func (t *transaction) Delete(table string, key []byte) (bool, error) {
	if _, ok, err := t.Get(table, key); err != nil || !ok {
		return false, err
	}
	return true, t.batch.Delete(t.full(table, key), nil)
}

func (t *transaction) Scan(table string, from []byte, f func(key, value []byte) bool) (err error) {
	lower := prefix(table)
	it, err := t.reader.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: end(table)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.SeekGE(t.full(table, from)); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if !f(it.Key()[len(lower):], value) {
			break
		}
	}
	return it.Error()
}

// finish releases the value, the batch and the locks.
func (t *transaction) finish() {
	t.release()
	if t.batch != nil {
		t.batch.Close()
	}
	for _, n := range t.held {
		t.store.locks[n].Unlock()
	}
}
