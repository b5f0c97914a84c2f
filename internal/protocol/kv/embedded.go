package kv

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"brunt/internal/protocol"
)

// Embedded is a driver for in-process stores. Its sessions share one open store per address, which is a path. It
// is safe for concurrent use.
type Embedded struct {
	name     string
	module   string
	open     func(t protocol.Target) (Store, error)
	classify func(error) *protocol.Error
	shared   Shared
}

var (
	_ protocol.Driver        = (*Embedded)(nil)
	_ protocol.KeyValueAdmin = (*Embedded)(nil)
)

// NewEmbedded returns a driver. module is the path of the store's Go module, open opens the store at a target's
// address with the target's options, and classify maps the store's errors.
func NewEmbedded(name, module string, open func(t protocol.Target) (Store, error),
	classify func(error) *protocol.Error) *Embedded {
	return &Embedded{name: name, module: module, open: open, classify: classify}
}

// Name returns the protocol's name.
func (e *Embedded) Name() string { return e.name }

// use returns the open store of a target, and a function that releases it.
func (e *Embedded) use(t protocol.Target) (Store, func() error, *protocol.Error) {
	if t.Address == "" {
		return nil, nil, protocol.Bad("no address given; write the path of the database of %s", e.name)
	}
	store, release, err := e.shared.Get(t, func() (Store, error) { return e.open(t) })
	if err == nil {
		return store, release, nil
	}
	if own, ok := err.(*protocol.Error); ok {
		return nil, nil, own
	}
	return nil, nil, &protocol.Error{Class: protocol.Connect, Fatal: true, Err: err,
		Text: fmt.Sprintf("can't open %s: %s; check that %s is writable and that no other process has it open",
			t.Address, protocol.Line(err.Error(), ""), filepath.Dir(t.Address))}
}

// Dial opens a session; the first one opens the store. An error is a *protocol.Error: of class Connect if the
// store can't be opened, Client if the program or an option is invalid.
func (e *Embedded) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	requests, refused := Program(p)
	if refused != nil {
		return nil, refused
	}
	store, release, refused := e.use(t)
	if refused != nil {
		return nil, refused
	}
	return NewSession(store, requests, e.classify, release), nil
}

// Describe returns the store's version and settings.
func (e *Embedded) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	info := protocol.ServerInfo{Product: e.name, Version: moduleVersion(e.module)}
	store, release, refused := e.use(t)
	if refused != nil {
		return info, refused
	}
	info.Settings = store.Settings()
	return info, release()
}

// Prepare prepares a table, see protocol.KeyValueAdmin.
func (e *Embedded) Prepare(ctx context.Context, t protocol.Target, table string, _ []string, _ int, drop bool) error {
	store, release, refused := e.use(t)
	if refused != nil {
		return refused
	}
	err := store.Prepare(table, drop)
	if left := release(); err == nil {
		err = left
	}
	if err == nil {
		return nil
	}
	failure := e.classify(err)
	failure.Text = fmt.Sprintf("prepare table %s: %s", table, failure.Text)
	return failure
}

// moduleVersion returns the version of a module that this program was built with, or "".
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return ""
}
