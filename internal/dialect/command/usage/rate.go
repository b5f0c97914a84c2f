package usage

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Rate is the value of a rate flag, operations per second. It accepts a number, or a number per unit of time as other
// tools do (600/m, 50/1s, 1/100ms).
type Rate float64

// String implements pflag.Value.
func (r *Rate) String() string {
	if *r == 0 {
		return "" // no default to show
	}
	return strconv.FormatFloat(float64(*r), 'g', -1, 64)
}

// Type implements pflag.Value.
func (r *Rate) Type() string { return "rate" }

// Set implements pflag.Value.
func (r *Rate) Set(text string) error {
	number, unit, per := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return err
	}
	length := time.Second
	if per {
		if !strings.ContainsAny(unit[:min(1, len(unit))], "0123456789.") {
			unit = "1" + unit
		}
		if length, err = time.ParseDuration(unit); err != nil {
			return err
		}
		if length <= 0 {
			return errors.New("no time")
		}
	}
	*r = Rate(n / length.Seconds())
	return nil
}
