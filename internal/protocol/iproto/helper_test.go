package iproto

import (
	"context"
	"fmt"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver"
)

const lua = `
local s = box.schema.space.create('kv', {if_not_exists = true, format = {{'id', 'unsigned'}, {'name', 'string', is_nullable = true}, {'n', 'any', is_nullable = true}}})
s:create_index('primary', {if_not_exists = true})
s:create_index('names', {parts = {{2, 'string', is_nullable = true}}, unique = false, if_not_exists = true})
box.schema.space.create('pair.s', {if_not_exists = true, format = {{'a', 'integer'}, {'b', 'string'}, {'c', 'any', is_nullable = true}}}):create_index('pk', {parts = {1, 'integer', 2, 'string'}, if_not_exists = true})
function add(a, b) return a + b end
function tuples() return box.space.kv:select() end
function one() return box.space.kv:get(1) end
function field() return {answer = 42} end
function fail() box.error(box.error.READONLY) end
started = 0
function slow() started = started + 1 require('fiber').sleep(30) return 1 end
function big(n) return string.rep('x', n) end
function push() box.session.push({1, 2}) return 7 end
function many(n) local t = {} for i = 1, n do t[i] = {i, 'name' .. i} end return t end
function echo(...) return ... end
`

// shim makes a Tarantool look like a Picodata that also accepts SQL by CALL.
const shim = `
box.schema.func.create('.proc_version_info', {if_not_exists = true, body = [[function() return {picodata_version = '25.3.1', rpc_api_version = '1.0.0'} end]]})
box.schema.func.create('.proc_sql_dispatch', {if_not_exists = true, body = [[function(q, p)
  local r, err = box.execute((q:gsub('^(INSERT)(.-) ON CONFLICT DO REPLACE$', '%1 OR REPLACE%2')), p)
  if r == nil then error(err) end
  return r
end]]})
`

func target(s *testserver.Server) protocol.Target {
	return protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, ConnectTimeout: time.Minute}
}

// program returns a program of requests, with their numbers set.
func program(requests ...protocol.Request) *protocol.Program {
	for i := range requests {
		requests[i].ID = i
		if requests[i].Name == "" {
			requests[i].Name = fmt.Sprint("r", i)
		}
	}
	return &protocol.Program{Requests: requests}
}

func kinds(n int) []gen.Kind { return make([]gen.Kind, n) }

func num(i int64) gen.Value  { return gen.Value{Kind: gen.Int, I: i} }
func txt(s string) gen.Value { return gen.Value{Kind: gen.String, B: []byte(s)} }
func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

// tiers opens the program in both tiers.
func tiers(t *testing.T, to protocol.Target, p *protocol.Program) map[string]protocol.Conn {
	t.Helper()
	ctx, cancel := within()
	defer cancel()
	library, err := New().Dial(ctx, to, p)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { library.Close() })
	return map[string]protocol.Conn{
		"library": library,
		"codec":   protocoltest.Take(t, New(), to, p, 1<<16),
		"torn":    protocoltest.Take(t, New(), to, p, 3),
	}
}

// show returns the content of a reply as text.
func show(r *protocol.Reply) string {
	s := fmt.Sprintf("%v %s rows=%d affected=%d missing=%v", r.Class, r.Code, r.Rows, r.Affected, r.Missing)
	for i := range r.Captured {
		s += " " + protocoltest.Text(&r.Captured[i])
	}
	return s
}
