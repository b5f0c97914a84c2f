package export

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
)

// endpoint is where a destination's requests go and what they carry beside their body: the part of a
// destination that is alike in all.
type endpoint struct {
	shown   string
	target  string
	user    *url.Userinfo
	headers []label // over the user
}

// newEndpoint takes an address, with a usual path where it has none.
func newEndpoint(kind string, u *url.URL, path string) endpoint {
	at := *u
	at.User = nil
	if at.Path == "" || at.Path == "/" {
		at.Path = path
	}
	return endpoint{shown: kind + " " + u.Host, target: at.String(), user: u.User}
}

func (e *endpoint) name() string { return e.shown }

func (e *endpoint) request(ctx context.Context, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if e.user != nil {
		password, _ := e.user.Password()
		r.SetBasicAuth(e.user.Username(), password)
	}
	for _, h := range e.headers {
		r.Header.Set(h.name, h.value)
	}
	return r, nil
}

func (*endpoint) accepted([]byte) error { return nil }
