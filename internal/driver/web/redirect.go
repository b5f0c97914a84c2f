package web

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
)

// redirect is the request that an answer sends the client on to (RFC 9110, 15.4), and where it goes;
// nil if the answer is none that does. body is that of the request answered.
func redirect(ctx context.Context, from *http.Request, answer *http.Response, body []byte) (*http.Request, origin) {
	location := answer.Header.Get("Location")
	method := from.Method
	switch answer.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound:
		if method == http.MethodPost {
			method = http.MethodGet
		}
	case http.StatusSeeOther:
		if method != http.MethodHead {
			method = http.MethodGet
		}
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, origin{}
	}
	base, err := whole(from.URL)
	if err != nil || location == "" {
		return nil, origin{}
	}
	target, err := base.Parse(location)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" {
		return nil, origin{}
	}
	target.Fragment, target.RawFragment, target.User = "", "", nil
	out := (&http.Request{
		Method: method, URL: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: from.Header.Clone(), Close: from.Close,
	}).WithContext(ctx)
	if target.Host == base.Host {
		out.Host = from.Host
	} else {
		out.Header.Del("Authorization")
		out.Header.Del("Cookie")
	}
	if method == from.Method && len(body) > 0 && from.ContentLength > 0 {
		out.ContentLength, out.Body = int64(len(body)), io.NopCloser(bytes.NewReader(body))
	} else {
		out.Header.Del("Content-Type")
	}
	return out, originOf(target)
}

// whole is a request's URL with the path that Opaque may hold.
func whole(u *url.URL) (*url.URL, error) {
	if u.Opaque == "" {
		return u, nil
	}
	return url.Parse(u.Scheme + "://" + u.Host + u.Opaque)
}
