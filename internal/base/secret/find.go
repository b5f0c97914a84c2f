package secret

import (
	"regexp"
	"slices"
	"strings"

	"brunt/internal/base/lazyregexp"
)

// Found is a secret in a text.
type Found struct {
	Name     string // of what the secret is the value of
	From, To int    // where it is, in bytes
}

// Find returns the secrets in a text that is a request, a program or data: passwords in URLs, and the values of header
// fields, parameters, members in JSON and assignments whose names stand for secrets. Values with variables ({{…}} or
// ${…}) aren't secrets themselves. The secrets are in order and don't overlap.
func Find(text string) (all []Found) {
	if !suspicious(text) {
		return nil
	}
	for _, m := range userPart().FindAllStringSubmatchIndex(text, -1) {
		all = append(all, Found{"address", m[2], m[3]})
	}
	for _, form := range namedForms {
		for _, m := range form().FindAllStringSubmatchIndex(text, -1) {
			all = append(all, Found{text[m[2]:m[3]], m[4], m[5]})
		}
	}
	all = slices.DeleteFunc(all, func(f Found) bool {
		value := text[f.From:f.To]
		return f.Name != "address" && !Name(f.Name) || strings.TrimSpace(value) == "" ||
			strings.Contains(value, "{{") || strings.Contains(value, "${")
	})
	slices.SortStableFunc(all, func(a, b Found) int { return a.From - b.From })
	end := 0
	return slices.DeleteFunc(all, func(f Found) bool {
		if f.From < end {
			return true
		}
		end = f.To
		return false
	})
}

// suspicious reports whether a text has a word that names of secrets have. It is quick.
func suspicious(text string) bool {
	if strings.Contains(text, "://") && strings.Contains(text, "@") {
		return true
	}
	text = strings.ToLower(text)
	for _, word := range []string{"pass", "pw", "secret", "token", "credential", "auth", "cookie", "key", "sig", "session",
		"sid", "jwt"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

var userPart = lazyregexp.New(`://[^/?#\s@:"']*:([^/?#\s@"]+)@`)

// namedForms are the forms of names with values: the first group is the name, the second the value.
var namedForms = []func() *regexp.Regexp{
	lazyregexp.New(`(?m)^([A-Za-z][A-Za-z0-9-]*):[ \t]*([^\r\n]+)`),                  // header field
	lazyregexp.New(`\[([A-Za-z][A-Za-z0-9-]*):[ \t]*([^\]\r\n]+)`),                   // … in brackets, as Tank has them
	lazyregexp.New(`\b([A-Za-z][A-Za-z0-9-]*): ([^"'\\\r\n\]]+)`),                    // … inside a text
	lazyregexp.New(`([A-Za-z_][\w.-]*)["']?\]?\s*[=:,]\s*"((?:[^"\\\n]|\\.)+)"`),     // JSON, assignment
	lazyregexp.New(`([A-Za-z_][\w.-]*)["']?\]?\s*[=:,]\s*'((?:[^'\\\n]|\\.)+)'`),     // … in single quotes
	lazyregexp.New(`([A-Za-z_][\w.-]*)\\["']\]?\s*[=:,]\s*\\["']([^"'\\\n]+)\\["']`), // … inside a text
	lazyregexp.New(`(?:^|[?&\s"'])([A-Za-z_][\w.%-]*)=([^&\s"'#\\]+)`),               // parameter
}
