package ycsb

import (
	"errors"
	"fmt"
	"strings"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

func redisDatabase() *Database {
	return &Database{
		Names: []string{"redis", "valkey"}, About: "Redis, Valkey and the like, single or cluster", Protocol: "redis",
		LoadPipeline: 8,
		Properties:   propertiesOf("redis"),
		Translate: func(t *translation) {
			t.addresses("redis.host", "redis.port", "redis.addr", "6379")
			t.choose("redis.cluster", "redis.mode", map[string]string{"true": "cluster", "false": "single"})
			t.without("redis.timeout")
		},
		Target: func(set *properties.Reader) plan.Target {
			mode := set.Choice("redis.mode", "single", "single", "cluster")
			t := plan.Target{
				Protocol: "redis", Addresses: list(set.Text("redis.addr", "localhost:6379")),
				User: set.Text("redis.username", ""), Password: set.Text("redis.password", ""), Database: set.Text("redis.db", ""),
				TLS: plan.TLS{
					CAFile: set.Text("redis.tls_ca", ""), CertFile: set.Text("redis.tls_cert", ""),
					KeyFile: set.Text("redis.tls_key", ""),
				},
			}
			network := set.Choice("redis.network", "tcp", "tcp", "unix")
			for _, a := range t.Addresses {
				if network == "unix" && !strings.HasPrefix(a, "/") {
					set.Keep(fmt.Errorf("redis.network=unix: redis.addr=%s isn't the path of a socket, which begins with a slash", a))
				}
			}
			if mode == "cluster" {
				t.Options = map[string]string{"mode": "cluster"}
				if n, ok := set.Get("redis.max_redirects"); ok && n != "0" {
					t.Options["max_redirects"] = n
				}
				if set.Bool("redis.read_only", false) {
					t.Options["read_only"] = "on"
				}
			}
			t.TLS.InsecureSkipVerify = set.Bool("redis.tls_insecure_skip_verify", false)
			t.TLS.Enabled = t.TLS.CAFile != "" || t.TLS.CertFile != "" || t.TLS.InsecureSkipVerify
			return t
		},
		Notes: func(s *Settings) []string {
			var out []string
			if v, ok := s.Set.Get("redis.pool_size"); !ok || v == "0" {
				out = append(out, fmt.Sprintf(
					"Setting redis.pool_size=%d (from <threadcount>) given you haven't specified a value.", s.Threads))
			}
			return append(out, "Using the redis datatype: "+s.Set.Text("redis.datatype", "hash"))
		},
	}
}

func newRedisStore(s *Settings, set *properties.Reader) Store {
	kind := set.Choice("redis.datatype", "hash", "hash", "string", "json")
	if kind == "json" && s.Integrity {
		set.Keep(errors.New("dataintegrity=true: redis.datatype=json can't be checked; use hash or string"))
	}
	return &redisStore{s: s, kind: kind}
}

// redisStore stores a record under table/key, as a hash or as JSON.
type redisStore struct {
	s    *Settings
	kind string // hash, string or json
}

func command(slots []Slot, words ...string) Request {
	return Request{Request: protocol.Request{Verb: protocol.Command, Words: words}, Slots: slots}
}

func (r *redisStore) key() string { return r.s.Table + "/$1" }

func (r *redisStore) Prepare(drop bool) []protocol.Request {
	if !drop {
		return nil
	}
	return []protocol.Request{{Verb: protocol.Command, Words: []string{"FLUSHDB"}}}
}

// Documents reports whether reads capture a JSON document.
func (r *redisStore) Documents() bool { return r.kind == "string" }

func (r *redisStore) Read(fields []string, check bool) []Request {
	var words []string
	captures := 1
	switch r.kind {
	case "hash":
		words = append([]string{"HMGET", r.key()}, fields...)
		captures = len(fields)
	case "string":
		words = []string{"GET", r.key()}
	default:
		words = []string{"JSON.GET", r.key()}
		for _, f := range fields {
			words = append(words, "$$."+f)
		}
	}
	c := command([]Slot{KeySlot}, words...)
	if check {
		for i := range captures {
			c.Capture = append(c.Capture, protocol.Capture{Column: i})
		}
	}
	return []Request{c}
}

func (r *redisStore) Scan([]string) []Request { return nil }

func (r *redisStore) Insert(fields []string) []Request {
	switch r.kind {
	case "hash":
		return r.Update(fields)
	case "string":
		return []Request{command([]Slot{KeySlot, DocumentSlot}, "SET", r.key(), "$2", "NX")}
	}
	return []Request{command([]Slot{KeySlot, TextDocumentSlot}, "JSON.SET", r.key(), "$$", "$2", "NX")}
}

// overwrite returns the request that replaces a record by another whole one.
func (r *redisStore) overwrite(fields []string) []Request {
	all := r.Insert(fields)
	all[0].Words = all[0].Words[:len(all[0].Words)-1] // without NX
	return all
}

// Update changes fields. A string contains the whole record, so an update of one field reads it first and then writes a
// whole record.
func (r *redisStore) Update(fields []string) []Request {
	switch r.kind {
	case "hash":
		words := []string{"HSET", r.key()}
		for i, f := range fields {
			words = append(words, f, fmt.Sprintf("$%d", i+2))
		}
		return []Request{command([]Slot{KeySlot, FieldSlots}, words...)}
	case "string":
		if len(fields) < len(r.s.Fields) {
			return append(r.Read(fields, false), r.overwrite(fields)...)
		}
		return r.overwrite(fields)
	}
	if len(fields) > 1 {
		return r.overwrite(fields)
	}
	return []Request{command([]Slot{KeySlot, FieldSlots}, "JSON.SET", r.key(), "$$."+fields[0], `"$2"`)}
}

func (r *redisStore) Delete() []Request {
	return []Request{command([]Slot{KeySlot}, "DEL", r.key())}
}
