package iproto

import (
	"bytes"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"

	iproto "github.com/tarantool/go-iproto"
)

// capture is a value to capture from an answer's first row.
type capture struct {
	name   []byte // column name to look up in the answer's metadata; nil if column is set
	column int
	kind   gen.Kind
}

// shape is the layout of an answer's DATA.
type shape uint8

const (
	tuples   shape = iota // rows
	values                // what a function or program returned
	dispatch              // what Picodata's .proc_sql_dispatch returned
)

// answer reads an answer's body into reply. It reads no more than necessary: up to the end of the first row if
// values are captured, otherwise up to the number of rows. A prefix of the body may therefore suffice. If it
// doesn't, answer returns short and leaves reply as Reset does.
func (s *statement) answer(body []byte, code uint32, reply *protocol.Reply) msgpack.ReadError {
	r := read(body)
	if code&errorBit != 0 {
		s.failure(&r, code&^errorBit, reply)
	} else if len(body) > 0 {
		s.success(&r, reply)
	}
	if r.Err != msgpack.Fine {
		reply.Reset(len(s.captures))
		return r.Err
	}
	s.stale, s.busy = s.stale || reply.Again, s.fresh && reply.Again
	s.fresh = false
	return msgpack.Fine
}

func (s *statement) failure(r *reader, code uint32, reply *protocol.Reply) {
	message := ""
	for n := r.Map(); n > 0 && r.Err == msgpack.Fine; n-- {
		if r.Uint() == uint64(iproto.IPROTO_ERROR_24) {
			message = string(r.Text())
			break
		}
		r.Skip()
	}
	if r.Err == msgpack.Fine {
		reply.Fail(ServerError(code, message))
		reply.Again = s.renewal != nil && isOutdated(code, message)
	}
}

func (s *statement) success(r *reader, reply *protocol.Reply) {
	var metadata []byte
	for n := r.Map(); n > 0 && r.Err == msgpack.Fine; n-- {
		switch r.Uint() {
		case uint64(iproto.IPROTO_METADATA):
			start := r.At
			r.Skip()
			metadata = r.B[start:r.At]
		case uint64(iproto.IPROTO_DATA):
			switch s.shape {
			case tuples:
				s.rows(r, metadata, reply)
			case values:
				s.returned(r, reply)
			case dispatch:
				s.dispatched(r, reply)
			}
			s.finish(reply)
			return
		case uint64(iproto.IPROTO_SQL_INFO):
			reply.Affected = info(r)
			s.finish(reply)
			return
		default:
			r.Skip()
		}
	}
	s.finish(reply)
}

// finish sets the fields of reply that follow from the verb.
func (s *statement) finish(reply *protocol.Reply) {
	switch s.verb {
	case protocol.Insert, protocol.Replace, protocol.Update, protocol.Delete:
		reply.Affected = reply.Rows
		reply.Missing = reply.Rows == 0 && s.verb != protocol.Insert
	case protocol.Upsert:
		reply.Affected = 1
	case protocol.Read, protocol.Select:
		reply.Missing = reply.Rows == 0
	case protocol.SQL:
		reply.Missing = s.kind.Missed(reply.Rows, reply.Affected)
	}
}

// info reads SQL_INFO and returns the number of rows changed, which has the key 0.
func info(r *reader) (affected int64) {
	for n := r.Map(); n > 0 && r.Err == msgpack.Fine; n-- {
		isCount := false
		if isText(r.Peek()) {
			isCount = string(r.Text()) == "row_count"
		} else {
			isCount = r.Uint() == 0
		}
		if isCount {
			affected = int64(r.Uint())
		} else {
			r.Skip()
		}
	}
	return affected
}

// rows reads the number of rows and captures values from the first.
func (s *statement) rows(r *reader, metadata []byte, reply *protocol.Reply) {
	n := r.Array()
	if n > maxAnswer {
		r.Fail(msgpack.Bad)
		return
	}
	reply.Rows = int64(n)
	if n > 0 && len(s.captures) > 0 {
		s.row(r, metadata, reply)
	}
}

// row captures values from the next row.
func (s *statement) row(r *reader, metadata []byte, reply *protocol.Reply) {
	n := r.Array()
	start := r.At
	for k := range s.captures {
		c := &s.captures[k]
		column := uint64(c.column)
		if c.name != nil {
			at, ok := find(metadata, c.name)
			if !ok {
				reply.Fail(protocol.Bad("%s",
					"the answer has no column "+string(c.name)+": correct the name, or give the column's number"))
				continue
			}
			column = at
		}
		if column >= n {
			continue
		}
		r.At = start
		for ; column > 0 && r.Err == msgpack.Fine; column-- {
			r.Skip()
		}
		s.capture(r, k, reply)
	}
}

