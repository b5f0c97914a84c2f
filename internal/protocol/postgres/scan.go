package postgres

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strings"

	"brunt/internal/protocol"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

const (
	headerBytes = 5       // type and length of a message
	maxIncoming = 1 << 30 // the longest message length that is accepted, in bytes
	maxWanted   = 1 << 24 // the longest message that is read as a whole, in bytes
)

// scanner is the state of the answer that a session is reading.
type scanner struct {
	skip     int        // bytes of a message's body still to be skipped
	taken    bool       // the captured row has been read
	captures []captured // of a statement sent as text: set when the row description arrives
	missing  *protocol.Error
	result   wholeRow // the result being read, with Request.CaptureAll
}

// Scan reads messages until the server is ready for the next request. It skips the bodies of rows that aren't
// captured, piece by piece as they arrive.
func (c *codec) Scan(buf []byte, req *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	before := reply.BytesIn
	for {
		if c.skip > 0 {
			k := min(c.skip, len(buf)-n)
			c.skip -= k
			n += k
			if c.skip > 0 {
				reply.BytesIn = before + int64(n)
				return n, false, 1
			}
		}
		if len(buf)-n < headerBytes {
			reply.BytesIn = before + int64(n)
			return n, false, headerBytes
		}
		length := binary.BigEndian.Uint32(buf[n+1:])
		if length < 4 || length > maxIncoming {
			return c.broken(buf, reply, before, "a message of the impossible length", uint64(length))
		}
		body := int(length) - 4
		kind := buf[n]
		if !c.wanted(kind, req, reply) {
			n += headerBytes
			c.skip = body
			continue
		}
		if body > maxWanted {
			return c.broken(buf, reply, before, "a message too long to read, bytes:", uint64(body))
		}
		if len(buf)-n < headerBytes+body {
			reply.BytesIn = before + int64(n)
			return n, false, headerBytes + body
		}
		content := buf[n+headerBytes : n+headerBytes+body]
		n += headerBytes + body
		end, why := c.message(kind, content, req, reply)
		if why != "" {
			return c.broken(buf, reply, before, why, uint64(kind))
		}
		if end {
			reply.BytesIn = before + int64(n)
			c.reset()
			return n, true, 0
		}
	}
}

// ScanIdle passes over notices between requests. An error there ends the session (idle_session_timeout, a shutdown).
func (c *codec) ScanIdle(buf []byte) (n int, end *protocol.Error) {
	for len(buf)-n >= headerBytes {
		kind, size := buf[n], 1+int(binary.BigEndian.Uint32(buf[n+1:]))
		switch kind {
		case 'E', 'S', 'N', 'A': // ErrorResponse, ParameterStatus, NoticeResponse, NotificationResponse
		default:
			return n, nil
		}
		if size < headerBytes || size > len(buf)-n {
			return n, nil
		}
		if kind == 'E' {
			if end, _ = c.errorResponse(buf[n+headerBytes : n+size]); end == nil {
				end = protocol.Unusable("")
			}
			return n + size, end
		}
		n += size
	}
	return n, nil
}

// asText reports whether a request is sent as text, so that each answer describes its columns.
func (c *codec) asText(req *protocol.Request) bool {
	st := c.of(req)
	return st.query != nil || st.literal != nil
}

func (c *codec) reset() { c.taken, c.captures, c.missing, c.result = false, nil, nil, wholeRow{} }

// broken fails an invalid answer and so ends the session.
func (c *codec) broken(buf []byte, reply *protocol.Reply, before int64, why string, what uint64) (int, bool, int) {
	reply.BytesIn = before + int64(len(buf))
	reply.Fail(&protocol.Error{Class: protocol.Protocol, Fatal: true,
		Text: fmt.Sprintf("the server sent %s %d", why, what)})
	c.skip = 0
	c.reset()
	return len(buf), true, 0
}

