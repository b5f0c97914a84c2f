package iproto

import (
	"context"
	"slices"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"

	iproto "github.com/tarantool/go-iproto"
)

// asker sends one request and waits for its answer.
type asker interface {
	ask(ctx context.Context, kind byte, body []byte) (code uint32, answer []byte, err *protocol.Error)
}

// Ids of catalogue views (box.schema.VSPACE_ID, VINDEX_ID), and of the index and iterator used on them.
const (
	vspace     = 281
	vindex     = 289
	byName     = 2
	iteratorEQ = 0
	unlimited  = 0xffffffff
)

// space is the part of a space's definition that the driver needs.
type space struct {
	id      uint64
	fields  []string // field names by number
	indexes map[string]uint64
	keys    []int // field numbers of the primary key
}

func (s *space) field(name string) (int, bool) {
	i := slices.Index(s.fields, name)
	return max(i, 0), i >= 0
}

func selectBody(space, index, iterator, limit uint64, key func(b *body)) []byte {
	var b body
	b.mapping(6)
	b.number(keySpace, space)
	b.number(keyIndex, index)
	b.number(keyLimit, limit)
	b.number(keyOffset, 0)
	b.number(keyIterator, iterator)
	b.key(keyKey)
	key(&b)
	return b.now
}

// lookup reads a space's definition. It returns nil if the space doesn't exist or the user can't see it.
func lookup(ctx context.Context, a asker, name string) (*space, *protocol.Error) {
	r, err := data(ctx, a, typeSelect,
		selectBody(vspace, byName, iteratorEQ, 1, func(b *body) { b.array(1); b.text(name) }))
	if err != nil || r.Array() == 0 {
		return nil, err
	}
	s := &space{indexes: map[string]uint64{}}
	n := r.Array()
	for i := uint64(0); i < n && r.Err == msgpack.Fine; i++ {
		switch i {
		case 0:
			s.id = r.Uint()
		case 6:
			for k := r.Array(); k > 0 && r.Err == msgpack.Fine; k-- {
				s.fields = append(s.fields, r.named("name"))
			}
		default:
			r.Skip()
		}
	}
	if r.Err != msgpack.Fine {
		return nil, protocolError("the definition of space " + name + " makes no sense")
	}
	return s, s.readIndexes(ctx, a, name)
}

func (s *space) readIndexes(ctx context.Context, a asker, name string) *protocol.Error {
	r, err := data(ctx, a, typeSelect,
		selectBody(vindex, 0, iteratorEQ, unlimited, func(b *body) { b.array(1); b.uint(s.id) }))
	if err != nil {
		return err
	}
	for rows := r.Array(); rows > 0 && r.Err == msgpack.Fine; rows-- {
		var id uint64
		n := r.Array()
		for i := uint64(0); i < n && r.Err == msgpack.Fine; i++ {
			switch {
			case i == 1:
				id = r.Uint()
			case i == 2:
				s.indexes[string(r.Text())] = id
			case i == 5 && id == 0:
				s.keys = r.parts()
			default:
				r.Skip()
			}
		}
	}
	if r.Err != msgpack.Fine {
		return protocolError("the indexes of space " + name + " make no sense")
	}
	return nil
}

// named reads a map and returns the string under a key.
func (r *reader) named(key string) (text string) {
	for n := r.Map(); n > 0 && r.Err == msgpack.Fine; n-- {
		if string(r.Text()) == key {
			text = string(r.Text())
		} else {
			r.Skip()
		}
	}
	return text
}

// parts reads an index's parts: arrays [field, type] or maps {field=…, type=…}.
func (r *reader) parts() (fields []int) {
	for n := r.Array(); n > 0 && r.Err == msgpack.Fine; n-- {
		if isArray(r.Peek()) {
			k := r.Array()
			fields = append(fields, int(r.Uint()))
			for ; k > 1 && r.Err == msgpack.Fine; k-- {
				r.Skip()
			}
			continue
		}
		for k := r.Map(); k > 0 && r.Err == msgpack.Fine; k-- {
			if string(r.Text()) == "field" {
				fields = append(fields, int(r.Uint()))
			} else {
				r.Skip()
			}
		}
	}
	return fields
}

// data sends a request and returns a reader positioned at the answer's DATA. An error response of the server is
// returned as an error.
func data(ctx context.Context, a asker, kind byte, request []byte) (*reader, *protocol.Error) {
	code, answer, err := a.ask(ctx, kind, request)
	if err == nil {
		err = refusal(code, answer)
	}
	if err != nil {
		return nil, err
	}
	r := &reader{msgpack.Reader{B: answer}}
	for n := r.Map(); n > 0 && r.Err == msgpack.Fine; n-- {
		if r.Uint() == 0x30 {
			return r, nil
		}
		r.Skip()
	}
	return nil, protocolError("an answer without data")
}

