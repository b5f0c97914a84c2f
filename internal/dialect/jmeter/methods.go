package jmeter

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// methods are the methods that are translated, whatever they are called on. invoke says what they do.
var methods = func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(`
		get put remove putObject getObject getProperty setProperty containsKey info warn error debug trace
		isInfoEnabled isDebugEnabled getResponseCode getResponseDataAsString getResponseMessage getSampleLabel
		getTime isSuccessful setSuccessful getURL getUrlAsString getResponseHeaders getLatency setSampleLabel
		setResponseCode setResponseMessage setResponseData getStartTime getEndTime getBytesAsLong isResponseCodeOK
		setIgnore getConnectTime getSamplerData getRequestHeaders getThreadNum getThreadGroup getPreviousResult
		getVariables getProperties getName getThread getThreadName setFailure setFailureMessage length size substring
		toUpperCase toLowerCase trim replace replaceAll replaceFirst contains startsWith endsWith indexOf lastIndexOf
		split equals equalsIgnoreCase isEmpty toInteger toLong toDouble toFloat toString concat matches charAt
		padLeft padRight reverse tokenize capitalize isNumber isInteger compareTo hashCode strip isBlank join add
		first last sort keySet values parseInt parseLong parseDouble parseFloat valueOf parseBoolean abs max min
		floor ceil round random pow sqrt currentTimeMillis nanoTime randomUUID format parse getTime nextInt nextLong
		nextDouble nextBoolean parseText toJson randomAlphanumeric randomAlphabetic randomNumeric now ofPattern
		plusDays minusDays plusHours minusHours plusMinutes minusMinutes plusSeconds minusSeconds plusMonths
		minusMonths plusYears minusYears toEpochMilli encode isNull nonNull intValue longValue doubleValue
		toBigInteger toBigDecimal println append current toList unique take drop`) {
		all[name] = true
	}
	return all
}()

// errNoMethod says that a value hasn't a method.
var errNoMethod = errors.New("no such method")

// instant is a time with the pattern by which it is shown, as of java.time.
type instant struct {
	time.Time
	pattern string
}

// String shows the time.
func (i instant) String() string { return javaTime(i.pattern, i.Time) }

// dateFormat is a pattern of SimpleDateFormat or DateTimeFormatter.
type dateFormat string

// invoke calls a method.
func invoke(x *scope, on any, name string, args []any) (v any, err error) {
	err = errNoMethod
	switch o := on.(type) {
	case object:
		v, err = invokeObject(x, o, name, args)
	case string:
		v, err = invokeText(x, o, name, args)
	case int64, float64:
		v, err = invokeNumber(o, name, args)
	case sqlNumber:
		if name == "toString" {
			return o.text, nil
		}
		v, err = invokeNumber(o.float64, name, args)
	case []any:
		v, err = invokeList(x, o, name, args)
	case map[string]any:
		v, err = invokeMap(o, name, args)
	case instant:
		v, err = invokeTime(o, name, args)
	case dateFormat:
		v, err = invokeFormat(o, name, args)
	case bool:
		if name == "toString" {
			return show(o), nil
		}
		if name == "equals" && len(args) == 1 {
			return equal(o, args[0], groovy), nil
		}
	case nil:
		return nil, fmt.Errorf("%s() is called on null", name)
	}
	if errors.Is(err, errNoMethod) {
		return nil, fmt.Errorf("%s() with %d arguments isn't translated for %s", name, len(args), kindName(on))
	}
	return v, err
}

func kindName(v any) string {
	switch v := v.(type) {
	case object:
		return string(v)
	case string:
		return "texts"
	case int64, float64, sqlNumber:
		return "numbers"
	case []any:
		return "lists"
	case map[string]any:
		return "maps"
	case instant:
		return "times"
	}
	return fmt.Sprintf("%T", v)
}

func textOf(args []any, i int) string {
	if i < len(args) {
		return show(args[i])
	}
	return ""
}

func intOf(args []any, i int) int64 {
	if i < len(args) {
		if n, _, ok := number(args[i], jexl); ok {
			return int64(n)
		}
	}
	return 0
}

func orNull(s string, ok bool) any {
	if !ok {
		return nil
	}
	return s
}

