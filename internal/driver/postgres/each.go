package postgres

import (
	"brunt/internal/driver"
	"brunt/internal/gen"

	"github.com/jackc/pgx/v5/pgconn"
)

// wholeRows gives an answer's rows to Reply.Each, all columns by their types.
type wholeRows struct {
	names  []string
	fields []pgconn.FieldDescription
	values []gen.Value
}

func newWholeRows(fields []pgconn.FieldDescription) *wholeRows {
	w := &wholeRows{fields: fields, names: make([]string, len(fields)), values: make([]gen.Value, len(fields))}
	for i := range fields {
		w.names[i] = fields[i].Name
	}
	return w
}

func (w *wholeRows) give(row [][]byte, reply *driver.Reply) {
	for i := range w.values {
		if w.values[i].SetNull(); i < len(row) && row[i] != nil {
			failOnce(reply, decode(&w.values[i], w.fields[i].DataTypeOID, w.fields[i].Format, row[i], gen.Null))
		}
	}
	reply.Each(w.names, w.values)
}
