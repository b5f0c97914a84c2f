package postgres

import (
	"bytes"
	"encoding/binary"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"

	"github.com/jackc/pgx/v5/pgconn"
)

// scripted is what a statement has that is sent without being prepared when the session connects: as a text that is
// known when it is sent (Request.Verbatim), parsed with each request (Unnamed), or prepared with the first one (Late).
// A pipeline has several parts.
type scripted struct {
	verbatim bool
	unnamed  bool // with verbatim: parsed with each request
	late     bool
	pipeline bool
	describe bool // columns are captured
	parts    []part
	query    []byte // the whole message of a text that is known

	// Of a session.

	ready   bool // its parts are prepared
	parsing bool // the request under way prepares its parts
	renew   bool // they are prepared, but must be prepared again
	parsed  int  // ParseComplete messages of the answer so far
	syncs   int  // ReadyForQuery messages that the answer still lacks

	fields []byte   // the RowDescription whose names are names
	names  []string // of its columns
	types  []protocol.ColumnType
}

// part is a statement of a pipeline, or the only statement.
type part struct {
	text   string // "": a synchronization point only
	name   string
	params int
	sync   bool
}

// isScripted reports whether a request is sent by scripted.
func isScripted(req *protocol.Request) bool {
	return req.Verbatim || req.Unnamed || req.Late || len(req.Pipeline) > 0 || req.CaptureAll != protocol.NoRow
}

// newScripted lays out a request. why, if not "", says what is wrong with it.
func newScripted(req *protocol.Request) (_ *scripted, why string) {
	s := &scripted{verbatim: req.Verbatim, unnamed: req.Unnamed, late: !req.Unnamed, pipeline: len(req.Pipeline) > 0,
		describe: req.CaptureAll != protocol.NoRow}
	if req.Verbatim {
		if len(req.Params) != 1 && !req.Unnamed || len(req.Params) == 0 || s.pipeline {
			return nil, "a statement whose text is an argument has one argument"
		}
		return s, ""
	}
	if req.Simple && !s.pipeline {
		if len(req.Params) > 0 {
			return nil, "a statement that is sent as text can't have parameters if all columns are captured"
		}
		s.verbatim, s.query = true, queryMessage(req.Text)
		return s, ""
	}
	if !s.pipeline {
		s.parts = []part{{text: req.Text, params: len(req.Params)}}
	}
	params := 0
	for _, p := range req.Pipeline {
		s.parts = append(s.parts, part{text: p.Text, params: p.Params, sync: p.Sync || p.Text == ""})
		params += p.Params
	}
	for i := range s.parts {
		p := &s.parts[i]
		p.name = nameOf(p.text, nil)
		if strings.ContainsRune(p.text, 0) {
			return nil, "the statement holds a zero byte"
		}
	}
	if s.pipeline && params != len(req.Params) {
		return nil, "the parameters of the pipeline's statements aren't those of the pipeline"
	}
	s.parts[len(s.parts)-1].sync = true
	return s, ""
}

// encodeScripted appends the messages of a request.
func (c *codec) encodeScripted(dst []byte, st *statement, args []gen.Value) ([]byte, *protocol.Error) {
	s, at := st.script, len(dst)
	s.parsed, s.syncs, s.parsing = 0, 0, false
	named := s.late && !c.program.pooled.Load()
	switch {
	case s.query != nil:
		s.syncs = 1
		return append(dst, s.query...), nil
	case s.verbatim && bytes.IndexByte(args[0].B, 0) >= 0:
		return dst, protocol.Refused(st.req, "the statement holds a zero byte")
	case s.verbatim && !s.unnamed:
		dst = append(appendText(append(dst, 'Q', 0, 0, 0, 0), &args[0]), 0)
		setLength(dst, at)
		s.syncs = 1
	case s.verbatim:
		p := part{text: string(args[0].B), params: len(args) - 1, sync: true}
		dst = s.appendPart(dst, &p, args[1:], false)
	default:
		if named && !s.ready {
			dst = c.appendParses(dst, s)
		}
		for i := range s.parts {
			p := &s.parts[i]
			dst = s.appendPart(dst, p, args[:p.params], named)
			args = args[p.params:]
		}
	}
	if size := len(dst) - at; size > maxMessage {
		return dst[:at], tooLarge(size)
	}
	return dst, nil
}

