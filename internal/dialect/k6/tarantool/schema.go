package tarantool

import (
	"context"
	"strconv"
	"sync"

	"github.com/tarantool/go-tarantool/v2"

	"brunt/internal/protocol"
)

// schemas caches the server's schema.
type schemas struct {
	mu     sync.Mutex
	schema *tarantool.Schema
}

// space returns a space by its name. It reads the schema at the first use, and again if the name isn't in it, since a
// script may create spaces.
func (p *pool) space(ctx context.Context, name string) (*tarantool.Space, *protocol.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for fresh := false; ; fresh = true {
		if p.schema != nil {
			if s, ok := p.schema.Spaces[name]; ok {
				return &s, nil
			}
		}
		if fresh {
			return nil, protocol.Bad("no space %q that this user can see: create it or correct the name", name)
		}
		if err := p.read(ctx); err != nil {
			return nil, err
		}
	}
}

// numbered returns a space by its number, nil if it isn't known.
func (p *pool) numbered(id uint32) *tarantool.Space {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.schema == nil {
		return nil
	}
	if s, ok := p.schema.SpacesById[id]; ok {
		return &s
	}
	return nil
}

// quiet keeps the library from writing to standard error. Failures are returned to the caller in any case.
type quiet struct{}

// Report implements tarantool.Logger.
func (quiet) Report(tarantool.ConnLogKind, *tarantool.Connection, ...any) {}

func (p *pool) read(ctx context.Context) *protocol.Error {
	if p.options.skipSchema {
		return protocol.Bad("skip_schema is set, so spaces and indexes have numbers only: give the number")
	}
	n := p.pick()
	if _, failure := n.get(ctx); failure != nil {
		return failure
	}
	ctx, cancel := n.target.Connecting(ctx)
	defer cancel()
	dialer := tarantool.NetDialer{Address: n.target.Address, User: n.target.User, Password: n.target.Password}
	c, err := tarantool.Connect(ctx, dialer, tarantool.Opts{Timeout: p.options.timeout, SkipSchema: true, Logger: quiet{}})
	if err != nil {
		return protocol.Unconnected(err)
	}
	defer c.Close()
	schema, err := tarantool.GetSchema(c)
	if err != nil {
		return protocol.Unanswered(ctx, nil, err, "")
	}
	p.schema = &schema
	return nil
}

// place is a space and an index by their numbers.
type place struct {
	space, index uint32
	name         string // of the space, for the record
}

// place looks up a space and an index that a script gave by name or number.
func (p *pool) place(ctx context.Context, space, index any) (place, *protocol.Error) {
	at := place{}
	if n, ok := space.(int64); ok {
		at.space, at.name = uint32(n), strconv.FormatInt(n, 10)
	} else {
		s, err := p.space(ctx, space.(string))
		if err != nil {
			return at, err
		}
		at.space, at.name = s.Id, s.Name
		if name, ok := index.(string); ok {
			i, ok := s.Indexes[name]
			if !ok {
				return at, protocol.Bad("space %q has no index %q", s.Name, name)
			}
			at.index = i.Id
			return at, nil
		}
	}
	switch x := index.(type) {
	case int64:
		at.index = uint32(x)
	case string:
		return at, protocol.Bad("an index of a space that is given by number has a number too, not the name %q", x)
	}
	return at, nil
}

// columns returns the names of a space's fields in order, nil if they aren't known.
func columns(s *tarantool.Space) []string {
	if s == nil {
		return nil
	}
	names := make([]string, len(s.FieldsById))
	for id, f := range s.FieldsById {
		if int(id) < len(names) {
			names[id] = f.Name
		}
	}
	return names
}
