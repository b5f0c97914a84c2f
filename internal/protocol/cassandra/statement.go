package cassandra

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"gopkg.in/inf.v0"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
)

// statement is a request that is written in CQL: one statement (protocol.Command), whose words are joined by spaces, or
// a batch of one statement with many rows of parameters (protocol.Batch), whose text begins with logged, unlogged or
// counter. A batch has as many rows as
// its arguments make; one of a single row is sent as a statement.
type statement struct {
	cql    string
	order  []int // which parameter each marker of cql is
	params int   // of a row
	batch  bool
	kind   gocql.BatchType
}

// batchKinds are the words that batches of CQL begin with.
var batchKinds = map[string]gocql.BatchType{"logged": gocql.LoggedBatch, "unlogged": gocql.UnloggedBatch,
	"counter": gocql.CounterBatch}

// inCQL reports whether a request is written in CQL.
func inCQL(req *protocol.Request) bool {
	if req.Verb == protocol.Batch {
		word, _, _ := strings.Cut(req.Text, " ")
		_, ok := batchKinds[word]
		return ok
	}
	return req.Verb == protocol.Command
}

// parseStatement translates a request in CQL: its parameters $1 … become markers.
func parseStatement(req *protocol.Request) (*statement, *protocol.Error) {
	s, text := &statement{params: len(req.Params)}, strings.Join(req.Words, " ")
	if req.Verb == protocol.Batch {
		word, rest, _ := strings.Cut(req.Text, " ")
		s.batch, s.kind, text = true, batchKinds[word], rest
	}
	var b strings.Builder
	for _, t := range sqltext.Split(text) {
		n, ok := t.Parameter()
		if !ok {
			b.WriteString(t.Text)
			continue
		}
		if n < 1 || n > s.params {
			return nil, protocol.Bad("$%d names no parameter: there are %d", n, s.params)
		}
		s.order = append(s.order, n-1)
		b.WriteByte('?')
	}
	s.cql = b.String()
	if strings.TrimSpace(s.cql) == "" {
		return nil, protocol.Bad("no statement")
	}
	return s, nil
}

// check returns an error unless the arguments make whole rows.
func (s *statement) check(args []gen.Value) *protocol.Error {
	if !s.batch || s.params == 0 || len(args) == 0 || len(args)%s.params != 0 {
		return protocol.Arguments(args, s.params)
	}
	return nil
}

// bind returns the function that converts a row's arguments to the types of the statement's markers.
func (s *statement) bind(args []gen.Value) func(*gocql.QueryInfo) ([]any, error) {
	return func(q *gocql.QueryInfo) ([]any, error) {
		if len(q.Args) != len(s.order) {
			return nil, fmt.Errorf("marshal: the server sees %d parameters, not %d", len(q.Args), len(s.order))
		}
		out := make([]any, len(s.order))
		for i, param := range s.order {
			out[i] = argument(&args[param], q.Args[i].TypeInfo.Type())
		}
		return out, nil
	}
}

// asText begins statements that the library must not prepare: it looks at their first word.
const asText = "/**/"

// written returns a statement with the values of a row in place of its markers.
func (s *statement) written(args []gen.Value) string {
	var b strings.Builder
	n := 0
	for _, t := range sqltext.Split(s.cql) {
		if t.Text != "?" {
			b.WriteString(t.Text)
			continue
		}
		b.WriteString(literal(&args[s.order[n]]))
		n++
	}
	return b.String()
}

// literal writes a value in CQL.
func literal(v *gen.Value) string {
	switch v.Kind {
	case gen.Null:
		return "null"
	case gen.Bytes:
		return fmt.Sprintf("0x%x", v.B)
	case gen.Bool, gen.Int, gen.Uint, gen.Float, gen.Decimal, gen.Number, gen.UUID:
		return string(v.AppendText(nil))
	}
	return "'" + strings.ReplaceAll(string(v.AppendText(nil)), "'", "''") + "'"
}

// argument converts a value to what the library marshals to a type.
func argument(v *gen.Value, to gocql.Type) any {
	switch {
	case v.Kind == gen.Null:
		return nil
	case v.Kind == gen.Float && to == gocql.TypeFloat && (math.Abs(v.F) <= math.MaxFloat32 || math.IsInf(v.F, 0) ||
		math.IsNaN(v.F)):
		return float32(v.F)
	case v.Kind == gen.Float:
		return v.F
	case v.Kind == gen.Bool:
		return v.I != 0
	case v.Kind == gen.Decimal:
		return inf.NewDec(v.I, inf.Scale(v.Scale))
	case v.Kind == gen.UUID:
		var u gocql.UUID
		copy(u[:], v.B)
		return u
	case v.Kind == gen.Datetime:
		return time.UnixMicro(v.I).UTC()
	case v.Kind == gen.Uint && v.I < 0:
		return uint64(v.I)
	case v.Kind == gen.Int || v.Kind == gen.Uint:
		return number(v.I, to)
	case v.Kind == gen.Packed:
		return packed(v.B)
	case v.Kind == gen.Bytes && to == gocql.TypeInet && (len(v.B) == 4 || len(v.B) == 16):
		return net.IP(v.B)
	case v.Kind == gen.String || v.Kind == gen.Number:
		return parsed(string(v.B), to)
	}
	return template.AppendValue(nil, v)
}