// capture decodes the next value as capture number k.
func (s *statement) capture(r *reader, k int, reply *protocol.Reply) {
	if r.Err != msgpack.Fine || k >= len(reply.Captured) {
		r.Skip()
		return
	}
	v := &reply.Captured[k]
	r.Value(v)
	if r.Err == msgpack.Fine && !convert(v, s.captures[k].kind) {
		v.Kind = gen.Null
		if reply.Class == protocol.OK {
			reply.Fail(protocol.Bad("a value of the answer isn't of the type that a later statement needs"))
		}
	}
}

// find returns the number of the column with the given name. metadata is an array of maps in which the name has
// the key 0 or, from .proc_sql_dispatch, "name". A name that matches exactly is preferred to one that differs in
// letter case.
func find(metadata, name []byte) (column uint64, ok bool) {
	r := read(metadata)
	n := r.Array()
	for i := uint64(0); i < n && r.Err == msgpack.Fine; i++ {
		for k := r.Map(); k > 0 && r.Err == msgpack.Fine; k-- {
			if !r.isName() {
				r.Skip()
				continue
			}
			text := r.Text()
			if bytes.Equal(text, name) {
				return i, r.Err == msgpack.Fine
			}
			if !ok && r.Err == msgpack.Fine && bytes.EqualFold(text, name) {
				column, ok = i, true
			}
		}
	}
	return column, ok
}

// returned reads what a function returned. The row to capture from is the first value if that is an array (or
// the first array within it), the fields of a map by name, or all values.
func (s *statement) returned(r *reader, reply *protocol.Reply) {
	start := r.At
	n := r.Array()
	if n > maxAnswer {
		r.Fail(msgpack.Bad)
		return
	}
	reply.Rows = int64(n)
	if n == 2 {
		first := r.At
		if refused := r.refusedByShard(); refused != nil {
			reply.Fail(refused)
			return
		}
		if r.Err != msgpack.Fine {
			return
		}
		r.At = first
	}
	if n == 0 || len(s.captures) == 0 || r.Err != msgpack.Fine {
		return
	}
	row := start
	for range 2 {
		at := r.At
		if !isArray(r.Peek()) {
			break
		}
		row = at
		if r.Array() == 0 {
			break
		}
	}
	if r.At = row; row == start {
		r.Array()
		if isMap(r.Peek()) {
			s.fields(r, reply)
			return
		}
		r.At = row
	}
	s.row(r, nil, reply)
}

// fields captures values by name from a map.
func (s *statement) fields(r *reader, reply *protocol.Reply) {
	for n := r.Map(); n > 0 && r.Err == msgpack.Fine; n-- {
		start := r.At
		f, size := r.Head()
		if f != msgpack.String {
			r.At = start
			r.Skip()
			r.Skip()
			continue
		}
		key := r.Body(size)
		value := r.At
		for k := range s.captures {
			if s.captures[k].name != nil && bytes.Equal(s.captures[k].name, key) {
				r.At = value
				s.capture(r, k, reply)
			}
		}
		r.At = value
		r.Skip()
	}
}

// dispatched reads [{metadata, rows}] or [{row_count}], possibly nested in further arrays.
func (s *statement) dispatched(r *reader, reply *protocol.Reply) {
	for depth := 0; depth < 3 && isArray(r.Peek()); depth++ {
		if r.Array() == 0 {
			return
		}
	}
	var metadata []byte
	rows := -1
	for n := r.Map(); n > 0 && r.Err == msgpack.Fine; n-- {
		key := r.Text()
		start := r.At
		switch string(key) {
		case "row_count":
			reply.Affected = int64(r.Uint())
			continue
		case "metadata":
			r.Skip()
			if r.Err == msgpack.Fine {
				metadata = r.B[start:r.At]
			}
		case "rows":
			rows = start
			if metadata == nil && len(s.captures) > 0 {
				r.Skip()
				continue
			}
			s.rows(r, metadata, reply)
			return
		default:
			r.Skip()
		}
	}
	if rows >= 0 && r.Err == msgpack.Fine {
		r.At = rows
		s.rows(r, metadata, reply)
	}
}

func isArray(c byte) bool { return c >= 0x90 && c < 0xa0 || c == 0xdc || c == 0xdd }
func isMap(c byte) bool   { return c >= 0x80 && c < 0x90 || c == 0xde || c == 0xdf }
