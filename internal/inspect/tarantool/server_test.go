package tarantool

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/inspect"
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
	return inspectedBy(t, i, load, operations...)
}

func inspectedBy(t testing.TB, i *Inspector, load func(i *Inspector),
	operations ...inspect.Operation) *record.Inspection {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	defer i.Close()
	if err := i.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	load(i)
	out, err := i.End(ctx, inspect.Phase{Name: "load"}, inspect.Load{Operations: operations})
	if err != nil {
		t.Fatal(err)
	}
	return out
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

// sampled takes n samples.
func sampled(t testing.TB, i *Inspector, n int) {
	t.Helper()
	for k := range n {
		if err := i.Sample(context.Background(), time.Duration(k)*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// beside runs a load again and again while samples are taken until a condition holds.
func beside(t testing.TB, i *Inspector, holds func() bool, loads ...func()) {
	t.Helper()
	stop := make(chan struct{})
	var group sync.WaitGroup
	for _, load := range loads {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					load()
				}
			}
		})
	}
	for end := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(end) {
			t.Error("it didn't come about in a minute")
			break
		}
		sampled(t, i, 1)
	}
	close(stop)
	group.Wait()
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

// expect fails the test unless the finding is there, and its texts contain the given ones.
func expect(t testing.TB, in *record.Inspection, id string, texts ...string) {
	t.Helper()
	for _, f := range in.Findings {
		if f.ID != id {
			continue
		}
		whole := fmt.Sprint(f.Subject, " ", f.Evidence, " ", f.Advice)
		for _, text := range texts {
			if !strings.Contains(whole, text) {
				t.Errorf("%s doesn't say %q: %s", id, text, whole)
			}
		}
		if f.Severity == "" || f.Subject == "" || f.Evidence.IsZero() || f.Advice.IsZero() {
			t.Errorf("a part is missing: %+v", f)
		}
		return
	}
	t.Fatalf("no finding %s among %+v\nwindow %+v", id, in.Findings, in.Windows[0].Counters)
}
