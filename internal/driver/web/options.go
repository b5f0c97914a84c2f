package web

import (
	"fmt"
	"strconv"
	"strings"

	"brunt/internal/driver"
)

// options are a target's options, understood.
type options struct {
	good     [600]bool // by status
	proxy    bool
	compress bool
	noReuse  bool
	http1    bool // no HTTP/2
	follow   int  // redirects of one request
	lazy     bool // sessions connect when a request needs it
}

const defaultGood = "200-399"

func parseOptions(given map[string]string) (*options, *driver.Error) {
	o := &options{}
	good := defaultGood
	for name, value := range given {
		var err error
		switch name {
		case "good":
			good = value
		case "proxy":
			o.proxy, err = choice(name, value, "env", "off")
		case "compress":
			o.compress, err = choice(name, value, "on", "off")
		case "noreuse":
			o.noReuse, err = choice(name, value, "on", "off")
		case "http2":
			o.http1, err = choice(name, value, "off", "on")
		case "redirects":
			o.follow, err = parseRedirects(value)
		case "lazy":
			o.lazy, err = choice(name, value, "on", "off")
		case "plain": // see Driver.scheme
		default:
			err = fmt.Errorf("unknown option %q of http; there are good, proxy, compress, noreuse, http2, redirects, lazy and plain", name)
		}
		if err != nil {
			return nil, driver.Bad("%s", err.Error())
		}
	}
	if err := o.parseGood(good); err != nil {
		return nil, driver.Bad("%s", err.Error())
	}
	return o, nil
}

func choice(name, value, yes, no string) (bool, error) {
	switch value {
	case yes:
		return true, nil
	case no, "":
		return false, nil
	}
	return false, fmt.Errorf("option %s: %q is neither %q nor %q", name, value, yes, no)
}

// mostRedirects bounds what one request may follow.
const mostRedirects = 20

func parseRedirects(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > mostRedirects {
		return 0, fmt.Errorf("option redirects: %q isn't a number from 0 to %d", value, mostRedirects)
	}
	return n, nil
}

// parseGood reads "200-299,304".
func (o *options) parseGood(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		lo, errLo := strconv.Atoi(first)
		hi, errHi := strconv.Atoi(last)
		if errLo != nil || errHi != nil || lo < 200 || hi >= len(o.good) || lo > hi {
			return fmt.Errorf("option good: %q isn't a status or a range of statuses from 200 to 599, as in \"200-299,304\"", part)
		}
		for s := lo; s <= hi; s++ {
			o.good[s] = true
		}
	}
	return nil
}

// isGood reports whether a status is no failure.
func (o *options) isGood(status int) bool {
	return status >= 0 && status < len(o.good) && o.good[status]
}
