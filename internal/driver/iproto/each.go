package iproto

import (
	"slices"
	"strconv"

	"brunt/internal/gen"

	iproto "github.com/tarantool/go-iproto"
)

// each calls f with every row of a whole body that answer has read. Columns that have no name are called
// by their numbers, from 1 on. What functions and programs return isn't told.
func (s *statement) each(body []byte, f func(columns []string, row []gen.Value)) {
	if s.shape != tuples {
		return
	}
	var names []string
	key := 0
	if s.space != nil {
		names = s.space.fields
		if len(s.space.keys) > 0 {
			key = s.space.keys[0]
		}
	}
	r := reader{b: body}
	for n := r.mapping(); n > 0 && r.trouble == fine; n-- {
		switch r.uint() {
		case uint64(iproto.IPROTO_METADATA):
			names = columnNames(&r)
		case uint64(iproto.IPROTO_DATA):
			for rows := r.array(); rows > 0 && r.trouble == fine; rows-- {
				row := make([]gen.Value, min(r.array(), uint64(len(body))))
				for i := range row {
					r.value(&row[i])
				}
				if r.trouble == fine {
					f(keyFirst(key, names, row))
				}
			}
		default:
			r.skip()
		}
	}
}

// columnNames reads an answer's metadata.
func columnNames(r *reader) (names []string) {
	for n := r.array(); n > 0 && r.trouble == fine; n-- {
		name := ""
		for k := r.mapping(); k > 0 && r.trouble == fine; k-- {
			if r.uint() == uint64(iproto.IPROTO_FIELD_NAME) {
				name = string(r.text())
			} else {
				r.skip()
			}
		}
		names = append(names, name)
	}
	return names
}

// keyFirst names a row's values and moves the key to the front.
func keyFirst(key int, names []string, row []gen.Value) ([]string, []gen.Value) {
	columns := make([]string, len(row))
	for i := range columns {
		if columns[i] = strconv.Itoa(i + 1); i < len(names) {
			columns[i] = names[i]
		}
	}
	if key == 0 || key >= len(row) {
		return columns, row
	}
	name, value := columns[key], row[key]
	return slices.Insert(slices.Delete(columns, key, key+1), 0, name), slices.Insert(slices.Delete(row, key, key+1), 0, value)
}
