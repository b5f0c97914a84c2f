package endpoints

import (
	"net/http"
	"net/url"
)

// Proxied reports whether the environment names a proxy for one of the URLs.
func Proxied(urls []*url.URL) bool {
	for _, u := range urls {
		// A proxy that can't be understood is the driver's to refuse.
		if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); proxy != nil || err != nil {
			return true
		}
	}
	return false
}