// callBody returns the body of a request that calls a function (key is keyFunction), evaluates a program (keyExpr) or
// authenticates a user (keyUser), with texts as arguments.
func callBody(key byte, text string, args ...string) []byte {
	var b body
	b.mapping(2)
	b.key(key)
	b.text(text)
	b.key(keyTuple)
	b.array(len(args))
	for _, a := range args {
		b.text(a)
	}
	return b.now
}

// evaluate evaluates a program in a session of its own, within Target.ConnectTimeout, and returns a reader of its
// results.
func evaluate(ctx context.Context, t protocol.Target, program string) (*reader, *protocol.Error) {
	if _, err := parseOptions(t); err != nil {
		return nil, err
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	l, err := dialLink(ctx, t)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return data(ctx, l, typeEval, callBody(keyExpr, program))
}

// identify distinguishes Picodata from Tarantool. version is Picodata's version, or "" if unknown.
func identify(ctx context.Context, a asker) (picodata bool, version string, err *protocol.Error) {
	r, err := data(ctx, a, typeCall, callBody(keyFunction, ".proc_version_info"))
	if err == nil {
		for isArray(r.Peek()) && r.Array() > 0 {
		}
		if isMap(r.Peek()) {
			version = r.named("picodata_version")
		}
		return true, version, nil
	}
	if err.Fatal || err.Code == "" {
		return false, "", err
	}
	table, err := lookup(ctx, a, "_pico_table")
	return table != nil, "", err
}

// sqlMode is the way in which statements are sent.
type sqlMode string

const (
	prepared sqlMode = "prepared" // EXECUTE by the id from PREPARE, or by text if PREPARE was refused
	byText   sqlMode = "execute"  // EXECUTE by text
	byCall   sqlMode = "call"     // CALL .proc_sql_dispatch
)

// chooseMode finds out which mode the server supports. A Picodata server that refuses EXECUTE is sent calls.
func chooseMode(ctx context.Context, a asker, picodata bool) (sqlMode, *protocol.Error) {
	if !picodata {
		return prepared, nil
	}
	const probe = "VALUES  (1)" // see ofIproto
	for _, mode := range []sqlMode{byText, byCall} {
		var b body
		kind := b.sql(mode, probe, 0)
		switch _, err := data(ctx, a, kind, b.now); {
		case err == nil:
			return mode, nil
		case err.Fatal:
			return byText, err
		}
	}
	return byText, nil
}

// prepare prepares a statement and returns its id. ok is false if the server can't prepare statements at all. An
// error of class Server means that the server refused this statement.
func prepare(ctx context.Context, a asker, text string) (id uint64, ok bool, err *protocol.Error) {
	code, answer, err := a.ask(ctx, typePrepare, prepareBody(text))
	if err != nil {
		return 0, false, err
	}
	if code&errorBit != 0 {
		switch iproto.Error(code &^ errorBit) {
		case iproto.ER_UNKNOWN_REQUEST_TYPE, iproto.ER_UNSUPPORTED, iproto.ER_ACCESS_DENIED:
			return 0, false, nil
		}
		return 0, false, refusal(code, answer)
	}
	id, ok = preparedID(answer)
	return id, ok, nil
}

func prepareBody(text string) []byte {
	var b body
	b.mapping(1)
	b.key(keySQLText)
	b.text(text)
	return b.now
}

// preparedID returns the statement id in the answer to PREPARE.
func preparedID(answer []byte) (id uint64, ok bool) {
	r := read(answer)
	for n := r.Map(); n > 0 && r.Err == msgpack.Fine; n-- {
		if r.Uint() == uint64(keyStmt) {
			id = r.Uint()
			return id, r.Err == msgpack.Fine
		}
		r.Skip()
	}
	return 0, false
}

// texts reads a map of strings to values, and returns the values as text.
func (r *reader) texts() map[string]string {
	m := map[string]string{}
	for n := r.Map(); n > 0 && r.Err == msgpack.Fine; n-- {
		var v gen.Value
		key := string(r.Text())
		r.Value(&v)
		m[key] = string(template.AppendValue(nil, &v))
	}
	return m
}

func unknownSpace(name string) *protocol.Error {
	return protocol.Bad("no space %q that this user can see: create it or correct the name", strings.TrimSpace(name))
}
