package secret

import (
	"slices"
	"strings"

	"brunt/internal/base/lazyregexp"
)

// Flags say what flags of one letter mean to a tool.
type Flags struct {
	Properties  bool   // -p takes name=value, as in YCSB, and not a password
	Credentials string // the letters of those that take user:password or a cookie, where what follows is secret
	Whole       string // the letters of those whose value is secret
	Plain       string // the letters of those that never take a secret, whatever they are to other tools
	Words       bool   // flags with one dash are words, as in Go's package flag: no value follows a letter directly
}

// Args returns a command line in a form that may be shown and stored.
func Args(args []string, tool Flags) []string {
	out := slices.Clone(args)
	for i := range out {
		if i == 0 {
			continue
		}
		flag, value, joined := splitFlag(args[i], tool)
		switch {
		case flag == "" && i > 1:
			before, _, alone := splitFlag(args[i-1], tool)
			if alone {
				before = ""
			}
			out[i] = flagValue(tool, before, args[i])
		case flag == "":
			out[i] = Redact(Text(hide(args[i])), Of(args[i]))
		case joined:
			out[i] = strings.TrimSuffix(args[i], value) + flagValue(tool, flag, value)
		}
	}
	return out
}

// splitFlag splits an argument into the flag's name without dashes, and a value that is joined to it: after =, or
// directly after one of certain one-letter flags. The name is "" if the argument isn't a flag.
func splitFlag(arg string, tool Flags) (flag, value string, joined bool) {
	bare := strings.TrimLeft(arg, "-")
	if len(bare) == len(arg) || bare == "" {
		return "", "", false
	}
	flag, value, joined = strings.Cut(bare, "=")
	if !tool.Words && len(flag) > 1 && len(arg)-len(bare) == 1 && strings.Contains("pHoaue"+tool.Credentials, flag[:1]) {
		return flag[:1], bare[1:], true
	}
	return flag, value, joined
}

// figure matches a value that isn't a secret unless its name says so: a number, a duration, a switch.
var figure = lazyregexp.New(`^(?:[-+0-9.]+[a-z%]{0,2}|true|false)$`)

// nextPair matches the beginning of another name=value.
var nextPair = lazyregexp.New(`\s\w+\s*=`)

// flagValue returns a flag's value in a form that may be shown.
func flagValue(tool Flags, flag, value string) string {
	switch {
	case strings.HasSuffix(flag, "password"): // --mysql-password and pgsql_password are sysbench's
		return Hidden
	case len(flag) > 1 && strings.Contains("JGD", flag[:1]) && Name(flag[1:]): // -Jpassword=x is JMeter's
		return Hidden
	case len(flag) == 1 && strings.Contains(tool.Whole, flag):
		return Hidden
	case len(flag) == 1 && strings.Contains(tool.Credentials, flag):
		if at := strings.IndexAny(value, ":="); at >= 0 {
			return value[:at+1] + Hidden
		}
		return Hidden
	}
	if len(flag) == 1 && strings.Contains(tool.Plain, flag) {
		return Text(hide(value))
	}
	switch flag {
	case "secret-data":
		return Hidden
	case "p":
		if !tool.Properties {
			return Hidden
		}
		fallthrough
	case "prop", "o", "option", "tag":
		name, v, ok := strings.Cut(strings.TrimPrefix(value, "="), "=")
		if !ok {
			return Text(hide(value))
		}
		return strings.TrimSuffix(value, v) + Value(name, hide(v))
	case "e", "env":
		if name, v, ok := strings.Cut(value, "="); ok && v != "" && (Name(name) || !figure().MatchString(v)) {
			return name + "=" + Hidden
		}
	case "a", "addr", "inspect": // in libpq's pairs, an unquoted value ends only at a space
		if !strings.Contains(value, "://") {
			return Text(pair().ReplaceAllString(value, "${1}"+Hidden))
		}
	case "user": // of etcd's benchmark
		if name, v, ok := strings.Cut(value, ":"); ok && v != "" {
			return name + ":" + Hidden
		}
	case "secret-source":
		if kind, v, ok := strings.Cut(value, "="); ok && v != "" {
			return kind + "=" + Hidden
		}
	case "H", "header", "proxy-header":
		name, v, ok := strings.Cut(value, ":")
		if ok && Name(name) && strings.TrimSpace(v) != "" {
			return name + ": " + Hidden
		}
	}
	// password=x is cassandra-stress's
	if name, v, ok := strings.Cut(value, "="); ok && v != "" && Name(name) && !nextPair().MatchString(v) {
		return name + "=" + Hidden
	}
	return Text(hide(value))
}

// hide replaces the secrets that Find finds in a text.
func hide(text string) string {
	var b strings.Builder
	at := 0
	for _, f := range Find(text) {
		b.WriteString(text[at:f.From] + Hidden)
		at = f.To
	}
	return b.String() + text[at:]
}

// surelyWhole is the length from which a known secret is one also in the middle of an argument, in bytes.
const surelyWhole = 6

// RedactArgs replaces known secrets in a command line. Short ones are replaced only where they are an argument or its
// end, since they may be ordinary words elsewhere.
func RedactArgs(args, secrets []string) []string {
	out := slices.Clone(args)
	for i := range out {
		for _, s := range secrets {
			rest, ends := strings.CutSuffix(out[i], s)
			switch {
			case i == 0 || len(s) < least:
			case len(s) >= surelyWhole:
				out[i] = strings.ReplaceAll(out[i], s, Hidden)
			case ends && (rest == "" || strings.ContainsAny(rest[len(rest)-1:], "=: \"'")):
				out[i] = rest + Hidden
			}
		}
	}
	return out
}