func invokeObject(x *scope, o object, name string, args []any) (any, error) {
	switch o {
	case "vars":
		return invokeVars(x, name, args)
	case "props":
		return invokeProps(x, name, args)
	case "log", "OUT":
		if name == "println" || slices.Contains([]string{"info", "warn", "error"}, name) {
			text := textOf(args, 0)
			for i := 1; i < len(args); i++ {
				text = strings.Replace(text, "{}", show(args[i]), 1)
			}
			x.t.program.log(text)
		}
		return strings.HasPrefix(name, "is"), nil
	case "prev":
		return invokeResult(x, name, args)
	case "AssertionResult":
		switch {
		case x.verdict == nil:
		case name == "setFailure":
			x.verdict.failed = len(args) > 0 && truth(args[0])
		case name == "setFailureMessage":
			x.verdict.message = textOf(args, 0)
		}
		return nil, nil
	case "ctx", "sampler":
		switch name {
		case "getThreadNum":
			return int64(x.t.number), nil
		case "getVariables":
			return object("vars"), nil
		case "getPreviousResult":
			return object("prev"), nil
		case "getProperties":
			return object("props"), nil
		case "getThreadGroup", "getThread":
			return o, nil
		case "getThreadName":
			return x.t.name(), nil
		case "getName":
			if o == "ctx" {
				return x.t.group.name, nil
			}
			return x.t.label, nil
		}
		return nil, errNoMethod
	}
	return invokeClass(x, o, name, args)
}

func invokeVars(x *scope, name string, args []any) (any, error) {
	t := x.t
	switch name {
	case "get":
		v, ok := t.vars[textOf(args, 0)]
		return orNull(v, ok), nil
	case "getObject":
		key := textOf(args, 0)
		if v, ok := t.objects[key]; ok {
			return v, nil
		}
		v, ok := t.vars[key]
		return orNull(v, ok), nil
	case "put":
		if len(args) == 2 {
			t.vars[textOf(args, 0)] = show(args[1])
		}
		return nil, nil
	case "putObject":
		if len(args) == 2 {
			if t.objects == nil {
				t.objects = map[string]any{}
			}
			t.objects[textOf(args, 0)] = args[1]
		}
		return nil, nil
	case "remove":
		key := textOf(args, 0)
		v, ok := t.vars[key]
		delete(t.vars, key)
		delete(t.objects, key)
		return orNull(v, ok), nil
	}
	return nil, errNoMethod
}

func invokeProps(x *scope, name string, args []any) (any, error) {
	p := x.t.program
	switch name {
	case "get", "getProperty":
		v, ok := p.property(textOf(args, 0))
		if !ok && len(args) > 1 {
			return textOf(args, 1), nil
		}
		return orNull(v, ok), nil
	case "put", "setProperty":
		if len(args) == 2 {
			p.setProperty(textOf(args, 0), show(args[1]))
		}
		return nil, nil
	case "containsKey":
		_, ok := p.property(textOf(args, 0))
		return ok, nil
	case "remove":
		return p.removeProperty(textOf(args, 0)), nil
	}
	return nil, errNoMethod
}

func invokeResult(x *scope, name string, args []any) (any, error) {
	r := x.result
	if r == nil {
		return nil, fmt.Errorf("there is no previous result")
	}
	switch name {
	case "getResponseCode":
		return r.code, nil
	case "getResponseDataAsString":
		return r.text(), nil
	case "getResponseMessage":
		return r.message, nil
	case "getSampleLabel":
		return r.label, nil
	case "getTime":
		return r.elapsedMs(), nil
	case "getLatency":
		return r.latencyMs(), nil
	case "getConnectTime":
		return r.connect.Milliseconds(), nil
	case "getStartTime":
		return r.start.UnixMilli(), nil
	case "getEndTime":
		return r.end.UnixMilli(), nil
	case "getBytesAsLong":
		return r.bytes, nil
	case "isSuccessful":
		return r.success, nil
	case "isResponseCodeOK":
		return r.code == "200", nil
	case "getURL", "getUrlAsString":
		return r.url, nil
	case "getResponseHeaders":
		return r.head, nil
	case "getRequestHeaders", "getSamplerData":
		return r.requestHead, nil
	case "setSuccessful":
		r.success = len(args) > 0 && truth(args[0])
	case "setSampleLabel":
		r.label = textOf(args, 0)
	case "setResponseCode":
		r.code = textOf(args, 0)
	case "setResponseMessage":
		r.message = textOf(args, 0)
	case "setResponseData":
		r.body, r.unpacked = []byte(textOf(args, 0)), true
	case "setIgnore":
		r.ignore = true
	default:
		return nil, errNoMethod
	}
	return nil, nil
}

