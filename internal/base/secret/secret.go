// Package secret hides what must never be printed or stored. It decides which names stand for secrets, and finds and
// replaces secrets in texts and command lines.
package secret

import (
	"slices"
	"strings"
	"unicode"

	"brunt/internal/base/lazyregexp"
)

// Hidden replaces a secret.
const Hidden = "***"

// Name reports whether something with this name (a header, an option, a property, a URL parameter) must be treated as a
// secret. Some terms count anywhere in the name, others only as a whole word.
func Name(name string) bool {
	words := wordsOf(name)
	joined := strings.Join(words, "")
	for _, anywhere := range []string{
		"password", "passwd", "passphrase", "secret", "token", "credential", "authorization", "authentication",
		"cookie", "apikey", "accesskey", "privatekey", "signature",
	} {
		if strings.Contains(joined, anywhere) {
			return true
		}
	}
	for _, word := range []string{"auth", "session", "sid", "pass", "pwd", "pw", "jwt", "sig"} {
		if slices.Contains(words, word) {
			return true
		}
	}
	return slices.Contains(words, "key") && !slices.ContainsFunc(words, plain)
}

// plain reports whether a word next to "key" means that the key isn't a secret, or only the path or the size of one.
func plain(word string) bool {
	return slices.Contains([]string{"file", "path", "tls", "ssl", "cert", "primary", "partition", "hash", "sort",
		"prefix", "size", "space"}, word)
}

// wordsOf splits a name such as sslPassword, api-key or redis.tls_key into words, in lower case.
func wordsOf(name string) []string {
	var spaced strings.Builder
	last := ' '
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			spaced.WriteByte(' ')
		case unicode.IsUpper(r) && unicode.IsLower(last):
			spaced.WriteByte(' ')
			fallthrough
		default:
			spaced.WriteRune(unicode.ToLower(r))
		}
		last = r
	}
	return strings.Fields(spaced.String())
}

// Value returns the value of something with this name in a form that may be shown.
func Value(name, value string) string {
	if value != "" && Name(name) {
		return Hidden
	}
	return Text(value)
}

// Text hides users with their passwords in a text, passwords in libpq's form, and URL parameters that are secrets.
func Text(s string) string {
	if strings.Contains(s, "@") {
		s = urlUser().ReplaceAllString(s, "${1}"+Hidden+"@")
		var parts []string
		s = brokenUser().ReplaceAllStringFunc(s, func(match string) string {
			hidden := hideUser(match)
			if hidden != match {
				parts = append(parts, Of(match)...)
			}
			return hidden
		})
		if s = Redact(s, parts); len(parts) > 0 { // a parser says of a part that it is no port, for example
			s = invalidPort().ReplaceAllString(s, "${1}"+Hidden)
		}
		s = bareUser().ReplaceAllString(s, "${1}"+Hidden+"@")
	}
	if strings.Contains(s, "=") {
		s = keyword().ReplaceAllString(s, "${1}"+Hidden)
		s = parameter().ReplaceAllStringFunc(s, func(match string) string {
			name, value, _ := strings.Cut(match[1:], "=")
			if value == "" || !Name(name) && name != "u" && name != "p" { // u and p: InfluxDB's user and password
				return match
			}
			return match[:1] + name + "=" + Hidden
		})
	}
	return s
}

// Address returns an address in any notation, valid or not, as it may be shown.
func Address(text string) string { return Text(Redact(text, Of(text))) }

// Log hides what Text does, and also the values of names that stand for secrets, in a text that another program wrote:
// DB_PASSWORD=x, token: x, "apiKey": "x", Authorization: Bearer x.
func Log(s string) string {
	var out strings.Builder
	for {
		m := named().FindStringSubmatchIndex(s)
		if m == nil {
			break
		}
		out.WriteString(s[:m[1]])
		name := s[m[2]:m[3]]
		s = s[m[1]:]
		if !Name(name) {
			continue
		}
		value := firstValue
		if words := strings.Join(wordsOf(name), ""); strings.Contains(words, "authorization") ||
			strings.Contains(words, "cookie") {
			value = restOfLine
		}
		if n := len(value().FindString(s)); n > 0 {
			out.WriteString(Hidden)
			s = s[n:]
		}
	}
	out.WriteString(s)
	return Text(out.String())
}

var (
	named      = lazyregexp.New(`([A-Za-z_][\w.-]*)["']?[ \t]*[=:][ \t]*`)
	firstValue = lazyregexp.New(`^(?:"[^"\n]*"|'[^'\n]*'|[^\s,;&"']+)`)
	restOfLine = lazyregexp.New(`^[^\n]*`)
)

var (
	urlUser    = lazyregexp.New(`(://)[^/?#\s"]*@`)
	brokenUser = lazyregexp.New(`://[^/?#\s@:"]*:[^\s@"]*@`) // a slash in a password makes the URL invalid
	// invalidPort matches what net/url says of the part of a password that it takes for a port.
	invalidPort = lazyregexp.New(`(invalid port \\*":)[^"\\]*`)
	bareUser    = lazyregexp.New(`(^|[\s,="'])[^\s,="'/@:]+:[^\s,"'@/]+@`)
	parameter   = lazyregexp.New(`[?&][^=&?#\s"']+=[^&#\s"']*`)
	// libpq's connection strings
	keyword   = lazyregexp.New(`(?i)(\b(?:ssl)?password\s*=\s*)(?:'(?:[^'\\]|\\.)*'|'.*|[^\s'"&,;]+)`)
	pair      = lazyregexp.New(`(?i)(\b(?:ssl)?password\s*=\s*)(?:'(?:[^'\\]|\\.)*'|'.*|(?:\\.|[^\s\\])+)`)
	portFirst = lazyregexp.New(`^\d*[/?#]`)
)

func hideUser(match string) string {
	_, after, _ := strings.Cut(match[len("://"):], ":")
	if portFirst().MatchString(after) {
		return match // a host and a port; the @ belongs to the path
	}
	return "://" + Hidden + "@"
}

// least is the shortest known secret that is replaced, in bytes. Shorter ones can't be told from ordinary words.
const least = 3

// Redact replaces known secrets in a text from another source.
func Redact(text string, secrets []string) string {
	for _, s := range secrets {
		if len(s) >= least {
			text = strings.ReplaceAll(text, s, Hidden)
		}
	}
	return text
}

// Of returns what may be the password in an address in any notation (a URL, user:password@host, libpq's keywords),
// valid or not: the password and its parts between characters at which a parser may have cut it. An error about such an
// address names one of these parts at most, so hide them there by Redact. It returns nothing if the text holds none.
func Of(text string) (all []string) {
	add := func(password string) {
		all = append(all, password)
		all = append(all, strings.FieldsFunc(password, func(r rune) bool { return strings.ContainsRune(cutters, r) })...)
	}
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		scheme, rest = "", text
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, password, found := strings.Cut(rest[:at], ":")
		path := strings.HasSuffix(scheme, "http") || strings.HasSuffix(scheme, "https")
		if found && !strings.ContainsAny(user, "/?#") && !(path && portFirst().MatchString(password)) {
			add(password)
		}
	}
	for _, m := range keywordValue().FindAllStringSubmatch(text, -1) {
		add(m[1])
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return len(s) < least })
}

// cutters are the characters at which parsers of addresses cut.
const cutters = "/?#@:[]()<>\"'\\`,;&=% \t"

var keywordValue = lazyregexp.New(`(?i)\b(?:ssl)?password\s*=\s*(\S+)`)
