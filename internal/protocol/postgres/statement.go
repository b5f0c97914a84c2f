package postgres

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// statement is a request that has been prepared for sending.
type statement struct {
	req      *protocol.Request
	kind     protocol.Kind
	text     string // text sent unchanged: Begin, Commit, Rollback, and Simple without parameters
	literal  *literal
	prepared *pgconn.StatementDescription // nil for statements sent as text
	params   []form
	fields   []pgconn.FieldDescription // result columns, if known
	captures []captured

	named    string   // name under which it is prepared; "" for the unnamed statement
	types    []uint32 // of its parameters, with which it is prepared; nil: the server infers them
	shared   bool     // shared by all sessions of a program; a session copies it before use
	stale    bool     // not prepared, or outdated: it must be prepared with its next request
	each     bool     // it is prepared with each request: see unnamed
	renewing bool     // it is being prepared again, and its new description hasn't arrived

	resultFormats []int16
	bind          []byte // Bind up to its parameters, with all format codes set to text
	formatsAt     int    // offset of the format codes in bind
	tail          []byte // result formats, Execute, Sync
	query         []byte // the complete Query message, if text is set
	script        *scripted
}

// captured says where in a row to find a capture's value, and how to decode it.
type captured struct {
	column int
	form   form
	format int16
	kind   gen.Kind
}

// planOne lays out one request. why, if not "", says what is wrong with it.
func planOne(req *protocol.Request) (st statement, why string) {
	st = statement{req: req, kind: req.Kind(), named: nameOf(req.Text, nil)}
	switch req.Verb {
	case protocol.Begin:
		st.text, why = beginText(req.Text)
	case protocol.Commit:
		st.text = "COMMIT"
	case protocol.Rollback:
		st.text = "ROLLBACK"
	case protocol.SQL:
		if isScripted(req) {
			st.script, why = newScripted(req)
			return st, why
		}
		switch word := sqltext.FirstWord(req.Text); {
		case word == "" && !req.Notices: // scripts may send a comment
			return st, "the statement is empty"
		case word == "COPY":
			return st, "COPY can't be an operation; use INSERT, or load tables by schema up"
		case strings.ContainsRune(req.Text, 0):
			return st, "the statement holds a zero byte"
		case !req.Simple:
			return st, ""
		default:
			return st, st.asText()
		}
	default:
		return st, fmt.Sprintf("protocol pg has no %s; write it as SQL", req.Verb.Name())
	}
	if st.text != "" {
		st.query = queryMessage(st.text)
	}
	return st, why
}

// asText makes the statement be sent as text, with its arguments as literals. why, if not "", says why that
// isn't possible.
func (st *statement) asText() (why string) {
	if len(st.req.Params) > 0 {
		st.literal, why = newLiteral(st.req.Text, len(st.req.Params))
		return why
	}
	st.text = st.req.Text
	st.query = queryMessage(st.text)
	return ""
}

func queryMessage(text string) []byte {
	message, _ := (&pgproto3.Query{String: text}).Encode(nil) // it fails only for texts longer than any plan's
	return message
}

// beginText returns the statement that begins a transaction with an isolation level or other modes.
func beginText(modes string) (text, why string) {
	mode := strings.ToUpper(strings.Join(strings.Fields(strings.NewReplacer("-", " ", "_", " ").Replace(modes)), " "))
	for _, r := range mode {
		if (r < 'A' || r > 'Z') && r != ' ' && r != ',' {
			return "", fmt.Sprintf("%q isn't an isolation level", modes)
		}
	}
	switch mode {
	case "":
		return "BEGIN", ""
	case "READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE":
		return "BEGIN ISOLATION LEVEL " + mode, ""
	}
	if strings.HasPrefix(mode, "ISOLATION LEVEL ") || strings.HasPrefix(mode, "READ ") {
		return "BEGIN " + mode, ""
	}
	return "", fmt.Sprintf("%q isn't an isolation level; write read committed, repeatable read or serializable", modes)
}

// preparable reports whether the statement is one to prepare.
func (st *statement) preparable() bool {
	return st.req.Verb == protocol.SQL && !st.req.Simple && st.script == nil
}