func invokeClass(x *scope, o object, name string, args []any) (any, error) {
	switch string(o) + "." + name {
	case "Integer.parseInt", "Integer.parseLong", "Integer.valueOf":
		n, err := strconv.ParseInt(strings.TrimSpace(textOf(args, 0)), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q isn't a whole number", textOf(args, 0))
		}
		return n, nil
	case "Integer.toString", "String.valueOf":
		return textOf(args, 0), nil
	case "Double.parseDouble", "Double.valueOf", "Double.parseFloat":
		n, err := strconv.ParseFloat(strings.TrimSpace(textOf(args, 0)), 64)
		if err != nil {
			return nil, fmt.Errorf("%q isn't a number", textOf(args, 0))
		}
		return n, nil
	case "Boolean.parseBoolean", "Boolean.valueOf":
		return strings.EqualFold(textOf(args, 0), "true"), nil
	case "String.format":
		return formatted(args)
	case "String.join":
		return invokeList(x, args[min(1, len(args)):], "join", args[:min(1, len(args))])
	case "System.currentTimeMillis":
		return x.t.program.now().UnixMilli(), nil
	case "System.nanoTime":
		return x.t.program.now().UnixNano(), nil
	case "UUID.randomUUID":
		return newUUID(), nil
	case "RandomStringUtils.randomAlphanumeric":
		return randomText(x, letters+"0123456789", args), nil
	case "RandomStringUtils.randomAlphabetic":
		return randomText(x, letters, args), nil
	case "RandomStringUtils.randomNumeric":
		return randomText(x, "0123456789", args), nil
	case "JsonOutput.toJson":
		b, err := json.Marshal(args[0])
		return string(b), err
	case "LocalDate.now":
		return instant{x.t.program.now(), "yyyy-MM-dd'T'HH:mm:ss.SSS"}, nil
	case "DateTimeFormatter.ofPattern":
		return dateFormat(textOf(args, 0)), nil
	case "URLEncoder.encode":
		return formEncode(textOf(args, 0)), nil
	case "Objects.isNull":
		return len(args) == 0 || args[0] == nil, nil
	case "Objects.nonNull":
		return len(args) > 0 && args[0] != nil, nil
	case "StringUtils.isBlank", "StringUtils.isEmpty":
		return len(args) == 0 || args[0] == nil || strings.TrimSpace(show(args[0])) == "", nil
	case "JsonSlurper.parseText":
		var v any
		d := json.NewDecoder(strings.NewReader(textOf(args, 0)))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("the text isn't JSON: %w", err)
		}
		return plain(v), nil
	}
	switch o {
	case "Math":
		return invokeMath(x, name, args)
	case "Random":
		return invokeRandom(x, name, args)
	}
	return nil, errNoMethod
}

// plain turns json.Number into numbers.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		n, _ := v.Float64()
		return n
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

func randomText(x *scope, chars string, args []any) string {
	out := make([]byte, min(max(intOf(args, 0), 0), 1<<20))
	for i := range out {
		out[i] = chars[x.t.random.IntN(len(chars))]
	}
	return string(out)
}

func formatted(args []any) (any, error) {
	if len(args) == 0 {
		return nil, errNoMethod
	}
	rest := slices.Clone(args[1:])
	return fmt.Sprintf(strings.ReplaceAll(show(args[0]), "%n", "\n"), rest...), nil
}

