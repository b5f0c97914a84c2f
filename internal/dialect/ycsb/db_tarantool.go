package ycsb

import (
	"fmt"
	"strings"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/driver"
	"brunt/internal/plan"
)

func tarantoolDatabase() *Database {
	return &Database{
		Names: []string{"tarantool"}, About: "Tarantool, by iproto's own requests on a space", Protocol: "iproto",
		Properties: []Property{
			{"tarantool.addr", "127.0.0.1:3301", "addresses, separated by commas"},
			{"tarantool.user", "guest", "user"},
			{"tarantool.password", "", "password"},
			{"tarantool.engine", "memtx", "memtx or vinyl"},
		},
		Target: func(set *properties.Reader) plan.Target {
			return plan.Target{
				Protocol: "iproto", Addresses: list(set.Text("tarantool.addr", "127.0.0.1:3301")),
				User: set.Text("tarantool.user", ""), Password: set.Text("tarantool.password", ""),
			}
		},
		Store: func(s *Settings, set *properties.Reader) Store {
			return &tarantoolStore{kvStore{s: s}, set.Choice("tarantool.engine", "memtx", "memtx", "vinyl")}
		},
	}
}

// tarantoolStore keeps records as tuples of the key and one element a field.
type tarantoolStore struct {
	kvStore
	engine string
}

func (t *tarantoolStore) Prepare(drop bool) []driver.Request {
	var b strings.Builder
	if drop {
		fmt.Fprintf(&b, "if box.space[%[1]q] then box.space[%[1]q]:drop() end ", t.s.Table)
	}
	fmt.Fprintf(&b, "local s = box.schema.space.create(%q, {engine = %q, if_not_exists = true, format = {{'ycsb_key', 'string'}", t.s.Table, t.engine)
	for _, f := range t.s.Fields {
		fmt.Fprintf(&b, ", {%q, 'string', is_nullable = true}", f)
	}
	b.WriteString("}}) s:create_index('primary', {parts = {{1, 'string'}}, if_not_exists = true})")
	return []driver.Request{{Verb: driver.Eval, Text: b.String()}}
}

// Insert overwrites, so that a load can be repeated.
func (t *tarantoolStore) Insert([]string) []Request {
	return t.request(driver.Replace, nil, KeySlot, FieldSlots)
}
