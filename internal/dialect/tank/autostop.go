package tank

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/lazyregexp"
)

// webCodes is the criterion about the statuses of a second.
const webCodes = "http"

// The exit codes of a test that a criterion has ended, by the criterion's kind.
var autostopCodes = map[string]int{"time": 21, "quantile": 21, "limit": 21, webCodes: 22, "net": 23, "instances": 24,
	"total_time": 25, "total_http": 26, "total_net": 27, "negative_http": 28, "negative_net": 29, "http_trend": 30}

// figures are what is known of the requests of a second that were answered in it.
type figures struct {
	realUs []int64     // times of the requests, in µs
	proto  map[int]int // requests by status
	net    map[int]int // requests by error number; 0 if there was none
}

func newFigures() *figures { return &figures{proto: map[int]int{}, net: map[int]int{}} }

func (f *figures) add(us int64, proto, net int) {
	f.realUs = append(f.realUs, us)
	f.proto[proto]++
	f.net[net]++
}

// second is a second of the test, by when answers came.
type second struct {
	ts        int64 // seconds since 1970
	all       *figures
	tagged    map[string]*figures
	instances float64 // busy on average
	elapsedS  float64 // since the start
}

func newSecond(ts int64) *second {
	return &second{ts: ts, all: newFigures(), tagged: map[string]*figures{}}
}

// add adds a request.
func (s *second) add(tag string, us int64, proto, net int) {
	tag, _ = cutTag(tag)
	s.all.add(us, proto, net)
	if s.tagged[tag] == nil {
		s.tagged[tag] = newFigures()
	}
	s.tagged[tag].add(us, proto, net)
}

// cutTag returns a tag without the number at its end.
func cutTag(tag string) (name, number string) {
	if at := strings.LastIndexByte(tag, '#'); at >= 0 {
		return tag[:at], tag[at+1:]
	}
	return tag, ""
}

// of returns the figures of a tag, or of all requests; nil if the tag has none.
func (s *second) of(tag string) *figures {
	if tag == "" {
		return s.all
	}
	return s.tagged[tag]
}

// criterion ends a test.
type criterion interface {
	// notify takes a second, and reports whether the test ends.
	notify(s *second) bool
	// explain says why, in Tank's words.
	explain() string
	// kind is the criterion's name.
	kind() string
	// source is the criterion as it is configured.
	source() string
}

// base is what criteria share.
type base struct {
	name, text, tag string
}

func (b *base) kind() string { return b.name }

// forTag is the end of an explanation.
func (b *base) forTag() string {
	if b.tag == "" {
		return ""
	}
	return " for tag " + b.tag
}

var timeForm = lazyregexp.New(`(\d+)([a-zA-Z]*)`)