// appendParses appends messages that prepare the parts, except for those that the session has prepared already, for
// another request with the same text. Those of a pipeline are followed by a synchronization point, because a
// transaction that the pipeline begins must not have begun with them.
func (c *codec) appendParses(dst []byte, s *scripted) []byte {
	s.parsing = true
	before := len(dst)
	for i := range s.parts {
		p := &s.parts[i]
		if s.renew {
			dst = appendMessage(dst, 'C', "S"+p.name+"\x00")
		}
		if p.text != "" && (s.renew || !c.named[p.name]) && !s.repeats(i) {
			dst = appendParse(dst, p.name, p.text)
		}
	}
	if s.pipeline && len(dst) > before {
		dst = appendMessage(dst, 'S', "")
		s.syncs++
	}
	return dst
}

// repeats reports whether an earlier part has the text of part i.
func (s *scripted) repeats(i int) bool {
	for k := range i {
		if s.parts[k].name == s.parts[i].name {
			return true
		}
	}
	return false
}

// appendPart appends Bind and Execute for a part, with what must precede and follow them.
func (s *scripted) appendPart(dst []byte, p *part, args []gen.Value, named bool) []byte {
	if p.text != "" {
		name := p.name
		if !named {
			name = ""
			dst = appendParse(dst, "", p.text)
		}
		at := len(dst)
		dst = append(append(dst, 'B', 0, 0, 0, 0, 0), name...)
		dst = append(dst, 0, 0, 0) // all parameters are texts
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(args)))
		for i := range args {
			if args[i].Kind == gen.Null {
				dst = append(dst, 0xff, 0xff, 0xff, 0xff)
				continue
			}
			start := len(dst)
			dst = appendText(append(dst, 0, 0, 0, 0), &args[i])
			binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
		}
		dst = append(dst, 0, 0) // and so are all columns
		setLength(dst, at)
		if s.describe {
			dst = appendMessage(dst, 'D', "P\x00")
		}
		dst = appendMessage(dst, 'E', "\x00\x00\x00\x00\x00")
	}
	if p.sync {
		dst = appendMessage(dst, 'S', "")
		s.syncs++
	}
	return dst
}

func appendParse(dst []byte, name, text string) []byte {
	at := len(dst)
	dst = append(append(append(dst, 'P', 0, 0, 0, 0), name...), 0)
	dst = append(append(dst, text...), 0, 0, 0) // the server infers all types
	setLength(dst, at)
	return dst
}

func appendMessage(dst []byte, kind byte, body string) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, kind), uint32(4+len(body)))
	return append(dst, body...)
}

// setLength sets the length of the message that begins at a position and ends with dst.
func setLength(dst []byte, at int) { binary.BigEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-1)) }

// scriptSynced takes note of a ReadyForQuery and reports whether the answer is complete. state is the transaction's.
func (c *codec) scriptSynced(st *statement, state byte, reply *protocol.Reply) (end bool) {
	s := st.script
	if s.syncs--; s.syncs > 0 {
		return false
	}
	parsing := s.parsing
	if parsing {
		c.prepared(s)
	}
	if reply.Class == protocol.OK {
		reply.Missing = !s.pipeline && st.kind.Missed(reply.Rows, reply.Affected)
		return true
	}
	if !s.late || s.verbatim {
		return true
	}
	whole := !s.pipeline || parsing && s.parsed == 0 // nothing of it has been executed
	switch {
	case reply.Code == unknownPrepared && s.ready || reply.Code == duplicatePrepared && parsing:
		c.program.pooled.Store(true)
	case isOutdated(reply.Code, reply.Text) && reply.Code != unknownPrepared:
		s.ready, s.renew = false, true
	default:
		return true
	}
	reply.Again = state == 'I' && whole
	return true
}

// prepared takes note of which parts the server has prepared: it does so in their order until one fails.
func (c *codec) prepared(s *scripted) {
	n := s.parsed
	s.parsing = false
	for i := range s.parts {
		p := &s.parts[i]
		if p.text == "" || !s.renew && c.named[p.name] || s.repeats(i) {
			continue
		}
		if n--; n < 0 {
			return
		}
		if c.named == nil {
			c.named = map[string]bool{}
		}
		c.named[p.name] = true
	}
	s.ready, s.renew = true, false
}

// wholeRow is the state of an answer whose rows are captured with all columns.
type wholeRow struct {
	open  bool // the statement has a result
	first int  // where its columns begin in Reply.Columns
	rows  int  // of the result so far
	bytes int  // of all rows captured so far
}

// wantsRow reports whether the next row is captured.
func (c *codec) wantsRow(req *protocol.Request) bool {
	return req.CaptureAll == protocol.LastRow || c.result.rows == 0 ||
		req.CaptureAll == protocol.AllRows && c.result.bytes < protocol.MostCaptured
}

