package gen

import "fmt"

// FieldError is a fault of a Spec. Field is the field's name as users write it in plans:
// "type", "distribution", "distribution_param", "hot_fraction", "histogram", "range", "scale",
// "alphabet", "null_percentage", "unique", "value", "table" or "column".
type FieldError struct {
	Field string
	Text  string // one line: what is wrong and what to do
}

// Error returns field and text on one line.
func (e *FieldError) Error() string { return e.Field + ": " + e.Text }

func fault(field, format string, args ...any) *FieldError {
	return &FieldError{Field: field, Text: fmt.Sprintf(format, args...)}
}
