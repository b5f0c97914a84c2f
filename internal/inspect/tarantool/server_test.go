package tarantool

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/protocol"
	"brunt/internal/protocol/iproto"
	"brunt/internal/record"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// program creates what the tests need. The user "watch" may call the functions for statistics, "nobody" may do nothing.
const program = `
local fiber, clock = require('fiber'), require('clock')
box.schema.user.create('watch', {password = 'w4tch-secret', if_not_exists = true})
for _, f in ipairs{'box.stat', 'box.stat.net', 'box.stat.sql', 'box.stat.vinyl', 'box.slab.info', 'box.info', 'box.info.memory'} do
	box.schema.func.create(f, {if_not_exists = true})
	box.schema.user.grant('watch', 'execute', 'function', f, {if_not_exists = true})
end
box.schema.user.create('nobody', {password = 'n0body-secret', if_not_exists = true})
local s = box.schema.space.create('book', {if_not_exists = true})
s:create_index('pk', {if_not_exists = true})
for i = 1, 20000 do s:replace{i, i % 5000, 'book ' .. i} end
box.execute([[CREATE TABLE IF NOT EXISTS sold (id INT PRIMARY KEY, book INT)]])
if box.space.SOLD:len() == 0 then for i = 1, 5000 do box.space.SOLD:insert{i, i % 700} end end
function byowner(owner)
	local n = 0
	for _, t in box.space.book:pairs() do if t[2] == owner then n = n + 1 end end
	return n
end
function compute(s) local till = clock.monotonic() + s while clock.monotonic() < till do end end
function rest(s) fiber.sleep(s) end
function large(n) return string.rep('x', n) end
function get(id) return box.space.book:get(id) end
function garbage(n)
	local all = {}
	for i = 1, n do all[i] = {tostring(i)} end
	return #all
end
function collect() collectgarbage() collectgarbage() end
`

// shared returns the Tarantool of most tests.
func shared(t testing.TB) *testserver.Server {
	t.Helper()
	return servers.Get(t, "shared", func(t testserver.TB) *testserver.Server {
		return testserver.Tarantool(t, testserver.Lua(program), testserver.Settings("net_msg_max = 60"))
	})
}

func url(s *testserver.Server) string {
	return fmt.Sprintf("tarantool://%s:%s@%s", s.User, s.Password, s.Addr)
}

// inspected starts an inspection, runs the load, and ends the inspection.
func inspected(t testing.TB, url string, load func(i *Inspector), operations ...inspect.Operation) *record.Inspection {
	t.Helper()
	i, err := New(url)
	if err != nil {
		t.Fatal(err)
	}
	return inspecttest.Run(t, i, load, operations...)
}

// client returns a session of the load.
func client(t testing.TB, s *testserver.Server) *iproto.Session {
	t.Helper()
	c, err := iproto.OpenSession(context.Background(),
		protocol.Target{Address: s.Addr, User: s.User, Password: s.Password})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// do evaluates a program n times.
func do(t testing.TB, c *iproto.Session, n int, program string) {
	t.Helper()
	for range n {
		if _, err := c.Eval(context.Background(), program); err != nil {
			t.Fatal(err)
		}
	}
}

// once returns a function that evaluates a program.
func once(c *iproto.Session, program string) func() error {
	return func() error {
		if _, err := c.Eval(context.Background(), program); err != nil {
			return err
		}
		return nil
	}
}

// beside runs a load again and again while samples are taken until a condition holds.
func beside(t testing.TB, i *Inspector, holds func() bool, loads ...func() error) {
	t.Helper()
	stop := inspecttest.Repeat(t, loads...)
	defer stop()
	for end := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(end) {
			t.Error("it didn't come about in a minute")
			return
		}
		inspecttest.Sample(t, i, 1)
	}
}

// operation returns an operation of requests that aren't SQL.
func operation(name string, verb protocol.Verb, text string) inspect.Operation {
	return inspect.Operation{Name: name, Done: 100, Requests: []*protocol.Request{{Verb: verb, Text: text}}}
}

// statement returns an operation of one SQL statement.
func statement(name, text string) inspect.Operation {
	return inspect.Operation{Name: name, Done: 100, Statements: []string{text},
		Requests: []*protocol.Request{{Verb: protocol.SQL, Text: text}}}
}
