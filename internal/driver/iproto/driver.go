// Package iproto speaks Tarantool's binary protocol to Tarantool (2.6 and later) and Picodata.
// The library tier's connections are go-tarantool's. The codec tier, scripts of k6, set-up and description open
// plain connections of their own, because the library doesn't give its sockets away.
//
// Formats are those of Tarantool's manual, "Client/server protocol" (box protocol). Bodies of
// requests and answers are written and read by the same code in both tiers.
package iproto

import (
	"context"

	"brunt/internal/driver"
	"brunt/internal/wire"
)

// Driver is the protocol "iproto". It is immutable and safe for concurrent use.
//
// Options of a target: "sql" says how statements are sent: "auto" (the default), "prepared"
// (EXECUTE by id where the server prepares), "execute" (EXECUTE by text) or "call" (Picodata's
// .proc_sql_dispatch).
//
// Requests: SQL; Call and Eval (the text is the function's name or the program); Select ("space"
// or "space.index", then optionally "iterator GE", "limit 10", "offset 5"; the parameters are the
// key); Read (by the primary key); Scan (first key, count); Insert, Replace, Upsert (the
// parameters are the tuple, or belong to Fields); Update (the key, then values for Fields, by
// name or number from 0, or for the fields outside the primary key in order); Delete (the key).
type Driver struct{}

var (
	_ driver.Driver      = (*Driver)(nil)
	_ driver.AdminDriver = (*Driver)(nil)
	_ wire.Protocol      = (*Driver)(nil)
)

// New returns the driver.
func New() *Driver { return &Driver{} }

// Name is "iproto".
func (*Driver) Name() string { return "iproto" }

// options are a target's options, validated.
type options struct {
	sql sqlMode // "" for auto
}

func parseOptions(t driver.Target) (options, *driver.Error) {
	read := driver.OptionsOf("iproto", t)
	o := options{sql: sqlMode(read.Choice("sql", "auto", string(prepared), string(byText), string(byCall)))}
	if o.sql == "auto" {
		o.sql = ""
	}
	if refused := read.Done(); refused != nil {
		return o, refused
	}
	if t.TLS != nil {
		return o, driver.Bad("iproto is spoken without TLS here: remove tls, or use the pg protocol with Picodata")
	}
	return o, nil
}

// Dial opens a session of the library tier within Target.ConnectTimeout and prepares the
// program. An error is a *driver.Error.
func (d *Driver) Dial(ctx context.Context, t driver.Target, p *driver.Program) (driver.Conn, error) {
	o, err := admit(t, p)
	if err != nil {
		return nil, err
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	c, err := dialLibrary(ctx, t)
	if err != nil {
		return nil, err
	}
	c.options = o
	if c.statements, err = compile(ctx, c, o, p); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// admit checks what needs no server.
func admit(t driver.Target, p *driver.Program) (options, *driver.Error) {
	o, err := parseOptions(t)
	if err == nil {
		err = check(p)
	}
	return o, err
}