// beginResult reads a RowDescription. It returns false if that is malformed.
func (c *codec) beginResult(content []byte, req *protocol.Request, reply *protocol.Reply) bool {
	s := c.of(req).script
	if s.names == nil || !bytes.Equal(s.fields, content) {
		fields, ok := parseFields(content)
		if !ok {
			return false
		}
		s.fields, s.names, s.types = append(s.fields[:0], content...), namesOf(fields), columnTypes(fields)
	}
	switch req.CaptureAll {
	case protocol.FirstRow:
		forgetRow(reply)
	case protocol.AllRows:
		reply.Results = append(reply.Results, protocol.Result{Columns: s.names, Types: s.types})
	}
	c.result = wholeRow{open: true, first: len(reply.Columns), bytes: c.result.bytes}
	return true
}

// columnTypes returns the types of columns.
func columnTypes(fields []pgconn.FieldDescription) []protocol.ColumnType {
	types := make([]protocol.ColumnType, len(fields))
	for i := range fields {
		oid := fields[i].DataTypeOID
		switch forms[oid] {
		case formInt2, formInt4, formInt8, formOid:
			types[i] = protocol.IntegerColumn
		case formFloat4:
			types[i] = protocol.RealColumn
		case formFloat8:
			types[i] = protocol.DoubleColumn
		case formNumeric:
			types[i] = protocol.DecimalColumn
		case formBool:
			types[i] = protocol.BoolColumn
		case formBytea:
			types[i] = protocol.BytesColumn
		case formDate:
			types[i] = protocol.DateColumn
		case formTime:
			types[i] = protocol.TimeColumn
		case formTimestamp:
			types[i] = protocol.TimestampColumn
			if oid == zonedTimestamp {
				types[i] = protocol.ZonedColumn
			}
		}
	}
	return types
}

// zonedTimestamp is the OID of timestamp with time zone.
const zonedTimestamp = 1184

func namesOf(fields []pgconn.FieldDescription) []string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	return names
}

func forgetRow(reply *protocol.Reply) {
	reply.Rows, reply.Columns, reply.Captured = 0, reply.Columns[:0], reply.Captured[:0]
}

// endResult takes note of a statement's end, and how many rows it has changed.
func (c *codec) endResult(req *protocol.Request, reply *protocol.Reply, affected int64) {
	reply.Statements++
	switch req.CaptureAll {
	case protocol.NoRow:
		return
	case protocol.AllRows:
		if !c.result.open {
			reply.Results = append(reply.Results, protocol.Result{})
		}
		reply.Results[len(reply.Results)-1].Affected = affected
		c.result.open = false
		return
	}
	if req.CaptureAll == protocol.FirstRow && !c.result.open {
		forgetRow(reply)
	}
	c.result = wholeRow{}
}

// captureAll captures all columns of a row as texts. It returns false if the row is malformed.
func (c *codec) captureAll(content []byte, req *protocol.Request, reply *protocol.Reply) bool {
	names, r := c.of(req).script.names, &c.result
	if !r.open || len(content) < 2 || int(binary.BigEndian.Uint16(content)) != len(names) {
		return false
	}
	content = content[2:]
	r.rows++
	if req.CaptureAll == protocol.AllRows {
		last := &reply.Results[len(reply.Results)-1]
		last.Rows++
		last.Captured++
		r.bytes += len(content) + len(names)
		r.first = len(reply.Captured)
		for range names {
			reply.Capture()
		}
		return captureTexts(content, reply.Captured[r.first:], last.Types)
	}
	reply.Columns = append(reply.Columns[:r.first], names...)
	for len(reply.Captured) < len(reply.Columns) {
		reply.Capture()
	}
	return captureTexts(content, reply.Captured[r.first:r.first+len(names)], nil)
}

// captureTexts sets the values of a row whose columns are texts. Those of type bytea become bytes if types are given.
// It returns false if the row is malformed.
func captureTexts(content []byte, values []gen.Value, types []protocol.ColumnType) bool {
	for i := range values {
		if len(content) < 4 {
			return false
		}
		v, length := &values[i], int(int32(binary.BigEndian.Uint32(content)))
		content = content[4:]
		v.SetNull()
		if length == -1 {
			continue
		}
		if length < 0 || length > len(content) {
			return false
		}
		v.Kind = gen.String
		ok := false
		if types != nil && types[i] == protocol.BytesColumn {
			v.B, ok = appendBytea(v.B[:0], content[:length])
		}
		if !ok {
			v.B = append(v.B[:0], content[:length]...)
		}
		content = content[length:]
	}
	return len(content) == 0
}