// described stores the server's description of a prepared statement, and builds its message templates.
func (st *statement) described(description *pgconn.StatementDescription) *protocol.Error {
	description.Name, description.SQL = st.name(), st.req.Text
	if n := len(description.ParamOIDs); n != len(st.req.Params) {
		return protocol.Refused(st.req, "the statement has %d parameters, the plan gives %d", n, len(st.req.Params))
	}
	st.prepared, st.fields = description, description.Fields
	st.params = make([]form, len(description.ParamOIDs))
	for i, oid := range description.ParamOIDs {
		st.params[i] = forms[oid]
	}
	if refused := st.findCaptures(description.Fields); refused != nil {
		return refused
	}
	st.template(st.name())
	return nil
}

func (st *statement) name() string { return st.named }

// appendRenewal appends the messages that prepare a stale statement with the known parameter types. Its result
// columns become known only with the answer, so all are requested as text.
func (st *statement) appendRenewal(dst []byte) ([]byte, *protocol.Error) {
	messages := []pgproto3.FrontendMessage{
		&pgproto3.Close{ObjectType: 'S', Name: st.name()},
		&pgproto3.Parse{Name: st.name(), Query: st.req.Text, ParameterOIDs: st.prepared.ParamOIDs},
		&pgproto3.Describe{ObjectType: 'S', Name: st.name()},
	}
	if st.each {
		messages = messages[1:] // Parse replaces the unnamed statement
	}
	for _, m := range messages {
		var err error
		if dst, err = m.Encode(dst); err != nil {
			return dst, protocol.Refused(st.req, "%v", err)
		}
	}
	st.stale, st.renewing = st.each, true
	st.asTexts()
	return dst, nil
}

// asTexts makes the statement request all columns as text.
func (st *statement) asTexts() {
	if st.resultFormats != nil {
		st.resultFormats = nil
		st.template(st.name())
	}
}

// findCaptures finds the captured columns in the result and chooses their formats.
func (st *statement) findCaptures(fields []pgconn.FieldDescription) (refused *protocol.Error) {
	if len(st.req.Capture) == 0 {
		return nil
	}
	if st.captures, refused = textCaptures(st.req, fields); refused != nil {
		return refused
	}
	st.resultFormats = make([]int16, len(fields))
	for k := range st.captures {
		c := &st.captures[k]
		c.format = c.form.resultFormat()
		st.resultFormats[c.column] = c.format
	}
	return nil
}

// textCaptures finds the captured columns in a result that is requested as text.
func textCaptures(req *protocol.Request, fields []pgconn.FieldDescription) ([]captured, *protocol.Error) {
	captures := make([]captured, len(req.Capture))
	for k := range req.Capture {
		column := findColumn(&req.Capture[k], fields)
		if column < 0 {
			return nil, protocol.Refused(req, "%s", missingColumn(&req.Capture[k], fields))
		}
		captures[k] = captured{column: column, form: forms[fields[column].DataTypeOID], format: textFormat,
			kind: req.Capture[k].Kind}
	}
	return captures, nil
}

// findColumn returns the number of the column that a capture refers to, or −1.
func findColumn(c *protocol.Capture, fields []pgconn.FieldDescription) int {
	if c.Name == "" {
		if c.Column < 0 || c.Column >= len(fields) {
			return -1
		}
		return c.Column
	}
	return slices.IndexFunc(fields, func(f pgconn.FieldDescription) bool { return f.Name == c.Name })
}

func missingColumn(c *protocol.Capture, fields []pgconn.FieldDescription) string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	what := strconv.Quote(c.Name)
	if c.Name == "" {
		what = "number " + strconv.Itoa(c.Column)
	}
	return fmt.Sprintf("captured column %s isn't in the result, which has: %s", what, strings.Join(names, ", "))
}

// template builds the constant parts of the messages Bind, Execute and Sync.
func (st *statement) template(name string) {
	b := append([]byte{'B', 0, 0, 0, 0, 0}, name...) // the length is set later; portal ""
	b = append(b, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(st.params)))
	st.formatsAt = len(b)
	b = append(b, make([]byte, 2*len(st.params))...)
	st.bind = binary.BigEndian.AppendUint16(b, uint16(len(st.params)))

	t := binary.BigEndian.AppendUint16(nil, uint16(len(st.resultFormats)))
	for _, f := range st.resultFormats {
		t = binary.BigEndian.AppendUint16(t, uint16(f))
	}
	t = append(t, 'E', 0, 0, 0, 9, 0, 0, 0, 0, 0) // portal "", no limit of rows
	st.tail = append(t, 'S', 0, 0, 0, 4)
}

// afterBind is the number of bytes in tail that belong to Execute and Sync.
const afterBind = 10 + 5
