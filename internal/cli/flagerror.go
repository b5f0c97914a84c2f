package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// plainFlagError says of a flag's value that can't be read what to give instead, in place of what
// the parser of its type said.
func plainFlagError(err error) error {
	var v *pflag.InvalidValueError
	if !errors.As(err, &v) {
		return err
	}
	var what string
	switch v.GetFlag().Value.Type() {
	case "int", "uint64":
		what = "give a whole number"
	case "float64":
		what = "give a number, such as 1000 or 0.5"
	case "rate":
		what = "give operations a second, such as 1000 or 0.5, or N/unit, such as 600/m"
	case "duration":
		what = "give a time with its unit, such as 30s or 1m30s"
	default:
		return err
	}
	return fmt.Errorf("invalid argument %q for \"--%s\": %s", v.GetValue(), v.GetFlag().Name, what)
}
