package jmeter

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"html"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// function is a function of JMeter (functions reference of its manual).
type function struct {
	least   int                        // arguments that it needs
	prepare func(c *call) (any, error) // called once for each call in the plan; the result is call.own; may be nil
	run     func(t *thread, c *call) string
}

// functions returns the functions by name.
func functions() map[string]function {
	all := map[string]function{
		"__P":             {least: 1, run: fnP},
		"__property":      {least: 1, run: fnProperty},
		"__setProperty":   {least: 2, run: fnSetProperty},
		"__isPropDefined": {least: 1, run: fnIsProp},
		"__isVarDefined":  {least: 1, run: fnIsVar},
		"__V":             {least: 1, run: fnV},
		"__eval":          {least: 1, run: func(t *thread, c *call) string { return t.evalText(c.arg(t, 0)) }},
		"__evalVar": {least: 1, run: func(t *thread, c *call) string {
			return t.evalText(t.vars[c.arg(t,
				0)])
		}},
		"__time":                   {run: fnTime},
		"__timeShift":              {run: fnTimeShift},
		"__RandomDate":             {least: 3, run: fnRandomDate},
		"__dateTimeConvert":        {least: 3, run: fnDateTimeConvert},
		"__UUID":                   {run: func(*thread, *call) string { return newUUID() }},
		"__Random":                 {least: 2, run: fnRandom},
		"__RandomString":           {least: 1, run: fnRandomString},
		"__RandomFromMultipleVars": {least: 1, run: fnRandomVars},
		"__threadNum":              {run: func(t *thread, _ *call) string { return strconv.Itoa(t.number + 1) }},
		"__threadGroupName":        {run: func(t *thread, _ *call) string { return t.group.name }},
		"__samplerName":            {run: func(t *thread, c *call) string { return c.store(t, 0, t.label) }},
		"__TestPlanName":           {run: func(t *thread, _ *call) string { return t.program.file }},
		"__machineName":            {run: fnMachineName},
		"__machineIP":              {run: fnMachineIP},
		"__counter": {least: 1, run: fnCounter, prepare: func(*call) (any, error) {
			return &counting{},
				nil
		}},
		"__intSum":     {least: 2, run: fnSum},
		"__longSum":    {least: 2, run: fnSum},
		"__urlencode":  {least: 1, run: func(t *thread, c *call) string { return formEncode(c.arg(t, 0)) }},
		"__urldecode":  {least: 1, run: fnURLDecode},
		"__escapeHtml": {least: 1, run: func(t *thread, c *call) string { return escapeHTML(c.arg(t, 0)) }},
		"__unescapeHtml": {least: 1, run: func(t *thread, c *call) string {
			return html.UnescapeString(c.arg(t,
				0))
		}},
		"__escapeXml":     {least: 1, run: func(t *thread, c *call) string { return escapeXML(c.arg(t, 0)) }},
		"__unescape":      {least: 1, run: func(t *thread, c *call) string { return unescapeJava(c.arg(t, 0)) }},
		"__char":          {least: 1, run: fnChar},
		"__changeCase":    {least: 1, run: fnChangeCase},
		"__split":         {least: 2, run: fnSplit},
		"__digest":        {least: 2, run: fnDigest},
		"__regexFunction": {least: 2, run: fnRegex},
		"__log":           {least: 1, run: fnLog},
		"__FileToString":  {least: 1, run: fnFileToString},
		"__StringFromFile": {least: 1, run: fnStringFromFile, prepare: func(*call) (any, error) {
			return &lines{},
				nil
		}},
		"__CSVRead": {least: 2, run: fnCSVRead},
		"__groovy":  {least: 1, run: scriptFunction(groovy), prepare: prepareScript(groovy)},
		"__jexl3":   {least: 1, run: scriptFunction(jexl), prepare: prepareScript(jexl)},
		"__jexl2":   {least: 1, run: scriptFunction(jexl), prepare: prepareScript(jexl)},
	}
	return all
}

func fnP(t *thread, c *call) string {
	fallback := "1"
	if len(c.args) > 1 {
		fallback = c.arg(t, 1)
	}
	if v, ok := t.program.property(c.arg(t, 0)); ok {
		return v
	}
	return fallback
}

func fnProperty(t *thread, c *call) string {
	name := c.arg(t, 0)
	v, ok := t.program.property(name)
	switch {
	case ok:
	case len(c.args) > 2:
		v = c.arg(t, 2)
	default:
		v = name
	}
	return c.store(t, 1, v)
}

