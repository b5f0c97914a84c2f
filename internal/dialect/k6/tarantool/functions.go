package tarantool

import (
	"strings"

	"github.com/tarantool/go-iproto"

	"brunt/internal/base/sqltext"
	"brunt/internal/dialect/k6/bind"
	"brunt/internal/protocol"
)

// iterators are the names of a select's iterator types, in the order of their numbers (box.index's constants).
var iterators = [...]string{"EQ", "REQ", "ALL", "LT", "LE", "GE", "GT"}

// selectTuples implements select(connection, space, index, offset, limit, iterator, key).
func (i *instance) selectTuples(a *bind.Args) (any, error) {
	c, at := i.on(a), i.place(a, 1, 2)
	offset := a.WholeOr(3, "the offset", 0, 1<<32-1, 0)
	limit := a.WholeOr(4, "the limit", 0, 1<<32-1, 1<<32-1)
	key := []any{}
	if a.Has(6) {
		key = list(a.Plain(6))
	}
	order := uint64(0)
	if len(key) == 0 {
		order = 2
	}
	if a.Has(5) {
		order = i.iterator(a, 5)
	}
	return i.onSpace(a, c, at, &request{verb: "select", kind: iproto.IPROTO_SELECT, does: protocol.Select},
		field{iproto.IPROTO_OFFSET, uint64(offset)}, field{iproto.IPROTO_LIMIT, uint64(limit)},
		field{iproto.IPROTO_ITERATOR, order}, field{iproto.IPROTO_KEY, key})
}

// iterator reads an iterator type: a number, as in Tarantool's connectors, or a name.
func (i *instance) iterator(a *bind.Args, at int) uint64 {
	if name, ok := a.Plain(at).(string); ok {
		for n, known := range iterators {
			if strings.EqualFold(name, known) {
				return uint64(n)
			}
		}
		a.Fault(at, "the iterator", "one of "+strings.Join(iterators[:], ", ")+", or its number")
		return 0
	}
	return uint64(a.Whole(at, "the iterator", 0, 13))
}

// put implements insert and replace: (connection, space, tuple).
func (i *instance) put(verb string, kind iproto.Type) bind.Func {
	return func(a *bind.Args) (any, error) {
		c, at, tuple := i.on(a), i.place(a, 1, -1), a.List(2, "the tuple")
		return i.onSpace(a, c, at, &request{verb: verb, kind: kind, does: protocol.Insert},
			field{iproto.IPROTO_TUPLE, tuple})
	}
}

// remove implements delete(connection, space, index, key).
func (i *instance) remove(a *bind.Args) (any, error) {
	c, at, key := i.on(a), i.place(a, 1, 2), i.key(a, 3)
	return i.onSpace(a, c, at, &request{verb: "delete", kind: iproto.IPROTO_DELETE, does: protocol.Delete},
		field{iproto.IPROTO_KEY, key})
}

// update implements update(connection, space, index, key, operations).
func (i *instance) update(a *bind.Args) (any, error) {
	c, at, key, ops := i.on(a), i.place(a, 1, 2), i.key(a, 3), i.changes(a, 4)
	return i.onSpace(a, c, at, &request{verb: "update", kind: iproto.IPROTO_UPDATE, does: protocol.Update},
		field{iproto.IPROTO_KEY, key}, field{iproto.IPROTO_TUPLE, ops})
}

// upsert implements upsert(connection, space, tuple, operations).
func (i *instance) upsert(a *bind.Args) (any, error) {
	c, at, tuple, ops := i.on(a), i.place(a, 1, -1), a.List(2, "the tuple"), i.changes(a, 3)
	return i.onSpace(a, c, at, &request{verb: "upsert", kind: iproto.IPROTO_UPSERT, does: protocol.Upsert},
		field{iproto.IPROTO_TUPLE, tuple}, field{iproto.IPROTO_OPS, ops})
}

// function implements call, call17 and eval: (connection, function or program, arguments).
func (i *instance) function(verb string, kind iproto.Type, key iproto.Key, rows rows) bind.Func {
	return func(a *bind.Args) (any, error) {
		c, r := i.on(a), i.called(a, verb, kind, key, rows)
		return i.send(a, c, r)
	}
}