// wanted reports whether a message's content matters. It also counts rows that are skipped.
func (c *codec) wanted(kind byte, req *protocol.Request, reply *protocol.Reply) bool {
	switch kind {
	case 'D': // DataRow
		if req.CaptureAll != protocol.NoRow && c.wantsRow(req) {
			return true
		}
		if len(req.Capture) > 0 && !c.taken && (!c.asText(req) || c.captures != nil) {
			return true
		}
		reply.Rows++
		if n := len(reply.Results); n > 0 {
			reply.Results[n-1].Rows++
		}
		return false
	case 'T': // RowDescription
		return req.CaptureAll != protocol.NoRow || c.of(req).renewing || len(req.Capture) > 0 && c.asText(req) && !c.taken
	case '1': // ParseComplete
		if st := c.of(req); st.script != nil {
			st.script.parsed++
		}
		return false
	case 'n': // NoData
		return c.of(req).renewing
	case 'I': // EmptyQueryResponse
		c.endResult(req, reply, 0)
		return false
	case 'N': // NoticeResponse
		return req.Notices
	case '2', '3', 's', 'S', 'A', 'K', 't', 'H', 'd', 'c':
		// BindComplete, CloseComplete, PortalSuspended, ParameterStatus,
		// NotificationResponse, BackendKeyData,
		// ParameterDescription, CopyOutResponse, CopyData, CopyDone
		return false
	}
	return true
}

// message processes one message. end says that the answer is complete; why, if not "", what is wrong with the
// message.
func (c *codec) message(kind byte, content []byte, req *protocol.Request, reply *protocol.Reply) (end bool,
	why string) {
	switch kind {
	case 'Z': // ReadyForQuery
		if len(content) != 1 || content[0] != 'I' && content[0] != 'T' && content[0] != 'E' {
			return false, "a malformed ReadyForQuery, type"
		}
		reply.InBlock = content[0] != 'I'
		failOnce(reply, c.missing)
		if st := c.of(req); st.script != nil {
			return c.scriptSynced(st, content[0], reply), ""
		}
		c.conclude(req, content[0], reply)
		return true, ""
	case 'C': // CommandComplete
		if len(content) == 0 || content[len(content)-1] != 0 {
			return false, "a malformed CommandComplete, type"
		}
		tag := content[:len(content)-1]
		complete(req, tag, reply)
		c.endResult(req, reply, affected(tag))
		return false, ""
	case 'D':
		reply.Rows++
		if req.CaptureAll != protocol.NoRow {
			if !c.captureAll(content, req, reply) {
				return false, "a malformed DataRow, type"
			}
			return false, ""
		}
		c.taken = true
		captures := c.captures
		if !c.asText(req) {
			captures = c.of(req).captures
		}
		if !captureRow(content, captures, reply) {
			return false, "a malformed DataRow, type"
		}
		return false, ""
	case 'T':
		if req.CaptureAll != protocol.NoRow {
			if !c.beginResult(content, req, reply) {
				return false, "a malformed RowDescription, type"
			}
			return false, ""
		}
		fields, ok := parseFields(content)
		if !ok {
			return false, "a malformed RowDescription, type"
		}
		if st := c.of(req); !c.asText(req) {
			st.renewing, st.fields = false, fields
			st.captures, c.missing = textCaptures(req, fields)
			return false, ""
		}
		c.captures, c.missing = textCaptures(req, fields)
		return false, ""
	case 'n':
		c.of(req).renewing = false
		return false, ""
	case 'E':
		err, report := c.errorResponse(content)
		if err == nil {
			return false, "a malformed ErrorResponse, type"
		}
		if reply.Class == protocol.OK {
			reply.Fail(err)
			reply.Report = report
		}
		reply.Fatal = reply.Fatal || err.Fatal
		return err.Fatal, ""
	case 'N':
		var notice pgproto3.NoticeResponse
		if notice.Decode(content) != nil {
			return false, "a malformed NoticeResponse, type"
		}
		e := pgproto3.ErrorResponse(notice)
		reply.Notices = append(reply.Notices, c.report(&e))
		return false, ""
	case 'G', 'W': // CopyInResponse, CopyBothResponse
		return false, "a request for COPY data, which operations can't give, type"
	}
	return false, "a message of unknown type"
}

// of returns the statement of a request.
func (c *codec) of(req *protocol.Request) *statement { return c.statements[req.ID] }

// conclude finishes an answer, given the transaction status: I (idle), T (in a transaction) or E (failed).
func (c *codec) conclude(req *protocol.Request, state byte, reply *protocol.Reply) {
	st := c.of(req)
	if reply.Class == protocol.OK {
		reply.Missing = st.kind.Missed(reply.Rows, reply.Affected)
		return
	}
	outdated := isOutdated(reply.Code, reply.Text) && !req.Simple
	if outdated && reply.Code == unknownPrepared && !st.each && !st.stale {
		c.program.pooled.Store(true)
	}
	st.stale = st.stale || outdated || st.renewing
	st.renewing = false
	reply.Again = outdated && state == 'I'
}

