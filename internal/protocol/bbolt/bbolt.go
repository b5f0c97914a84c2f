// Package bbolt runs bbolt inside the process: one file with a bucket for each table. Writers run one after
// another, each with its own commit.
//
// Options of a target:
//
//	timeout            how long to wait for the file's lock; "0" (no limit) by default
//	no_sync            "true": commits don't wait for the disk
//	no_grow_sync       "true": the file's growth isn't synced
//	no_freelist_sync   "true": the list of free pages isn't written
//	freelist_type      "array" (default) or "hashmap"
//	read_only          "true"
//	mmap_flags         a number, for example 0x8000 (MAP_POPULATE)
//	initial_mmap_size  bytes
package bbolt

import (
	"errors"
	"fmt"

	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// New returns the driver of protocol "bbolt".
func New() *kv.Embedded { return kv.NewEmbedded("bbolt", "go.etcd.io/bbolt", open, classify) }

type store struct {
	db      *bbolt.DB
	options bbolt.Options
}

func open(t protocol.Target) (kv.Store, error) {
	read := protocol.OptionsOf("bbolt", t)
	o := bbolt.Options{
		Timeout: read.Duration("timeout", 0), NoSync: read.Bool("no_sync", false),
		NoGrowSync:     read.Bool("no_grow_sync", false),
		NoFreelistSync: read.Bool("no_freelist_sync", false), ReadOnly: read.Bool("read_only", false),
		FreelistType: bbolt.FreelistType(read.Choice("freelist_type", string(bbolt.FreelistArrayType),
			string(bbolt.FreelistMapType))),
		MmapFlags:       int(read.Int("mmap_flags", 0, 0, 1<<31-1)),
		InitialMmapSize: int(read.Int("initial_mmap_size", 0, 0, 1<<46)),
	}
	if refused := read.Done(); refused != nil {
		return nil, refused
	}
	db, err := bbolt.Open(t.Address, 0o600, &o)
	if err != nil {
		return nil, err
	}
	return &store{db, o}, nil
}

func classify(err error) *protocol.Error {
	e := &protocol.Error{Class: protocol.Server, Text: protocol.Line(err.Error(), ""), Err: err}
	switch {
	case errors.Is(err, bolterrors.ErrKeyRequired), errors.Is(err, bolterrors.ErrKeyTooLarge),
		errors.Is(err, bolterrors.ErrValueTooLarge):
		e.Class = protocol.Client
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		e.Class, e.Fatal = protocol.Connect, true
	}
	return e
}

func (s *store) View(f func(kv.Transaction) error) error {
	return s.db.View(func(tx *bbolt.Tx) error { return f(transaction{tx}) })
}

func (s *store) Update(f func(kv.Transaction) error) error {
	return s.db.Update(func(tx *bbolt.Tx) error { return f(transaction{tx}) })
}

func (s *store) Prepare(table string, drop bool) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		if drop {
			if err := tx.DeleteBucket([]byte(table)); err != nil && !errors.Is(err, bolterrors.ErrBucketNotFound) {
				return err
			}
		}
		_, err := tx.CreateBucketIfNotExists([]byte(table))
		return err
	})
}

func (s *store) Settings() map[string]string {
	return map[string]string{
		"no_sync": fmt.Sprint(s.options.NoSync), "no_grow_sync": fmt.Sprint(s.options.NoGrowSync),
		"no_freelist_sync": fmt.Sprint(s.options.NoFreelistSync), "freelist_type": string(s.options.FreelistType),
		"page_size": fmt.Sprint(s.db.Info().PageSize), "initial_mmap_size": fmt.Sprint(s.options.InitialMmapSize),
	}
}

func (s *store) Close() error { return s.db.Close() }

type transaction struct{ tx *bbolt.Tx }

func (t transaction) Get(table string, key []byte) ([]byte, bool, error) {
	b := t.tx.Bucket([]byte(table))
	if b == nil {
		return nil, false, nil
	}
	value := b.Get(key)
	return value, value != nil, nil
}

func (t transaction) Put(table string, key, value []byte) error {
	b := t.tx.Bucket([]byte(table))
	if b == nil {
		var err error
		if b, err = t.tx.CreateBucket([]byte(table)); err != nil {
			return err
		}
	}
	return b.Put(key, value)
}

func (t transaction) Delete(table string, key []byte) (bool, error) {
	b := t.tx.Bucket([]byte(table))
	if b == nil || b.Get(key) == nil {
		return false, nil
	}
	return true, b.Delete(key)
}

func (t transaction) Scan(table string, from []byte, f func(key, value []byte) bool) error {
	b := t.tx.Bucket([]byte(table))
	if b == nil {
		return nil
	}
	c := b.Cursor()
	for key, value := c.Seek(from); key != nil && f(key, value); key, value = c.Next() {
	}
	return nil
}