// parsed converts a text in the form in which columns of a type are read. What can't be converted stays a text, which
// the library refuses.
func parsed(text string, to gocql.Type) any {
	switch to {
	case gocql.TypeTime:
		if at, err := time.Parse(timeFormat, text); err == nil {
			return at.Sub(at.Truncate(24 * time.Hour))
		}
	case gocql.TypeDate, gocql.TypeInet:
		return text
	case gocql.TypeVarint:
		if i, ok := new(big.Int).SetString(text, 10); ok {
			return i
		}
	case gocql.TypeDecimal:
		if d, ok := decimalOf(text); ok {
			return d
		}
	case gocql.TypeDuration:
		var d gocql.Duration
		if n, err := fmt.Sscanf(text, durationFormat, &d.Months, &d.Days, &d.Nanoseconds); n == 3 && err == nil {
			return d
		}
	}
	return []byte(text)
}

// decimalOf converts the text of a decimal number with an exponent or without one.
func decimalOf(text string) (*inf.Dec, bool) {
	digits, exponent, _ := strings.Cut(text, "e")
	e, err := strconv.ParseInt(cmp.Or(exponent, "0"), 10, 32)
	d, ok := new(inf.Dec).SetString(digits)
	if !ok || err != nil {
		return nil, false
	}
	return d.SetScale(d.Scale() - inf.Scale(e)), true
}

// number converts an integer.
func number(i int64, to gocql.Type) any {
	switch to {
	case gocql.TypeFloat:
		return float32(i)
	case gocql.TypeDouble:
		return float64(i)
	case gocql.TypeTime:
		return time.Duration(i)
	case gocql.TypeDate:
		return time.Unix(0, 0).UTC().AddDate(0, 0, int(min(max(i, math.MinInt16), math.MaxInt16)))
	case gocql.TypeText, gocql.TypeVarchar, gocql.TypeAscii, gocql.TypeBlob:
		return fmt.Append(nil, i)
	case gocql.TypeDecimal:
		return inf.NewDec(i, 0)
	}
	return i
}

// execute executes a statement or a batch.
func (c *conn) execute(ctx context.Context, s *statement, req *protocol.Request, args []gen.Value,
	reply *protocol.Reply) error {
	if s.batch && len(args) > s.params {
		b := c.session.Batch(s.kind)
		for ; len(args) > 0; args = args[s.params:] {
			if c.text {
				b.Query(s.written(args[:s.params]))
			} else {
				b.Bind(s.cql, s.bind(args[:s.params]))
			}
			reply.Affected++
		}
		return b.ExecContext(ctx)
	}
	query := c.session.Bind(s.cql, s.bind(args))
	if c.text {
		query = c.session.Query(asText + s.written(args))
	}
	if req.Page > 0 {
		return readPage(query.PageSize(req.Page).PageState(args[len(args)-1].B).IterContext(ctx), reply)
	}
	it := query.PageSize(0).IterContext(ctx)
	rows, columns := int64(it.NumRows()), it.Columns()
	for first := true; len(columns) > 0 && (first && len(req.Capture) > 0 || reply.Each != nil); first = false {
		row, scan := columnsOf(columns)
		if !it.Scan(scan...) {
			break
		}
		if err := take(req, row, first, reply); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	reply.Rows = rows
	if req.Kind() != protocol.KindRead {
		reply.Affected = 1
	}
	return it.Close()
}

// readPage reads a page of an answer.
func readPage(it *gocql.Iter, reply *protocol.Reply) error {
	page, columns := &protocol.Page{}, it.Columns()
	reply.Rows = int64(it.NumRows())
	for first := true; len(columns) > 0; first = false {
		row, scan := columnsOf(columns)
		if !it.Scan(scan...) {
			break
		}
		var v gen.Value
		if err := row[0].value(&v); err != nil {
			return errors.Join(fmt.Errorf("column %s: %w", row[0].name, err), it.Close())
		}
		if first {
			page.First = v.Clone()
		}
		if first || !bytes.Equal(v.AppendText(nil), page.Last.AppendText(nil)) {
			page.Groups++
			page.Last = v.Clone()
		}
	}
	page.Next = bytes.Clone(it.PageState())
	if len(page.Next) == 0 {
		page.Next = nil
	}
	reply.Page = page
	return it.Close()
}

// take keeps the captured columns of the first row, and passes rows on.
func take(req *protocol.Request, row []column, first bool, reply *protocol.Reply) error {
	for i, k := range req.Capture {
		for n := range row {
			if c := &row[n]; first && (k.Name == c.name || k.Name == "" && k.Column == n) {
				if err := c.value(&reply.Captured[i]); err != nil {
					return fmt.Errorf("column %s: %w", c.name, err)
				}
			}
		}
	}
	if reply.Each == nil {
		return nil
	}
	names, values := make([]string, len(row)), make([]gen.Value, len(row))
	for n := range row {
		names[n] = row[n].name
		if err := row[n].shown(&values[n]); err != nil {
			return fmt.Errorf("column %s: %w", row[n].name, err)
		}
	}
	reply.Each(names, values)
	return nil
}
