package jmeter

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"

	"brunt/internal/base/lazyregexp"
)

// regex is a regular expression in Perl's syntax. What Go's own library takes is run by it, in linear time; what needs
// backtracking (look-around, back references) by regexp2, with a limit.
type regex struct {
	fast *regexp.Regexp
	slow *regexp2.Regexp
}

const patience = time.Second // for a match that backtracks

func compileRegex(pattern string) (*regex, error) {
	if re, err := regexp.Compile(pattern); err == nil {
		return &regex{fast: re}, nil
	}
	re, err := regexp2.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q isn't a regular expression: %w", cut(pattern), err)
	}
	re.MatchTimeout = patience
	return &regex{slow: re}, nil
}

// findAll returns up to most matches with their groups.
func (r *regex) findAll(s string, most int) [][]string {
	if r.fast != nil {
		return r.fast.FindAllStringSubmatch(s, most)
	}
	var out [][]string
	for m, err := r.slow.FindStringMatch(s); err == nil && m != nil && len(out) < most; m, err = r.slow.FindNextMatch(m) {
		var groups []string
		for _, g := range m.Groups() {
			groups = append(groups, g.String())
		}
		out = append(out, groups)
	}
	return out
}

// matches reports whether the pattern is found in s or, if whole, is all of it.
func (r *regex) matches(s string, whole bool) bool {
	if !whole {
		if r.fast != nil {
			return r.fast.MatchString(s)
		}
		ok, err := r.slow.MatchString(s)
		return ok && err == nil
	}
	if r.fast != nil {
		re, err := regexp.Compile(`\A(?:` + r.fast.String() + `)\z`)
		return err == nil && re.MatchString(s)
	}
	m, err := r.slow.FindStringMatch(s)
	return err == nil && m != nil && m.String() == s
}

func (r *regex) split(s string) []string {
	var out []string
	if r.fast != nil {
		out = r.fast.Split(s, -1)
	} else {
		out = []string{s}
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1] // as Java
	}
	return out
}

func (r *regex) replace(s, by string, once bool) string {
	if r.slow != nil {
		n := -1
		if once {
			n = 1
		}
		if v, err := r.slow.Replace(s, by, -1, n); err == nil {
			return v
		}
		return s
	}
	by = javaGroup().ReplaceAllString(by, "$${$1}")
	if !once {
		return r.fast.ReplaceAllString(s, by)
	}
	at := r.fast.FindStringSubmatchIndex(s)
	if at == nil {
		return s
	}
	return s[:at[0]] + string(r.fast.ExpandString(nil, by, s, at)) + s[at[1]:]
}

var javaGroup = lazyregexp.New(`\$(\d)`)

// fillTemplate replaces $1$ … in a template by groups of a match; $0$ is all of it.
func fillTemplate(template string, groups []string) string {
	if template == "" {
		template = "$1$"
	}
	var b strings.Builder
	for rest := template; ; {
		i := strings.IndexByte(rest, '$')
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		b.WriteString(rest[:i])
		end := strings.IndexByte(rest[i+1:], '$')
		n, err := 0, error(nil)
		if end > 0 {
			n, err = strconv.Atoi(rest[i+1 : i+1+end])
		}
		if end <= 0 || err != nil {
			b.WriteByte('$')
			rest = rest[i+1:]
			continue
		}
		if n >= 0 && n < len(groups) {
			b.WriteString(groups[n])
		}
		rest = rest[i+2+end:]
	}
}
