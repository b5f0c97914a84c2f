package mysql

import (
	sqldriver "database/sql/driver"

	"brunt/internal/gen"
)

// argument is a value as the library takes it. Decimals and UUIDs go as text.
func argument(v *gen.Value) sqldriver.Value {
	switch v.Kind {
	case gen.Bool:
		return v.I
	case gen.UUID:
		return string(gen.AppendUUID(nil, v.B))
	}
	return v.Any()
}