// captureRow decodes the captured columns of a row. It returns false if the row is malformed.
func captureRow(content []byte, captures []captured, reply *protocol.Reply) bool {
	if len(content) < 2 {
		return false
	}
	columns := int(binary.BigEndian.Uint16(content))
	at := 2
	for i := range columns {
		if len(content)-at < 4 {
			return false
		}
		length := int(int32(binary.BigEndian.Uint32(content[at:])))
		at += 4
		if length == -1 {
			continue
		}
		if length < 0 || length > len(content)-at {
			return false
		}
		for k := range captures {
			if captures[k].column == i && k < len(reply.Captured) {
				p := &captures[k]
				failOnce(reply, decode(&reply.Captured[k], p.form, p.format, content[at:at+length], p.kind))
			}
		}
		at += length
	}
	return at == len(content)
}

// parseFields decodes a RowDescription.
func parseFields(content []byte) ([]pgconn.FieldDescription, bool) {
	var row pgproto3.RowDescription
	if row.Decode(content) != nil {
		return nil, false
	}
	fields := make([]pgconn.FieldDescription, len(row.Fields))
	for i, f := range row.Fields {
		fields[i] = pgconn.FieldDescription{Name: string(f.Name), DataTypeOID: f.DataTypeOID}
	}
	return fields, true
}

// errorResponse decodes an ErrorResponse; nil means that it is malformed.
func (c *codec) errorResponse(content []byte) (*protocol.Error, *protocol.Report) {
	var e pgproto3.ErrorResponse
	if e.Decode(content) != nil {
		return nil, nil
	}
	return serverError(cmp.Or(e.SeverityUnlocalized, e.Severity), e.Code, e.Message, c.secret), c.report(&e)
}

// report returns what an ErrorResponse or a NoticeResponse says, without the password.
func (c *codec) report(e *pgproto3.ErrorResponse) *protocol.Report {
	shown := func(text string) string {
		if len(c.secret) < leastSecret {
			return text
		}
		return strings.ReplaceAll(text, c.secret, "…")
	}
	return &protocol.Report{
		Severity: e.Severity, Message: shown(e.Message), Detail: shown(e.Detail), Hint: shown(e.Hint), Where: shown(e.Where),
		Position: int(e.Position), Internal: shown(e.InternalQuery), InternalPosition: int(e.InternalPosition)}
}

// leastSecret is the least length of a password that can be told from ordinary words, as for protocol.Line.
const leastSecret = 3

// failOnce records err as the reply's failure, unless err is nil or there is a failure already.
func failOnce(reply *protocol.Reply, err *protocol.Error) {
	if err != nil && reply.Class == protocol.OK {
		reply.Fail(err)
	}
}

// complete evaluates a command tag. A COMMIT that the server answers with ROLLBACK has failed.
func complete[T string | []byte](req *protocol.Request, tag T, reply *protocol.Reply) {
	reply.Affected += affected(tag)
	if req.Verb == protocol.Commit && string(tag) == "ROLLBACK" {
		failOnce(reply, rolledBack())
	}
}

func rolledBack() *protocol.Error {
	return &protocol.Error{Class: protocol.Server, Code: "25P02",
		Text: "COMMIT was answered with ROLLBACK: a statement of the transaction had failed"}
}

// affected returns the number of changed rows in a command tag. It is 0 for SELECT, FETCH and MOVE, whose tags
// count rows read.
func affected[T string | []byte](tag T) int64 {
	if len(tag) == 0 || tag[0] == 'S' || tag[0] == 'F' || len(tag) > 1 && tag[0] == 'M' && tag[1] == 'O' {
		return 0 // SELECT, FETCH, MOVE
	}
	at := len(tag)
	for at > 0 && tag[at-1] >= '0' && tag[at-1] <= '9' {
		at--
	}
	if at == 0 || tag[at-1] != ' ' || len(tag)-at > 18 {
		return 0
	}
	n := int64(0)
	for _, digit := range []byte(tag[at:]) {
		n = n*10 + int64(digit-'0')
	}
	return n
}
