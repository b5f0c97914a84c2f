package ycsb

import (
	"encoding/json"
	"fmt"
	"strings"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

func httpDatabase() *Database {
	return &Database{
		Names: []string{"http", "rest"}, About: "key-value service over HTTP: PUT, GET and DELETE of /table/key",
		Protocol:   "http",
		Overwrites: true,
		Properties: propertiesOf("http"),
		Translate: func(t *translation) {
			t.refuse("url.prefix", "give http.addr and http.prefix instead: records are at addr/prefix/table/key")
			t.without("timeout.con", "timeout.read", "timeout.exec")
		},
		Target: func(set *properties.Reader) plan.Target {
			addresses, secure := withoutScheme(set.Text("http.addr", "127.0.0.1:80"))
			return plan.Target{Protocol: "http", Addresses: addresses,
				TLS: plan.TLS{Enabled: secure, InsecureSkipVerify: set.Bool("http.tls_insecure_skip_verify", false)}}
		},
	}
}

func newHTTPStore(s *Settings, set *properties.Reader) Store {
	return &httpStore{s: s, prefix: strings.TrimSuffix(set.Text("http.prefix", ""), "/")}
}

// httpStore stores a record as a JSON document under /table/key. An update is a PUT of an object with the updated
// fields.
type httpStore struct {
	s      *Settings
	prefix string
}

func (h *httpStore) request(method string, body []byte, slots ...Slot) []Request {
	web := &protocol.Web{Method: method, Path: fmt.Sprintf("%s/%s/$1", h.prefix, h.s.Table), Body: body}
	if body != nil {
		web.Header = [][2]string{{"Content-Type", "application/json"}}
	}
	return []Request{{Request: protocol.Request{Verb: protocol.HTTP, Web: web}, Slots: slots}}
}

func (h *httpStore) Prepare(bool) []protocol.Request { return nil }

func (h *httpStore) Read(fields []string, check bool) []Request {
	r := h.request("GET", nil, KeySlot)
	if check {
		for _, f := range fields {
			r[0].Capture = append(r[0].Capture, protocol.Capture{Name: "json:" + f})
		}
	}
	return r
}

func (h *httpStore) Scan([]string) []Request { return nil }

func (h *httpStore) Insert(fields []string) []Request {
	var b strings.Builder
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(f)
		fmt.Fprintf(&b, `%s:"$%d"`, name, i+2)
	}
	b.WriteByte('}')
	return h.request("PUT", []byte(b.String()), KeySlot, FieldSlots)
}

func (h *httpStore) Update(fields []string) []Request { return h.Insert(fields) }

func (h *httpStore) Delete() []Request { return h.request("DELETE", nil, KeySlot) }
