package endpoints

import (
	"net/http"
	"net/url"
)

// Proxied reports whether the environment sets a proxy for one of the URLs.
func Proxied(urls []*url.URL) bool {
	for _, u := range urls {
		// The driver reports an invalid proxy setting.
		if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); proxy != nil || err != nil {
			return true
		}
	}
	return false
}
