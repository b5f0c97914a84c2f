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

// mostRedirects bounds what one request may follow.
const mostRedirects = 20

func parseOptions(t driver.Target) (*options, *driver.Error) {
	read := driver.OptionsOf("http", t)
	o := &options{
		proxy: read.Choice("proxy", "off", "env") == "env", compress: read.Bool("compress", false), noReuse: read.Bool("noreuse", false),
		http1: !read.Bool("http2", true), follow: int(read.Int("redirects", 0, 0, mostRedirects)), lazy: read.Bool("lazy", false),
	}
	good := read.Text("good", defaultGood)
	read.Text("plain", "") // see Driver.scheme
	if refused := read.Done(); refused != nil {
		return nil, refused
	}
	if err := o.parseGood(good); err != nil {
		return nil, driver.Bad("%v", err)
	}
	return o, nil
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
