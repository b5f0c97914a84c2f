package target

import (
	"context"
	"errors"
	"fmt"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/server/schema/sql"
)

// Session makes single requests to a plan's target, for set-up and for interactive use. Simple statements of SQL
// are run by the driver's Admin if it has one, everything else by connections of the library tier. It is used by
// one goroutine.
type Session struct {
	system *System
	admin  protocol.Admin
	conns  map[string]*prepared
}

// prepared is a connection opened for one request.
type prepared struct {
	conn    protocol.Conn
	request protocol.Request
}

// Connect finds the plan's target and the servers' products. An error is a *UsageError or an *UnreachableError.
func Connect(ctx context.Context, p *plan.Plan) (*Session, error) {
	s, err := Find(ctx, p, Patience{})
	if err != nil {
		return nil, err
	}
	return &Session{system: s, conns: map[string]*prepared{}}, nil
}

// Do executes a request with args and fills reply, including failures. Simple statements are run by the driver's
// Admin. The error is one of connecting or preparing, or of the Admin.
func (s *Session) Do(ctx context.Context, r protocol.Request, args []gen.Value, reply *protocol.Reply) error {
	if _, ok := s.system.Driver.(protocol.AdminDriver); ok && r.Verb == protocol.SQL && r.Simple && len(args) == 0 {
		return s.exec(ctx, r.Text)
	}
	c, err := s.prepare(ctx, r, args)
	if err != nil {
		return err
	}
	reply.Reset(len(c.request.Capture))
	c.conn.Do(ctx, &c.request, args, reply)
	if reply.Fatal {
		c.conn.Close()
		delete(s.conns, keyOf(&r))
	}
	return nil
}

func (s *Session) exec(ctx context.Context, text string) error {
	if s.admin == nil {
		a, err := s.system.Admin(ctx)
		if err != nil {
			return err
		}
		s.admin = a
	}
	_, err := s.admin.Exec(ctx, text)
	return err
}

func keyOf(r *protocol.Request) string {
	return fmt.Sprint(r.Verb, "\x00", r.Text, "\x00", r.Words, "\x00", r.Fields, "\x00", r.Capture, "\x00", r.Web,
		"\x00", r.RPC)
}

func (s *Session) prepare(ctx context.Context, r protocol.Request, args []gen.Value) (*prepared, error) {
	key := keyOf(&r)
	if c := s.conns[key]; c != nil {
		return c, nil
	}
	r.ID, r.Params = 0, nil
	for i := range args {
		r.Params = append(r.Params, args[i].Kind)
	}
	if r.Verb == protocol.SQL && !r.Simple {
		flavor, err := s.system.FlavorOf()
		if err != nil {
			return nil, err
		}
		if r.Text, _, err = flavor.Translate(r.Text, r.Params, sql.NewNames(nil, nil)); err != nil {
			return nil, &UsageError{err}
		}
	}
	program := &protocol.Program{Requests: []protocol.Request{r}}
	err := s.system.Anywhere(func(t protocol.Target) error {
		conn, err := s.system.Driver.Dial(ctx, t, program)
		if err == nil {
			s.conns[key] = &prepared{conn, program.Requests[0]}
		}
		return err
	})
	return s.conns[key], err
}

// PrepareTable lets a driver for key-value records create what it needs for a table, at the first address where
// that succeeds; see protocol.KeyValueAdmin. For other drivers it does nothing.
func (s *Session) PrepareTable(ctx context.Context, table string, fields []string, fieldLength int, drop bool) error {
	d, ok := s.system.Driver.(protocol.KeyValueAdmin)
	if !ok {
		return nil
	}
	err := s.system.Anywhere(func(t protocol.Target) error { return d.Prepare(ctx, t, table, fields, fieldLength, drop) })
	if err != nil {
		return fmt.Errorf("prepare table %s: %w", table, err)
	}
	return nil
}

// Execute executes requests without arguments in order. It stops at the first failure.
func (s *Session) Execute(ctx context.Context, requests []protocol.Request) error {
	for _, r := range requests {
		var reply protocol.Reply
		if err := s.Do(ctx, r, nil, &reply); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
		if reply.Class != protocol.OK {
			return fmt.Errorf("prepare: %s: %s", reply.Class, reply.Text)
		}
	}
	return nil
}

// Prepare sends the requests that a plan needs before its load, and creates the table for its records.
func Prepare(ctx context.Context, p *plan.Plan) error {
	create := p.Keyspace != nil && p.Keyspace.Create != nil
	if len(p.Prepare) == 0 && !create {
		return nil
	}
	s, err := Connect(ctx, p)
	if err != nil {
		return err
	}
	if err = s.Execute(ctx, p.Prepare); err == nil && create {
		c := p.Keyspace.Create
		err = s.PrepareTable(ctx, c.Table, p.Keyspace.Fields, c.FieldLength, c.Drop)
	}
	return errors.Join(err, s.Close())
}

// Close closes all connections.
func (s *Session) Close() error {
	var first error
	for _, c := range s.conns {
		if err := c.conn.Close(); first == nil {
			first = err
		}
	}
	if s.admin != nil {
		if err := s.admin.Close(); first == nil {
			first = err
		}
	}
	return first
}
