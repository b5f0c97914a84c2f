package kv

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Store is an in-process database. It is safe for concurrent use.
type Store interface {
	View(f func(Transaction) error) error   // reads only
	Update(f func(Transaction) error) error // applied if f returns nil
	Prepare(table string, drop bool) error  // see protocol.KeyValueAdmin
	Settings() map[string]string            // settings that affect performance
	Close() error
}

// Transaction reads and writes a Store. Slices that it returns are valid until the next call. Slices passed to
// it must not change before it has ended.
type Transaction interface {
	Get(table string, key []byte) (value []byte, ok bool, err error)
	Put(table string, key, value []byte) error
	Delete(table string, key []byte) (found bool, err error)
	// Scan calls f with the records in key order, beginning at from, until f returns false.
	Scan(table string, from []byte, f func(key, value []byte) bool) error
}

// Session is a protocol.Conn on a Store.
type Session struct {
	store Store
	Requests
	classify func(error) *protocol.Error
	release  func() error

	keys, values []byte
	transaction
}

// transaction is the current request.
type transaction struct {
	r     *Request
	args  []gen.Value
	reply *protocol.Reply
}

// NewSession returns a session. Close calls release once; classify maps the store's errors.
func NewSession(s Store, requests Requests, classify func(error) *protocol.Error, release func() error) *Session {
	return &Session{store: s, Requests: requests, classify: classify, release: release}
}

// Do executes one request in its own transaction.
func (s *Session) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	r := s.Begin(req, args, reply)
	if r == nil {
		return
	}
	if err := ctx.Err(); err != nil {
		reply.Fail(&protocol.Error{Class: protocol.Timeout, Text: "the operation's time was over before it began", Err: err})
		return
	}
	s.transaction = transaction{r, args, reply}
	var err error
	if r.Verb == protocol.Read || r.Verb == protocol.Scan {
		err = s.store.View(s.read)
	} else {
		err = s.store.Update(s.write)
	}
	if err == nil {
		return
	}
	var own *protocol.Error
	if !errors.As(err, &own) {
		own = s.classify(err)
	}
	reply.Fail(own)
}

func (s *Session) read(t Transaction) error {
	if s.r.Verb == protocol.Scan {
		return s.scan(t)
	}
	for row := range s.r.Rows {
		s.keys = AppendText(s.keys[:0], &s.args[row])
		value, ok, err := t.Get(s.r.Table, s.keys)
		if err != nil {
			return err
		}
		if !ok {
			s.reply.Missing = true
			continue
		}
		if err := s.take(s.keys, value); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) scan(t Transaction) error {
	left, refused := Count(s.args)
	if refused != nil {
		return refused
	}
	s.keys = AppendText(s.keys[:0], &s.args[0])
	var bad error
	err := t.Scan(s.r.Table, s.keys, func(key, value []byte) bool {
		bad = s.take(key, value)
		left--
		return left > 0 && bad == nil
	})
	return errors.Join(err, bad)
}

// take adds a record to the reply.
func (s *Session) take(key, record []byte) error {
	if _, err := Verify(record); err != nil {
		return &protocol.Error{Class: protocol.Protocol, Text: err.Error(), Err: err}
	}
	taken := Record{Key: key}
	if s.r.Wants(s.reply) {
		taken.Names = func() []string { return names(record) }
		taken.Field = func(field string) ([]byte, bool) {
			value, ok, _ := Field(record, field)
			return value, ok
		}
	}
	s.r.Take(s.reply, taken)
	s.reply.BytesIn += int64(len(record))
	return nil
}

func (s *Session) write(t Transaction) error {
	s.reply.Affected, s.reply.Missing = 0, false
	s.keys, s.values = s.keys[:0], s.values[:0]
	for row := range s.r.Rows {
		args := s.args[row*s.r.PerRow:][:s.r.PerRow]
		from := len(s.keys)
		s.keys = AppendText(s.keys, &args[0])
		key := s.keys[from:]
		if s.r.Verb == protocol.Delete {
			found, err := t.Delete(s.r.Table, key)
			if err != nil {
				return err
			}
			s.count(found)
			continue
		}
		if err := s.put(t, key, args[1:]); err != nil {
			return err
		}
	}
	return nil
}

// put inserts or updates one record. If it is to be created, one that is there already is left unchanged.
func (s *Session) put(t Transaction, key []byte, values []gen.Value) error {
	var old []byte
	var there bool
	update := s.r.Verb == protocol.Update
	if update || s.r.Creates {
		var err error
		if old, there, err = t.Get(s.r.Table, key); err != nil {
			return err
		}
	}
	if s.count(there == update); there != update {
		return nil
	}
	start := len(s.values)
	if update {
		var err error
		if s.values, err = MergeRecord(s.values, old, s.r.Fields, values); err != nil {
			return err
		}
	} else {
		s.values = AppendRecord(s.values, s.r.Fields, values)
	}
	return t.Put(s.r.Table, key, s.values[start:])
}

// count counts a record that was changed as it should be, or one that wasn't.
func (s *Session) count(done bool) {
	if done {
		s.reply.Affected++
	} else {
		s.reply.Missing = true
	}
}

// Close releases the store; it is safe to call twice.
func (s *Session) Close() error {
	release := s.release
	s.release = nil
	if release == nil {
		return nil
	}
	return release()
}

// Shared keeps stores open while they are in use, one per address. Its zero value is ready for use. It is safe
// for concurrent use.
type Shared struct {
	mu   sync.Mutex
	open map[string]*shared
}

type shared struct {
	store    Store
	settings string
	users    int
}

// Get returns the store of an address, and opens it if it isn't open. It fails if the store is open with other
// options. release must be called once.
func (s *Shared) Get(t protocol.Target, open func() (Store, error)) (store Store, release func() error, err error) {
	settings := fmt.Sprint(t.Options) // maps are printed in key order
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.open[t.Address]
	switch {
	case h != nil && h.settings != settings:
		return nil, nil, protocol.Bad("%s is open already with other options", t.Address)
	case h == nil:
		store, err := open()
		if err != nil {
			return nil, nil, err
		}
		if s.open == nil {
			s.open = make(map[string]*shared)
		}
		h = &shared{store: store, settings: settings}
		s.open[t.Address] = h
	}
	h.users++
	return h.store, func() error { return s.leave(t.Address, h) }, nil
}

func (s *Shared) leave(address string, h *shared) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.users--; h.users > 0 {
		return nil
	}
	delete(s.open, address)
	return h.store.Close()
}