func fnSetProperty(t *thread, c *call) string {
	old := t.program.setProperty(c.arg(t, 0), c.arg(t, 1))
	if strings.EqualFold(c.arg(t, 2), "true") {
		return old
	}
	return ""
}

func fnIsProp(t *thread, c *call) string {
	_, ok := t.program.property(c.arg(t, 0))
	return strconv.FormatBool(ok)
}

func fnIsVar(t *thread, c *call) string {
	_, ok := t.vars[c.arg(t, 0)]
	return strconv.FormatBool(ok)
}

func fnV(t *thread, c *call) string {
	name := c.arg(t, 0)
	if v, ok := t.vars[name]; ok {
		return v
	}
	if len(c.args) > 1 {
		return c.arg(t, 1)
	}
	return name
}

func fnTime(t *thread, c *call) string {
	now := t.program.now()
	format := c.arg(t, 0)
	var v string
	switch {
	case format == "":
		v = strconv.FormatInt(now.UnixMilli(), 10)
	case strings.HasPrefix(format, "/"):
		n, err := strconv.ParseInt(format[1:], 10, 64)
		if err != nil || n == 0 {
			return format
		}
		v = strconv.FormatInt(now.UnixMilli()/n, 10)
	default:
		if v2, ok := t.program.property("time." + format); ok {
			format = v2
		} else if alias := map[string]string{"YMD": "yyyyMMdd", "HMS": "HHmmss", "USER1": "",
			"USER2": ""}[format]; alias != "" {
			format = alias
		}
		v = javaTime(format, now)
	}
	return c.store(t, 1, v)
}

func fnTimeShift(t *thread, c *call) string {
	format, date, shift := c.arg(t, 0), c.arg(t, 1), c.arg(t, 2)
	at := t.program.now()
	if date != "" {
		var err error
		if format == "" {
			ms, e := strconv.ParseInt(date, 10, 64)
			at, err = time.UnixMilli(ms), e
		} else {
			at, err = parseJavaTime(format, date)
		}
		if err != nil {
			t.program.complain("__timeShift: %v", err)
			return ""
		}
	}
	at, ok := shiftTime(at, shift)
	if !ok {
		t.program.complain("__timeShift: %q isn't a duration such as P2DT3H", shift)
	}
	if format == "" {
		return c.store(t, 4, strconv.FormatInt(at.UnixMilli(), 10))
	}
	return c.store(t, 4, javaTime(format, at))
}

func fnRandomDate(t *thread, c *call) string {
	format := c.arg(t, 0)
	if format == "" {
		format = "yyyy-MM-dd"
	}
	from := t.program.now()
	if s := c.arg(t, 1); s != "" {
		if at, err := parseJavaTime(format, s); err == nil {
			from = at
		}
	}
	to, err := parseJavaTime(format, c.arg(t, 2))
	days := int64(to.Sub(from).Hours() / 24)
	if err != nil || days < 1 {
		t.program.complain("__RandomDate: %q isn't a date after %q", c.arg(t, 2), c.arg(t, 1))
		return ""
	}
	return c.store(t, 4, javaTime(format, from.AddDate(0, 0, int(t.random.Int64N(days)))))
}

func fnDateTimeConvert(t *thread, c *call) string {
	from := c.arg(t, 1)
	var at time.Time
	var err error
	if from == "" {
		ms, e := strconv.ParseInt(c.arg(t, 0), 10, 64)
		at, err = time.UnixMilli(ms), e
	} else {
		at, err = parseJavaTime(from, c.arg(t, 0))
	}
	if err != nil {
		t.program.complain("__dateTimeConvert: %v", err)
		return ""
	}
	return c.store(t, 3, javaTime(c.arg(t, 2), at))
}