func (i *instance) called(a *bind.Args, verb string, kind iproto.Type, key iproto.Key, rows rows) *request {
	text, args := a.Text(1, "the function's name, or the program"), a.ListOr(2, "the arguments")
	r := &request{verb: verb, kind: kind, does: protocol.Call, rows: rows}
	if kind != iproto.IPROTO_EVAL {
		r.on = text
	}
	i.encode(a, r, field{key, text}, field{iproto.IPROTO_TUPLE, args})
	return r
}

// execute implements execute(connection, statement, parameters) for SQL.
func (i *instance) execute(a *bind.Args) (any, error) {
	c, text, args := i.on(a), a.Text(1, "the statement"), a.ListOr(2, "the parameters")
	r := &request{verb: strings.ToLower(sqltext.FirstWord(text)), kind: iproto.IPROTO_EXECUTE, does: protocol.SQL,
		text: text, rows: sqlRows}
	if r.verb == "" {
		r.verb = "execute"
	}
	i.encode(a, r, field{iproto.IPROTO_SQL_TEXT, text}, field{iproto.IPROTO_SQL_BIND, args})
	return i.send(a, c, r)
}

// named is a space and an index as a script gives them: names or numbers.
type named struct {
	space, index any
	indexed      bool // the request is for an index
}

// place reads the arguments that name a space and, unless index is negative, an index.
func (i *instance) place(a *bind.Args, space, index int) named {
	n := named{space: i.nameOrNumber(a, space, "the space"), indexed: index >= 0}
	if n.indexed && a.Has(index) {
		n.index = i.nameOrNumber(a, index, "the index")
	}
	return n
}

func (i *instance) nameOrNumber(a *bind.Args, at int, what string) any {
	switch x := a.Plain(at).(type) {
	case string:
		return x
	case int64:
		if x >= 0 && x < 1<<32 {
			return x
		}
	}
	a.Fault(at, what, "its name or number")
	return nil
}

// key reads a key: an array, or a single part.
func (i *instance) key(a *bind.Args, at int) []any {
	if !a.Has(at) {
		a.Fault(at, "the key", "an array")
		return nil
	}
	return list(a.Plain(at))
}

func list(x any) []any {
	if l, ok := x.([]any); ok {
		return l
	}
	return []any{x}
}

// changes reads operations such as [["=", "model", "x"]].
func (i *instance) changes(a *bind.Args, at int) []any {
	ops := a.List(at, "the operations")
	for _, op := range ops {
		if l, ok := op.([]any); !ok || len(l) < 2 {
			a.Fault(at, "the operations", `an array of arrays such as ["=", "model", "cadillac"]`)
		}
	}
	return ops
}

// onSpace looks the space up, encodes the request with the fields after the space and the index, and sends it.
func (i *instance) onSpace(a *bind.Args, c *connection, n named, r *request, fields ...field) (any, error) {
	if err := a.Err(); err != nil {
		return nil, err
	}
	at, failure := c.place(i.vu.Context(), n.space, n.index)
	if failure != nil {
		return nil, failure
	}
	r.on, r.rows = at.name, tuples
	if c.objects {
		r.form = columns(c.numbered(at.space))
	}
	in := []field{{iproto.IPROTO_SPACE_ID, uint64(at.space)}}
	if n.indexed {
		in = append(in, field{iproto.IPROTO_INDEX_ID, uint64(at.index)})
	}
	i.encode(a, r, append(in, fields...)...)
	return i.send(a, c, r)
}

// encode sets the body of the request. The library has written it before sending returns, so the buffer can be reused.
func (i *instance) encode(a *bind.Args, r *request, fields ...field) {
	b := body{out: i.buffer[:0]}
	b.head(len(fields), 0x80, 0xde)
	for _, f := range fields {
		b.out = append(b.out, byte(f.key))
		b.within(f.value, 0)
	}
	i.buffer = b.out
	if b.err != nil {
		a.Failf("%v", b.err)
	}
	r.body = b.out
}
