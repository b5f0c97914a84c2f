package iproto

import (
	"bytes"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"

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
func (s *statement) answer(body []byte, code uint32, reply *protocol.Reply) readError {
	r := reader{b: body}
	if code&errorBit != 0 {
		s.failure(&r, code&^errorBit, reply)
	} else if len(body) > 0 {
		s.success(&r, reply)
	}
	if r.readError != fine {
		reply.Reset(len(s.captures))
		return r.readError
	}
	s.stale, s.busy = s.stale || reply.Again, s.fresh && reply.Again
	s.fresh = false
	return fine
}

func (s *statement) failure(r *reader, code uint32, reply *protocol.Reply) {
	message := ""
	for n := r.mapping(); n > 0 && r.readError == fine; n-- {
		if r.uint() == uint64(iproto.IPROTO_ERROR_24) {
			message = string(r.text())
			break
		}
		r.skip()
	}
	if r.readError == fine {
		reply.Fail(ServerError(code, message))
		reply.Again = s.renewal != nil && isOutdated(code, message)
	}
}

func (s *statement) success(r *reader, reply *protocol.Reply) {
	var metadata []byte
	for n := r.mapping(); n > 0 && r.readError == fine; n-- {
		switch r.uint() {
		case uint64(iproto.IPROTO_METADATA):
			start := r.at
			r.skip()
			metadata = r.b[start:r.at]
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
			r.skip()
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
	for n := r.mapping(); n > 0 && r.readError == fine; n-- {
		isCount := false
		if isText(r.peek()) {
			isCount = string(r.text()) == "row_count"
		} else {
			isCount = r.uint() == 0
		}
		if isCount {
			affected = int64(r.uint())
		} else {
			r.skip()
		}
	}
	return affected
}

// rows reads the number of rows and captures values from the first.
func (s *statement) rows(r *reader, metadata []byte, reply *protocol.Reply) {
	n := r.array()
	if n > maxAnswer {
		r.fail(bad)
		return
	}
	reply.Rows = int64(n)
	if n > 0 && len(s.captures) > 0 {
		s.row(r, metadata, reply)
	}
}

// row captures values from the next row.
func (s *statement) row(r *reader, metadata []byte, reply *protocol.Reply) {
	n := r.array()
	start := r.at
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
		r.at = start
		for ; column > 0 && r.readError == fine; column-- {
			r.skip()
		}
		s.capture(r, k, reply)
	}
}

// capture decodes the next value as capture number k.
func (s *statement) capture(r *reader, k int, reply *protocol.Reply) {
	if r.readError != fine || k >= len(reply.Captured) {
		r.skip()
		return
	}
	v := &reply.Captured[k]
	r.value(v)
	if r.readError == fine && !convert(v, s.captures[k].kind) {
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
	r := reader{b: metadata}
	n := r.array()
	for i := uint64(0); i < n && r.readError == fine; i++ {
		for k := r.mapping(); k > 0 && r.readError == fine; k-- {
			if !r.isName() {
				r.skip()
				continue
			}
			text := r.text()
			if bytes.Equal(text, name) {
				return i, r.readError == fine
			}
			if !ok && r.readError == fine && bytes.EqualFold(text, name) {
				column, ok = i, true
			}
		}
	}
	return column, ok
}

// returned reads what a function returned. The row to capture from is the first value if that is an array (or
// the first array within it), the fields of a map by name, or all values.
func (s *statement) returned(r *reader, reply *protocol.Reply) {
	start := r.at
	n := r.array()
	if n > maxAnswer {
		r.fail(bad)
		return
	}
	reply.Rows = int64(n)
	if n == 2 {
		first := r.at
		if refused := r.refusedByShard(); refused != nil {
			reply.Fail(refused)
			return
		}
		if r.readError != fine {
			return
		}
		r.at = first
	}
	if n == 0 || len(s.captures) == 0 || r.readError != fine {
		return
	}
	row := start
	for range 2 {
		at := r.at
		if !isArray(r.peek()) {
			break
		}
		row = at
		if r.array() == 0 {
			break
		}
	}
	if r.at = row; row == start {
		r.array()
		if isMap(r.peek()) {
			s.fields(r, reply)
			return
		}
		r.at = row
	}
	s.row(r, nil, reply)
}

// fields captures values by name from a map.
func (s *statement) fields(r *reader, reply *protocol.Reply) {
	for n := r.mapping(); n > 0 && r.readError == fine; n-- {
		start := r.at
		f, size := r.head()
		if f != str {
			r.at = start
			r.skip()
			r.skip()
			continue
		}
		key := r.body(size)
		value := r.at
		for k := range s.captures {
			if s.captures[k].name != nil && bytes.Equal(s.captures[k].name, key) {
				r.at = value
				s.capture(r, k, reply)
			}
		}
		r.at = value
		r.skip()
	}
}

// dispatched reads [{metadata, rows}] or [{row_count}], possibly nested in further arrays.
func (s *statement) dispatched(r *reader, reply *protocol.Reply) {
	for depth := 0; depth < 3 && isArray(r.peek()); depth++ {
		if r.array() == 0 {
			return
		}
	}
	var metadata []byte
	rows := -1
	for n := r.mapping(); n > 0 && r.readError == fine; n-- {
		key := r.text()
		start := r.at
		switch string(key) {
		case "row_count":
			reply.Affected = int64(r.uint())
			continue
		case "metadata":
			r.skip()
			if r.readError == fine {
				metadata = r.b[start:r.at]
			}
		case "rows":
			rows = start
			if metadata == nil && len(s.captures) > 0 {
				r.skip()
				continue
			}
			s.rows(r, metadata, reply)
			return
		default:
			r.skip()
		}
	}
	if rows >= 0 && r.readError == fine {
		r.at = rows
		s.rows(r, metadata, reply)
	}
}

func isArray(c byte) bool { return c >= 0x90 && c < 0xa0 || c == 0xdc || c == 0xdd }
func isMap(c byte) bool   { return c >= 0x80 && c < 0x90 || c == 0xde || c == 0xdf }