func invokeMath(x *scope, name string, args []any) (any, error) {
	if name == "random" {
		return x.t.random.Float64(), nil
	}
	if len(args) == 0 {
		return nil, errNoMethod
	}
	a, whole, ok := number(args[0], jexl)
	b, wholeB := 0.0, true
	if len(args) > 1 {
		b, wholeB, _ = number(args[1], jexl)
	}
	if !ok {
		return nil, fmt.Errorf("%s isn't a number", show(args[0]))
	}
	var v float64
	switch name {
	case "abs":
		v = math.Abs(a)
	case "max":
		v = math.Max(a, b)
	case "min":
		v = math.Min(a, b)
	case "floor":
		return math.Floor(a), nil
	case "ceil":
		return math.Ceil(a), nil
	case "round":
		return int64(math.Floor(a + 0.5)), nil
	case "pow":
		return math.Pow(a, b), nil
	case "sqrt":
		return math.Sqrt(a), nil
	default:
		return nil, errNoMethod
	}
	if whole && wholeB {
		return int64(v), nil
	}
	return v, nil
}

func invokeRandom(x *scope, name string, args []any) (any, error) {
	switch name {
	case "current":
		return object("Random"), nil
	case "nextInt", "nextLong":
		lo, hi := int64(0), int64(math.MaxInt32)
		switch len(args) {
		case 1:
			hi = intOf(args, 0)
		case 2:
			lo, hi = intOf(args, 0), intOf(args, 1)
		}
		if hi <= lo {
			return nil, fmt.Errorf("the bound of a random number must be greater than %d", lo)
		}
		return between(x.t.random, lo, hi-1), nil
	case "nextDouble":
		return x.t.random.Float64(), nil
	case "nextBoolean":
		return x.t.random.IntN(2) == 1, nil
	}
	return nil, errNoMethod
}

// create makes a new object.
func create(x *scope, class string, args []any) (any, error) {
	switch class {
	case "Date":
		if len(args) == 1 {
			return instant{time.UnixMilli(intOf(args, 0)), "EEE MMM dd HH:mm:ss zzz yyyy"}, nil
		}
		return instant{x.t.program.now(), "EEE MMM dd HH:mm:ss zzz yyyy"}, nil
	case "SimpleDateFormat":
		return dateFormat(textOf(args, 0)), nil
	case "HashMap":
		return map[string]any{}, nil
	case "ArrayList":
		return append([]any{}, items(first(args))...), nil
	case "String", "StringBuilder":
		if len(args) == 0 {
			return "", nil
		}
		return show(args[0]), nil
	case "JsonSlurperClassic":
		return object("JsonSlurper"), nil
	}
	return object(class), nil
}

func first(args []any) any {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}

func invokeFormat(f dateFormat, name string, args []any) (any, error) {
	switch name {
	case "format":
		if at, ok := first(args).(instant); ok {
			return javaTime(string(f), at.Time), nil
		}
		if n, _, ok := number(first(args), groovy); ok {
			return javaTime(string(f), time.UnixMilli(int64(n))), nil
		}
	case "parse":
		at, err := parseJavaTime(string(f), textOf(args, 0))
		return instant{at, "EEE MMM dd HH:mm:ss zzz yyyy"}, err
	}
	return nil, errNoMethod
}

func invokeTime(t instant, name string, args []any) (any, error) {
	n := time.Duration(intOf(args, 0))
	sign := 1
	if strings.HasPrefix(name, "minus") {
		n, sign = -n, -1
	}
	at := t.Time
	switch name {
	case "format":
		if f, ok := first(args).(dateFormat); ok {
			return javaTime(string(f), at), nil
		}
		return javaTime(textOf(args, 0), at), nil
	case "getTime", "toEpochMilli":
		return at.UnixMilli(), nil
	case "toString":
		return t.String(), nil
	case "plusDays", "minusDays":
		at = at.AddDate(0, 0, int(n))
	case "plusMonths", "minusMonths":
		at = at.AddDate(0, sign*int(intOf(args, 0)), 0)
	case "plusYears", "minusYears":
		at = at.AddDate(sign*int(intOf(args, 0)), 0, 0)
	case "plusHours", "minusHours":
		at = at.Add(n * time.Hour)
	case "plusMinutes", "minusMinutes":
		at = at.Add(n * time.Minute)
	case "plusSeconds", "minusSeconds":
		at = at.Add(n * time.Second)
	default:
		return nil, errNoMethod
	}
	return instant{at, t.pattern}, nil
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
