package jmeter

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// resourcesOf returns the addresses of a page's images, scripts, style sheets and frames, without duplicates.
func (t *thread) resourcesOf(h *httpRequest) (all []*url.URL) {
	base := t.out.url
	only, not := h.embedOnly.eval(t), h.embedNot.eval(t)
	seen := map[string]bool{}
	add := func(ref string) {
		u, err := base.Parse(strings.TrimSpace(ref))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || seen[u.String()] ||
			len(all) >= mostResources {
			return
		}
		u.Fragment = ""
		seen[u.String()] = true
		if !t.wanted(u.String(), only, true) || t.wanted(u.String(), not, false) {
			return
		}
		all = append(all, u)
	}
	z := html.NewTokenizer(strings.NewReader(t.total.text()))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return all
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			if token.Data == "base" {
				if u, err := base.Parse(attribute(&token, "href")); err == nil {
					base = u
				}
				continue
			}
			if ref := resource(&token); ref != "" {
				add(ref)
			}
		}
	}
}

// wanted reports whether a pattern matches all of a URL; without a pattern, fallback.
func (t *thread) wanted(u, pattern string, fallback bool) bool {
	if pattern == "" {
		return fallback
	}
	re, err := t.program.regex(pattern)
	return err == nil && re.matches(u, true)
}

func attribute(t *html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// resource returns what a tag refers to, if a browser would fetch it.
func resource(t *html.Token) string {
	switch t.Data {
	case "img", "script", "embed", "frame", "iframe", "bgsound", "source":
		return attribute(t, "src")
	case "input":
		if strings.EqualFold(attribute(t, "type"), "image") {
			return attribute(t, "src")
		}
	case "link":
		rel := strings.ToLower(attribute(t, "rel"))
		if strings.Contains(rel, "stylesheet") || strings.Contains(rel, "icon") {
			return attribute(t, "href")
		}
	case "body", "table", "td", "tr", "th":
		return attribute(t, "background")
	case "applet":
		return attribute(t, "code")
	case "object":
		return attribute(t, "data")
	}
	return ""
}
