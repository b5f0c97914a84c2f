package wrk

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/lazyregexp"
)

// units are a scale of units: how many of one make the next.
type units struct {
	scale float64
	base  string
	names []string
}

var (
	timeUnitsUs = units{1000, "us", []string{"ms", "s"}}
	timeUnitsS  = units{60, "s", []string{"m", "h"}}
	binaryUnits = units{1024, "", []string{"K", "M", "G", "T", "P"}}
	metricUnits = units{1000, "", []string{"k", "M", "G", "T", "P"}}
)

// format prints a number as wrk does: in the next unit from 0.85 of it on. The last unit but one is the greatest that
// is used.
func (u *units) format(n float64, digits int) string {
	unit := u.base
	for i := 0; i+1 < len(u.names) && n >= u.scale*0.85; i++ {
		n /= u.scale
		unit = u.names[i]
	}
	return strconv.FormatFloat(n, 'f', digits, 64) + unit
}

// formatUs prints microseconds.
func formatUs(us float64) string {
	if us >= 1e6 {
		return timeUnitsS.format(us/1e6, 2)
	}
	return timeUnitsUs.format(us, 2)
}

func formatMetric(n float64) string { return metricUnits.format(n, 2) }
func formatBinary(n float64) string { return binaryUnits.format(n, 2) }

var number = lazyregexp.New(`^\s*\+?([0-9]+)\s*(\S{0,2})`)

// scan reads a number with a unit.
func (u *units) scan(text string) (uint64, error) {
	m := number().FindStringSubmatch(text)
	if m == nil {
		return 0, errors.New("not a number")
	}
	n, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		return 0, err
	}
	scale := uint64(1)
	if m[2] == "" || strings.EqualFold(m[2], u.base) {
		return n, nil
	}
	for _, name := range u.names {
		scale *= uint64(u.scale)
		if strings.EqualFold(m[2], name) {
			if n > (1<<62)/scale {
				return 0, errors.New("too large")
			}
			return n * scale, nil
		}
	}
	return 0, fmt.Errorf("unit %s", m[2])
}

// scanTime reads seconds with a unit.
func scanTime(text string) (time.Duration, error) {
	s, err := timeUnitsS.scan(text)
	if err == nil && s > 1<<32 {
		err = errors.New("too long")
	}
	return time.Duration(s) * time.Second, err
}