// expandTime parses a time such as 1m30s, in seconds; numbers without a unit have the usual one.
func expandTime(text, usual string) (s float64, err error) {
	all := timeForm().FindAllStringSubmatch(text, -1)
	if all == nil {
		return 0, fmt.Errorf("%q is no time", strings.TrimSpace(text))
	}
	units := map[string]float64{"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
	for _, m := range all {
		unit := strings.ToLower(m[2])
		if unit == "" {
			unit = usual
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if units[unit] == 0 || err != nil || n > mostMs {
			return 0, fmt.Errorf("%q is no time; use ms, s, m, h, d or w", strings.TrimSpace(text))
		}
		s += n * units[unit]
	}
	return s, nil
}

func expandMs(text string) (int, error) {
	s, err := expandTime(text, "ms")
	return int(s * 1000), err
}

func expandS(text string) (int, error) {
	s, err := expandTime(text, "s")
	return int(s), err
}

// level is a number of requests, or a share of them.
type level struct {
	value    float64 // a share in %
	relative bool
}

func parseLevel(text string) (l level, err error) {
	text, l.relative = strings.CutSuffix(strings.TrimSpace(text), "%")
	if l.value, err = strconv.ParseFloat(text, 64); err == nil && !l.relative && l.value != math.Trunc(l.value) {
		err = strconv.ErrSyntax
	}
	if err != nil || l.value < 0 {
		return l, fmt.Errorf("%q is no level; write a number or a share such as 10%%", strings.TrimSpace(text))
	}
	return l, nil
}

// share returns the level as Tank prints it.
func (l level) text() string {
	if !l.relative {
		return strconv.Itoa(int(l.value))
	}
	s := strconv.FormatFloat(l.value, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s + "%"
}

// codes are those that a mask such as 5xx names.
type codes struct {
	mask string
	form *regexp.Regexp
	net  bool
}

func parseCodes(text string, net bool) (c codes, err error) {
	c.mask, c.net = strings.ToLower(strings.TrimSpace(text)), net
	c.form, err = regexp.Compile("^(?:" + strings.ReplaceAll(c.mask, "x", ".") + ")$")
	if err != nil || c.mask == "" {
		return c, fmt.Errorf("%q is no mask of codes; write for example 5xx or 110", text)
	}
	return c, nil
}

// count returns how many requests have such a code. Requests without a network error don't count as such, unless zero
// is set.
func (c *codes) count(f *figures, zero bool) (n int) {
	if f == nil {
		return 0
	}
	of := f.proto
	if c.net {
		of = f.net
	}
	for code, k := range of {
		if c.has(code) && (!c.net || code != 0 || zero) {
			n += k
		}
	}
	return n
}

// has reports whether the mask names a code.
func (c *codes) has(code int) bool { return c.form.MatchString(strconv.Itoa(code)) }

// steady counts seconds in a row.
type steady struct {
	count, limit int
}

func (s *steady) add(over bool) bool {
	if !over {
		s.count = 0
		return false
	}
	s.count++
	return s.count >= s.limit
}

// parseCriterion parses a criterion such as http(5xx, 10%, 5s). most is the number of instances.
func parseCriterion(text string, most int) (criterion, error) {
	name, rest, ok := strings.Cut(text, "(")
	name = strings.ToLower(strings.TrimSpace(name))
	rest, _, closed := strings.Cut(rest, ")")
	if !ok || !closed {
		return nil, fmt.Errorf("%q is no criterion; write for example time(1s, 10s)", text)
	}
	args := strings.Split(rest, ",")
	take, known := parsers[name]
	if !known {
		return nil, fmt.Errorf("criterion %q isn't available; use %s", name, strings.Join(sortedKeys(parsers), ", "))
	}
	if len(args) < take.args || len(args) > take.args+1 || len(args) > take.args && !take.tagged {
		return nil, fmt.Errorf("%s: write %s", text, take.form)
	}
	b := base{name: name, text: text}
	if len(args) > take.args {
		b.tag = strings.TrimSpace(args[take.args])
	}
	c, err := take.parse(b, args, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return c, nil
}

// parser parses a kind of criterion.
type parser struct {
	args   int // without a tag
	tagged bool
	form   string
	parse  func(b base, args []string, most int) (criterion, error)
}

var parsers = map[string]parser{
	"time":          {2, true, "time(1500ms, 10s)", parseMean},
	"quantile":      {3, true, "quantile(95, 100ms, 10s)", parseQuantile},
	webCodes:        {3, true, "http(5xx, 10%, 5s)", parseHTTP},
	"net":           {3, true, "net(xx, 25, 10s)", parseHTTP},
	"limit":         {1, false, "limit(1h)", parseLimit},
	"instances":     {2, false, "instances(80%, 1m)", parseInstances},
	"total_time":    {3, true, "total_time(300ms, 70%, 3s)", parseTotalTime},
	"total_http":    {3, true, "total_http(5xx, 10%, 5s)", parseTotal},
	"total_net":     {3, true, "total_net(110, 10%, 5s)", parseTotal},
	"negative_http": {3, true, "negative_http(2xx, 10%, 10s)", parseTotal},
	"negative_net":  {3, true, "negative_net(0, 10%, 5s)", parseTotal},
	"http_trend":    {2, true, "http_trend(2xx, 10s)", parseTrend},
}

// mean is the criterion time.
type mean struct {
	base
	steady
	limitMs int
}

func parseMean(b base, args []string, _ int) (criterion, error) {
	c := &mean{base: b}
	var err error
	if c.limitMs, err = expandMs(args[0]); err != nil {
		return nil, err
	}
	c.limit, err = expandS(args[1])
	return c, err
}

func (c *mean) notify(s *second) bool {
	f := s.of(c.tag)
	total := 0.0
	n := len(s.all.realUs)
	if f != nil {
		n = len(f.realUs)
		for _, us := range f.realUs {
			total += float64(us)
		}
	}
	return c.add(total/1000/float64(max(n, 1)) > float64(c.limitMs))
}

func (c *mean) explain() string {
	return fmt.Sprintf("Average response time higher than %dms for %ds%s", c.limitMs, c.count, c.forTag())
}

// quantile is the criterion quantile.
type quantile struct {
	base
	steady
	q       float64
	limitMs int
}

// quantiles are those that Tank computes.
var quantiles = []float64{50, 75, 80, 85, 90, 95, 98, 99, 100}

func parseQuantile(b base, args []string, _ int) (criterion, error) {
	c := &quantile{base: b}
	var err error
	if c.q, err = strconv.ParseFloat(strings.TrimSpace(args[0]), 64); err != nil || !slices.Contains(quantiles, c.q) {
		return nil, fmt.Errorf("quantile %s isn't computed; use one of %v", strings.TrimSpace(args[0]), quantiles)
	}
	if c.limitMs, err = expandMs(args[1]); err != nil {
		return nil, err
	}
	c.limit, err = expandS(args[2])
	return c, err
}

// percentile returns a quantile in percent, with linear interpolation between values, as numpy.percentile does.
func percentile(values []int64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q / 100 * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return float64(sorted[low]) + (at-float64(low))*float64(sorted[high]-sorted[low])
}

func (c *quantile) notify(s *second) bool {
	f := s.of(c.tag)
	return c.add(f != nil && percentile(f.realUs, c.q)/1000 > float64(c.limitMs))
}

func (c *quantile) explain() string {
	q := strconv.FormatFloat(c.q, 'f', 1, 64)
	return fmt.Sprintf("Percentile %s higher than %dms for %ds%s", q, c.limitMs, c.count, c.forTag())
}

// byCode is the criteria http and net.
type byCode struct {
	base
	steady
	codes
	level
}

func parseHTTP(b base, args []string, _ int) (criterion, error) {
	c := &byCode{base: b}
	var err error
	if c.codes, err = parseCodes(args[0], b.name == "net"); err != nil {
		return nil, err
	}
	if c.level, err = parseLevel(args[1]); err != nil {
		return nil, err
	}
	c.limit, err = expandS(args[2])
	return c, err
}

func (c *byCode) notify(s *second) bool {
	f := s.of(c.tag)
	n := float64(c.codes.count(f, false))
	if c.relative {
		all := len(s.all.realUs)
		if f != nil {
			all = len(f.realUs)
		}
		return c.add(n/float64(max(all, 1)) >= c.value/100)
	}
	return c.add(n >= c.value)
}

func (c *byCode) add(over bool) bool { return c.steady.add(over) }

func (c *byCode) explain() string {
	what := "codes"
	if c.net {
		what = "net codes"
	}
	return fmt.Sprintf("%s %s count higher than %s for %ds%s", c.mask, what, c.level.text(), c.steady.count, c.forTag())
}

// limit is the criterion limit.
type limit struct {
	base
	s int
}

func parseLimit(b base, args []string, _ int) (criterion, error) {
	n, err := expandS(args[0])
	return &limit{b, n}, err
}

func (c *limit) notify(s *second) bool { return s.elapsedS > float64(c.s) }

func (c *limit) explain() string { return fmt.Sprintf("Test time elapsed. Limit: %ds", c.s) }

// instancesUsed is the criterion instances.
type instancesUsed struct {
	base
	steady
	level
	most int
}

func parseInstances(b base, args []string, most int) (criterion, error) {
	c := &instancesUsed{base: b, most: most}
	var err error
	if c.level, err = parseLevel(args[0]); err != nil {
		return nil, err
	}
	c.limit, err = expandS(args[1])
	return c, err
}

func (c *instancesUsed) notify(s *second) bool {
	used := s.instances
	if c.relative {
		used = used / float64(max(c.most, 1)) * 100
	}
	return c.add(used > c.value)
}

func (c *instancesUsed) explain() string {
	return fmt.Sprintf("Testing threads (instances) utilization higher than %s for %ds", c.level.text(), c.count)
}

// window is the last values, at most size.
type window struct {
	size   int
	values []float64
}

// push adds a value, and reports whether the window is full.
func (w *window) push(v float64) (full bool) {
	if w.values = append(w.values, v); len(w.values) > w.size {
		w.values = w.values[1:]
	}
	return len(w.values) >= w.size
}

func (w *window) sum() (sum float64) {
	for _, v := range w.values {
		sum += v
	}
	return sum
}

// totalTime is the criterion total_time.
type totalTime struct {
	base
	limitMs   int
	share     float64 // in %
	failed    window
	all       window
	lastShare float64
}

func parseTotalTime(b base, args []string, _ int) (criterion, error) {
	c := &totalTime{base: b}
	var err error
	if c.limitMs, err = expandMs(args[0]); err != nil {
		return nil, err
	}
	l, err := parseLevel(args[1])
	if err != nil || !l.relative {
		return nil, fmt.Errorf("%q is no share; write for example 70%%", strings.TrimSpace(args[1]))
	}
	c.share = l.value
	size, err := expandS(args[2])
	c.failed.size, c.all.size = size, size
	return c, err
}

// bins are the upper edges of Tank's histogram, in µs.
func upperEdge(us int64) int64 {
	for _, b := range []struct{ to, width int64 }{
		{5_000, 10}, {10_000, 100}, {500_000, 1_000}, {3_000_000, 5_000}, {10_000_000, 10_000}, {30_000_000, 50_000},
		{120_000_000, 100_000}, {300_000_000, 1_000_000},
	} {
		if us < b.to {
			return (us/b.width + 1) * b.width
		}
	}
	return 300_000_000
}

// slow counts the requests in the bins beyond the one in which the limit is.
func (c *totalTime) slow(f *figures) (n float64) {
	if f == nil || len(f.realUs) == 0 {
		return 0
	}
	limit := int64(c.limitMs) * 1000
	byEdge := map[int64]int{}
	for _, us := range f.realUs {
		byEdge[upperEdge(us)]++
	}
	edges := sortedKeysInt(byEdge)
	at, _ := slices.BinarySearch(edges, limit)
	switch at {
	case 0:
		return float64(len(f.realUs))
	case len(edges):
		return 0
	}
	for _, e := range edges[at+1:] {
		n += float64(byEdge[e])
	}
	return n
}

func sortedKeysInt(m map[int64]int) []int64 {
	keys := make([]int64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (c *totalTime) notify(s *second) bool {
	f := s.of(c.tag)
	n := 0
	if f != nil {
		n = len(f.realUs)
	}
	full := c.failed.push(c.slow(f))
	c.all.push(float64(n))
	if all := c.all.sum(); all > 0 {
		c.lastShare = c.failed.sum() / all
	}
	return full && c.lastShare >= c.share/100
}

func (c *totalTime) explain() string {
	return fmt.Sprintf("%.2f%% responses times higher than %.1fms for %ds %s", c.lastShare*100, float64(c.limitMs),
		c.all.size, c.forTag())
}

// total is the criteria total_http, total_net, negative_http and negative_net.
type total struct {
	base
	codes
	level
	window
	negative bool
}

func parseTotal(b base, args []string, _ int) (criterion, error) {
	c := &total{base: b, negative: strings.HasPrefix(b.name, "negative")}
	var err error
	if c.codes, err = parseCodes(args[0], strings.HasSuffix(b.name, "net")); err != nil {
		return nil, err
	}
	if c.level, err = parseLevel(args[1]); err != nil {
		return nil, err
	}
	c.size, err = expandS(args[2])
	return c, err
}

func (c *total) notify(s *second) bool {
	f := s.of(c.tag)
	all := len(s.all.realUs)
	if f != nil {
		all = len(f.realUs)
	}
	n := float64(c.codes.count(f, c.negative))
	if c.relative {
		n = n / float64(max(all, 1)) * 100
		if c.negative {
			n = 100 - n
		}
	} else if c.negative {
		n = float64(all) - n
	}
	full := c.push(n)
	v := c.sum()
	if c.relative {
		v /= float64(len(c.values))
	}
	return full && v >= c.value
}

func (c *total) explain() string {
	what := "codes"
	if c.net && !c.negative {
		what = "net codes"
	}
	not := ""
	if c.negative {
		not = "Not "
	}
	return fmt.Sprintf("%s%s %s count higher than %s for %ds%s", not, c.mask, what, c.level.text(), c.size, c.forTag())
}

// trend is the criterion http_trend.
type trend struct {
	base
	codes
	window
	last        float64
	mean, error float64
}

func parseTrend(b base, args []string, _ int) (criterion, error) {
	c := &trend{base: b, window: window{values: []float64{0}}}
	var err error
	if c.codes, err = parseCodes(args[0], false); err != nil {
		return nil, err
	}
	c.size, err = expandS(args[1])
	return c, err
}

func (c *trend) notify(s *second) bool {
	n := float64(c.codes.count(s.of(c.tag), false))
	c.push(n - c.last)
	c.last = n
	k := float64(len(c.values))
	if k == 0 {
		return false
	}
	c.mean, c.error = c.sum()/k, 0
	if k >= 2 {
		var squares float64
		for _, v := range c.values {
			squares += (v - c.mean) * (v - c.mean)
		}
		c.error = math.Sqrt(squares / k / (k - 1))
	}
	return c.mean+c.error < 0
}

func (c *trend) explain() string {
	return fmt.Sprintf("Last trend for %s http codes is %.2f +/- %.2f for %ds", c.mask, c.mean, c.error, c.size)
}

// readAutostop reads the section autostop.
func (c *Config) readAutostop(n *yaml.Node) {
	o := c.object(n, "autostop", keysOf("autostop")...)
	if o == nil || !c.flag(o.get("enabled"), "enabled", true) {
		return
	}
	if file := c.text(o.get("report_file"), "report_file"); file != "" {
		c.reportFile = file
	}
	most := 0
	for _, s := range c.streams {
		most += s.load.sessions
	}
	for _, item := range c.list(o.get("autostop"), "autostop") {
		text := c.text(item, "autostop")
		if strings.TrimSpace(text) == "" {
			continue
		}
		rule, err := parseCriterion(text, most)
		if err != nil {
			c.fault(item, "autostop: %v", err)
			continue
		}
		c.autostop = append(c.autostop, rule)
	}
}
