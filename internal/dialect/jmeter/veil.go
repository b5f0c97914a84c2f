package jmeter

import (
	"fmt"
	"html"
	"regexp"
	"strings"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/base/secret"
)

// Where a test plan has secrets: the passwords of authorizations, proxies and databases, and arguments, headers and
// cookies whose names say so; and in URLs and bodies.
var (
	passwords = lazyregexp.New(
		`(<stringProp name="(?:Authorization\.password|HTTPSampler\.proxyPass|password)">)([^<]+)(</stringProp>)`)
	named      = lazyregexp.New(`(?s)<elementProp\b[^>]*elementType="(?:HTTPArgument|Argument|Header|Cookie)".*?</elementProp>`)
	namedTests = lazyregexp.New(
		`(?s)<elementProp\b[^>]*?name="([^"]*)"|<stringProp name="(?:Argument|Header)\.name">([^<]*)</stringProp>`)
	values = lazyregexp.New(`(<stringProp name="(?:(?:Argument|Header)\.value|Cookie\.value)">)([^<]+)(</stringProp>)`)
	places = lazyregexp.New(`(<stringProp name="(?:HTTPSampler\.(?:path|domain)|(?:Argument|Header)\.value|dbUrl|` +
		`connectionProperties)">)([^<]+)(</stringProp>)`)
)

// veiled is the first part of the names of the properties that have the secrets of a plan.
const veiled = "brunt.password"

// veil replaces the secrets in a test plan by calls of __P, and returns them as properties. Line breaks stay where they
// are. Values with variables or functions aren't secrets themselves.
func veil(text string) (out string, properties map[string]string) {
	properties = map[string]string{}
	property := func(value string) string {
		name := fmt.Sprint(veiled, len(properties)+1)
		properties[name] = value
		return "${__P(" + name + ")}"
	}
	hide := func(of *regexp.Regexp, text string) string {
		return of.ReplaceAllStringFunc(text, func(found string) string {
			parts := of.FindStringSubmatch(found)
			if strings.Contains(parts[2], "${") || strings.Contains(parts[2], "\n") {
				return found
			}
			return parts[1] + property(html.UnescapeString(parts[2])) + parts[3]
		})
	}
	text = hide(passwords(), text)
	text = named().ReplaceAllStringFunc(text, func(block string) string {
		for _, found := range namedTests().FindAllStringSubmatch(block, -1) {
			if secret.Name(html.UnescapeString(found[1] + found[2])) {
				return hide(values(), block)
			}
		}
		return block
	})
	return places().ReplaceAllStringFunc(text, func(found string) string {
		parts := places().FindStringSubmatch(found)
		whole := html.UnescapeString(parts[2])
		secrets := secret.Find(whole)
		if len(secrets) == 0 {
			return found
		}
		var b strings.Builder
		at := 0
		for _, f := range secrets {
			b.WriteString(whole[at:f.From] + property(whole[f.From:f.To]))
			at = f.To
		}
		return parts[1] + html.EscapeString(b.String()+whole[at:]) + parts[3]
	}), properties
}
