package postgres

import (
	"encoding/binary"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"

	"github.com/jackc/pgx/v5/pgconn"
)

var _ protocol.RowReader = (*codec)(nil)

// Rows calls each for every row of an answer, with all columns decoded by their types.
func (c *codec) Rows(answer []byte, req *protocol.Request,
	each func(columns []string, row []gen.Value)) *protocol.Error {
	st := c.of(req)
	r := newRow(st.fields, st.resultFormats)
	for len(answer) >= headerBytes {
		end := 1 + int(binary.BigEndian.Uint32(answer[1:]))
		if end < headerBytes || end > len(answer) {
			return malformedRow()
		}
		kind, content := answer[0], answer[headerBytes:end]
		answer = answer[end:]
		switch kind {
		case 'T': // the statement was sent as text or prepared again
			fields, ok := parseFields(content)
			if !ok {
				return malformedRow()
			}
			r = newRow(fields, nil)
		case 'D':
			if err := r.decode(content); err != nil {
				return err
			}
			each(r.names, r.values)
		}
	}
	return nil
}

func malformedRow() *protocol.Error {
	return &protocol.Error{Class: protocol.Protocol, Fatal: true, Text: "the server sent rows that make no sense"}
}

// row holds the columns of a result and the values of its current row.
type row struct {
	names   []string
	types   []uint32
	formats []int16 // nil: all columns are text
	values  []gen.Value
}

func newRow(fields []pgconn.FieldDescription, formats []int16) *row {
	r := &row{formats: formats, values: make([]gen.Value, len(fields))}
	for i := range fields {
		r.names, r.types = append(r.names, fields[i].Name), append(r.types, fields[i].DataTypeOID)
	}
	return r
}

// decode reads a DataRow into values.
func (r *row) decode(content []byte) *protocol.Error {
	if len(content) < 2 || int(binary.BigEndian.Uint16(content)) != len(r.values) {
		return malformedRow()
	}
	content = content[2:]
	for i := range r.values {
		if len(content) < 4 {
			return malformedRow()
		}
		length := int(int32(binary.BigEndian.Uint32(content)))
		content = content[4:]
		r.values[i].SetNull()
		if length == -1 {
			continue
		}
		if length < 0 || length > len(content) {
			return malformedRow()
		}
		if err := r.column(i, content[:length]); err != nil {
			return err
		}
		content = content[length:]
	}
	if len(content) > 0 {
		return malformedRow()
	}
	return nil
}

// column sets the value of a non-null column.
func (r *row) column(i int, content []byte) *protocol.Error {
	v := &r.values[i]
	format := textFormat
	if r.formats != nil {
		format = r.formats[i]
	}
	if element, ok := arrays[r.types[i]]; ok && format == textFormat {
		if text, ok := arrayToJSON(v.B[:0], element, content); ok {
			v.Kind, v.B = gen.JSON, text
			return nil
		}
	}
	return decode(v, forms[r.types[i]], format, content, gen.Null)
}