func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func fnRandom(t *thread, c *call) string {
	lo, err1 := strconv.ParseInt(strings.TrimSpace(c.arg(t, 0)), 10, 64)
	hi, err2 := strconv.ParseInt(strings.TrimSpace(c.arg(t, 1)), 10, 64)
	if err1 != nil || err2 != nil || hi < lo {
		t.program.complain("__Random: %q to %q isn't a range", c.arg(t, 0), c.arg(t, 1))
		return c.raw
	}
	return c.store(t, 2, strconv.FormatInt(between(t.random, lo, hi), 10))
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func fnRandomString(t *thread, c *call) string {
	n, err := strconv.Atoi(strings.TrimSpace(c.arg(t, 0)))
	if err != nil || n < 0 || n > 1<<20 {
		t.program.complain("__RandomString: %q isn't a length", c.arg(t, 0))
		return ""
	}
	chars := []rune(c.arg(t, 1))
	if len(chars) == 0 {
		chars = []rune(letters)
	}
	out := make([]rune, n)
	for i := range out {
		out[i] = chars[t.random.IntN(len(chars))]
	}
	return c.store(t, 2, string(out))
}

func fnRandomVars(t *thread, c *call) string {
	var all []string
	for name := range strings.SplitSeq(c.arg(t, 0), "|") {
		if n, err := strconv.Atoi(t.vars[name+"_matchNr"]); err == nil {
			for i := 1; i <= n; i++ {
				all = append(all, t.vars[fmt.Sprint(name, "_", i)])
			}
		} else if v, ok := t.vars[name]; ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return c.store(t, 1, all[t.random.IntN(len(all))])
}

func fnMachineName(t *thread, c *call) string {
	name, _ := os.Hostname()
	return c.store(t, 0, name)
}

func fnMachineIP(t *thread, c *call) string {
	name, _ := os.Hostname()
	all, err := net.LookupHost(name)
	if err != nil || len(all) == 0 {
		all = []string{"127.0.0.1"}
	}
	return c.store(t, 0, all[0])
}

// counting is what __counter remembers: a count of all threads, and one of each.
type counting struct {
	all atomic.Int64
	mu  sync.Mutex
	own map[*thread]int64
}

func fnCounter(t *thread, c *call) string {
	k := c.own.(*counting)
	if !strings.EqualFold(strings.TrimSpace(c.arg(t, 0)), "true") {
		return c.store(t, 1, strconv.FormatInt(k.all.Add(1), 10))
	}
	k.mu.Lock()
	if k.own == nil {
		k.own = map[*thread]int64{}
	}
	k.own[t]++
	n := k.own[t]
	k.mu.Unlock()
	return c.store(t, 1, strconv.FormatInt(n, 10))
}

func fnSum(t *thread, c *call) string {
	var sum int64
	for i := range c.args {
		s := strings.TrimSpace(c.arg(t, i))
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			if i == len(c.args)-1 && i > 1 { // the last one may be the name of a variable
				v := strconv.FormatInt(sum, 10)
				t.vars[s] = v
				return v
			}
			t.program.complain("%s: %q isn't a number", c.name, s)
			return c.raw
		}
		sum += n
	}
	return strconv.FormatInt(sum, 10)
}

// formEncode encodes as java.net.URLEncoder does: letters, digits and .-*_ stay, a space becomes +.
func formEncode(s string) string {
	const digits = "0123456789ABCDEF"
	n := 0
	for n < len(s) && stays(s[n]) {
		n++
	}
	if n == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(3*len(s) - 2*n)
	b.WriteString(s[:n])
	for i := n; i < len(s); i++ {
		switch c := s[i]; {
		case stays(c):
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}

// stays reports whether formEncode leaves a byte as it is.
func stays(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(".-*_", c) >= 0
}

func fnURLDecode(t *thread, c *call) string {
	v := c.arg(t, 0)
	if plain, err := url.QueryUnescape(v); err == nil {
		return plain
	}
	return v
}

// A Replacer is built when it is first used, which costs far more than a replacement.
var (
	entitiesOfHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
	entitiesOfXML  = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
)

func escapeHTML(s string) string { return entitiesOfHTML.Replace(s) }

func escapeXML(s string) string { return entitiesOfXML.Replace(s) }

func unescapeJava(s string) string {
	if v, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`); err == nil {
		return v
	}
	return s
}

func fnChar(t *thread, c *call) string {
	var b strings.Builder
	for i := range c.args {
		if n, err := strconv.ParseInt(strings.TrimSpace(c.arg(t, i)), 0, 32); err == nil {
			b.WriteRune(rune(n))
		}
	}
	return b.String()
}

func fnChangeCase(t *thread, c *call) string {
	s := c.arg(t, 0)
	switch strings.ToUpper(strings.TrimSpace(c.arg(t, 1))) {
	case "LOWER":
		s = strings.ToLower(s)
	case "CAPITALIZE":
		s = capitalize(s)
	default:
		s = strings.ToUpper(s)
	}
	return c.store(t, 2, s)
}

func capitalize(s string) string {
	for i, r := range s {
		return strings.ToUpper(string(r)) + s[i+len(string(r)):]
	}
	return s
}

func fnSplit(t *thread, c *call) string {
	s, name, by := c.arg(t, 0), c.arg(t, 1), ","
	if len(c.args) > 2 && c.arg(t, 2) != "" {
		by = c.arg(t, 2)
	}
	pieces := strings.Split(s, by)
	t.vars[name] = s
	t.vars[name+"_n"] = strconv.Itoa(len(pieces))
	for i, p := range pieces {
		if p == "" {
			p = "?"
		}
		t.vars[fmt.Sprint(name, "_", i+1)] = p
	}
	delete(t.vars, fmt.Sprint(name, "_", len(pieces)+1))
	return s
}

func fnDigest(t *thread, c *call) string {
	data := []byte(c.arg(t, 1) + c.arg(t, 2)) // the salt comes last
	var sum []byte
	switch strings.ToUpper(strings.ReplaceAll(c.arg(t, 0), "-", "")) {
	case "MD5":
		s := md5.Sum(data)
		sum = s[:]
	case "SHA1", "SHA":
		s := sha1.Sum(data)
		sum = s[:]
	case "SHA256":
		s := sha256.Sum256(data)
		sum = s[:]
	case "SHA384":
		s := sha512.Sum384(data)
		sum = s[:]
	case "SHA512":
		s := sha512.Sum512(data)
		sum = s[:]
	default:
		t.program.complain("__digest: the algorithm %q is unknown", c.arg(t, 0))
		return ""
	}
	v := hex.EncodeToString(sum)
	if strings.EqualFold(c.arg(t, 3), "true") {
		v = strings.ToUpper(v)
	}
	return c.store(t, 4, v)
}

func fnRegex(t *thread, c *call) string {
	input := ""
	if t.previous != nil {
		input = t.previous.text()
	}
	if name := c.arg(t, 6); name != "" {
		input = t.vars[name]
	}
	re, err := t.program.regex(c.arg(t, 0))
	if err != nil {
		t.program.complain("__regexFunction: %v", err)
		return c.arg(t, 4)
	}
	all := re.findAll(input, 10_000)
	if len(all) == 0 {
		return c.store(t, 5, c.arg(t, 4))
	}
	at := 0
	switch which := strings.TrimSpace(c.arg(t, 2)); which {
	case "":
	case "RAND":
		at = t.random.IntN(len(all))
	case "ALL":
		var out []string
		for _, m := range all {
			out = append(out, fillTemplate(c.arg(t, 1), m))
		}
		return c.store(t, 5, strings.Join(out, c.arg(t, 3)))
	default:
		if n, err := strconv.Atoi(which); err == nil && n >= 1 {
			at = n - 1
		}
	}
	if at >= len(all) {
		return c.store(t, 5, c.arg(t, 4))
	}
	return c.store(t, 5, fillTemplate(c.arg(t, 1), all[at]))
}

func fnLog(t *thread, c *call) string {
	s := c.arg(t, 0)
	t.program.log(s)
	return s
}

func fnFileToString(t *thread, c *call) string {
	b, err := t.program.files.read(c.arg(t, 0))
	if err != nil {
		t.program.complain("__FileToString: %v", err)
		return "**ERR**"
	}
	return c.store(t, 2, string(b))
}

// lines is what __StringFromFile remembers.
type lines struct {
	mu   sync.Mutex
	name string
	all  []string
	next int
}

func fnStringFromFile(t *thread, c *call) string {
	name := c.arg(t, 0)
	l := c.own.(*lines)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.name != name {
		b, err := t.program.files.read(name)
		if err != nil {
			t.program.complain("__StringFromFile: %v", err)
			return "**ERR**"
		}
		l.name, l.next = name, 0
		l.all = strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n"), "\n")
	}
	v := l.all[l.next%len(l.all)]
	l.next++
	return c.store(t, 1, v)
}

// fnCSVRead reads a file that all threads read in turn: a column of the thread's row, or the next row.
func fnCSVRead(t *thread, c *call) string {
	name, column := c.arg(t, 0), strings.TrimSpace(c.arg(t, 1))
	if strings.HasPrefix(name, "*") {
		return ""
	}
	f, err := t.program.files.rows(name)
	if err != nil {
		t.program.complain("__CSVRead: %v", err)
		return ""
	}
	if t.csvRows == nil {
		t.csvRows = map[string][]string{}
	}
	row, ok := t.csvRows[name]
	if !ok {
		row = f.next()
		t.csvRows[name] = row
	}
	if column == "next" || column == "next()" {
		t.csvRows[name] = f.next()
		return ""
	}
	n, err := strconv.Atoi(column)
	if err != nil || n < 0 || n >= len(row) {
		return ""
	}
	return row[n]
}
