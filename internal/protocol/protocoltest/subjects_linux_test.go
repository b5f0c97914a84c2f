package protocoltest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/etcd"
	"brunt/internal/protocol/http"
	"brunt/internal/protocol/iproto"
	"brunt/internal/protocol/postgres"
	"brunt/internal/protocol/redis"
	"brunt/test/testserver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	goredis "github.com/redis/go-redis/v9"
	"github.com/tarantool/go-tarantool/v2"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// kindsOf returns the kinds of parameters with these values.
func kindsOf(args []any) []gen.Kind {
	kinds := make([]gen.Kind, len(args))
	for i, v := range args {
		kinds[i] = gen.Int
		if _, ok := v.(string); ok {
			kinds[i] = gen.String
		}
	}
	return kinds
}

// postgresSubject compares PostgreSQL's codec with pgx.
func postgresSubject(t *testing.T) subject {
	server := servers.Get(t, "postgres", func(t testserver.TB) *testserver.Server {
		return testserver.Postgres(t, testserver.Password("secret"), testserver.TLS())
	})
	target := protocol.Target{Address: server.Addr, User: server.User, Password: server.Password,
		Database: server.Database}
	secure := target
	secure.TLS = server.TLS
	library, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", target.User,
		target.Password, target.Address, target.Database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { library.Close(context.Background()) })
	if _, err := library.Exec(t.Context(), `DROP TABLE IF EXISTS agreed;
		CREATE TABLE agreed (id bigint PRIMARY KEY, v text); INSERT INTO agreed SELECT g, 'v' || g FROM generate_series(1, 9) g`,
	); err != nil {
		t.Fatal(err)
	}
	s := subject{name: "pg", driver: postgres.New(), pipeline: 4, target: target, secure: &secure}
	for _, c := range []struct {
		sql    string
		args   []any
		simple bool
	}{
		{"SELECT 1::int2, -2::int4, 9223372036854775807::int8, 1.5::float8, true, 'ж''\"'::text, NULL::int, ''::text", nil, false},
		{"SELECT 1::int2, -2::int4, 9223372036854775807::int8, 1.5::float8, true, 'ж''\"'::text, NULL::int, ''::text", nil, true},
		{`SELECT '\x00ff'::bytea, timestamptz '2001-02-03 04:05:06.789+03', date '2001-02-03'`, nil, false},
		{"SELECT g, repeat('x', g) FROM generate_series(0, $1::int) g", []any{int64(300)}, false},
		{"SELECT * FROM agreed WHERE id = $1", []any{int64(5)}, false},
		{"SELECT * FROM agreed WHERE v = $1 AND id < $2", []any{"v7", int64(100)}, false},
		{"SELECT v FROM agreed WHERE id = $1", []any{int64(77)}, false},
		{"UPDATE agreed SET v = v WHERE id = $1", []any{int64(3)}, false},
		{"UPDATE agreed SET v = v WHERE id = $1 RETURNING v", []any{int64(4)}, false},
		{"SELECT 1 / ($1::bigint - $1::bigint)", []any{int64(4)}, false},
		{"SELECT id FROM nowhere", nil, true}, {"INSERT INTO agreed VALUES ($1, 'twice')", []any{int64(1)}, false},
		{"SELECT FROM agreed WHERE false", nil, false}, {"SELECT repeat('y', $1::int)", []any{int64(300_000)}, false},
	} {
		args := c.args
		if c.simple {
			args = append([]any{pgx.QueryExecModeSimpleProtocol}, args...)
		}
		s.queries = append(s.queries, query{
			request: protocol.Request{Name: c.sql, Verb: protocol.SQL, Text: c.sql, Simple: c.simple, Params: kindsOf(c.args)},
			args:    c.args,
			client: func() (a answer, err error) {
				rows, err := library.Query(t.Context(), c.sql, args...)
				for err == nil && rows.Next() {
					values, err := rows.Values()
					if err != nil {
						return a, err
					}
					line := []string{}
					for _, v := range values {
						line = append(line, text(v))
					}
					a.rows = append(a.rows, line)
				}
				if err == nil {
					err = rows.Err()
				}
				var refused *pgconn.PgError
				if errors.As(err, &refused) {
					return answer{failure: refused.Code}, nil
				}
				tag := rows.CommandTag()
				a.missing = tag.RowsAffected() == 0
				return a, err
			},
		})
	}
	return s
}

func redis2Subject(t *testing.T) subject { return redisSubject(t, 2) }
func redis3Subject(t *testing.T) subject { return redisSubject(t, 3) }

// redisSubject compares Redis' codec with go-redis, in one version of the protocol.
func redisSubject(t *testing.T, version int) subject {
	server := servers.Redis(t)
	library := goredis.NewClient(&goredis.Options{Addr: server.Addr, Protocol: version, DisableIdentity: true})
	t.Cleanup(func() { library.Close() })
	for _, words := range [][]any{
		{"FLUSHDB"}, {"SET", "text", "välue"}, {"SET", "binary", "\x00\r\n$-1\r\n\xff"}, {"HSET", "hash", "b", "2", "a", "1"},
		{"RPUSH", "list", "x", "", "y"}, {"SADD", "set", "one"}, {"ZADD", "sorted", "1.5", "a", "-inf", "b"},
		{"XADD", "stream", "1-1", "k", "v"}, {"SET", "long", strings.Repeat("0123456789", 20_000)},
	} {
		if err := library.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	options := map[string]string{"resp": fmt.Sprint(version)}
	s := subject{name: fmt.Sprint("redis, RESP", version), driver: redis.New(), pipeline: 8,
		target: protocol.Target{Address: server.Addr, Options: options}}
	for _, words := range [][]string{
		{"PING"}, {"GET", "text"}, {"GET", "binary"}, {"GET", "nothing"}, {"STRLEN", "text"}, {"SET", "again", "same"},
		{"MGET", "text", "text", "binary"}, {"HGETALL", "hash"}, {"HGETALL", "nothing"}, {"LRANGE", "list", "0", "-1"},
		{"config", "get", "maxmemory*"}, {"SMEMBERS", "set"},
		{"ZRANGE", "sorted", "0", "-1", "WITHSCORES"}, {"ZSCORE", "sorted", "a"},
		{"XRANGE", "stream", "-", "+"}, {"EVAL", "return {1, {2, {3, 'x'}}, 'y', false, {}}", "0"},
		{"EVAL", "return redis.status_reply('fine')", "0"},
		{"EVAL", "redis.setresp(3); return {true, {double=3.5}, {map={a=1}}, {set={b=true}}, " +
			"{big_number='123456789012345678901'}}", "0"},
		{"EVAL", "redis.setresp(3); return {verbatim_string={format='txt', string='some text'}}", "0"},
		{"COMMAND", "DOCS", "GET"}, {"GETRANGE", "long", "0", "-1"}, {"NOSUCH"}, {"LPUSH", "text", "x"},
	} {
		name := fmt.Sprintf("%.60q", words)
		s.queries = append(s.queries, query{
			request: protocol.Request{Name: name, Verb: protocol.Command, Words: words},
			client: func() (answer, error) {
				list := make([]any, len(words))
				for i, w := range words {
					list[i] = w
				}
				v, err := library.Do(t.Context(), list...).Result()
				var refused goredis.Error
				switch {
				case errors.Is(err, goredis.Nil):
					return answer{missing: true}, nil
				case errors.As(err, &refused):
					code, _, _ := strings.Cut(err.Error(), " ")
					return answer{failure: code}, nil
				}
				// Its HGetAll and ConfigGet return maps for lists of RESP2.
				if list, flat := v.([]any); flat && (words[0] == "HGETALL" || words[0] == "config") {
					pairs := map[any]any{}
					for i := 0; i+1 < len(list); i += 2 {
						pairs[list[i]] = list[i+1]
					}
					v = pairs
				}
				a := answer{rows: elements(v)}
				a.missing = words[0] == "HGETALL" && len(a.rows) == 0
				return a, err
			},
		})
	}
	return s
}

// elements returns the rows of an answer of Redis: one for each element of a list or pair of a map.
func elements(v any) (rows [][]string) {
	switch x := v.(type) {
	case []any:
		for _, element := range x {
			rows = append(rows, []string{text(element)})
		}
	case map[any]any:
		byName := map[string]any{}
		for key, element := range x {
			byName[fmt.Sprint(key)] = element
		}
		for _, key := range sorted(byName) {
			rows = append(rows, []string{text(key), text(byName[key])})
		}
	default:
		rows = [][]string{{text(v)}}
	}
	return rows
}

// iprotoSubject compares Tarantool's codec with go-tarantool.
func iprotoSubject(t *testing.T) subject {
	server := testserver.Tarantool(t, testserver.Lua(`
		local s = box.schema.space.create('kv', {format = {{'id', 'unsigned'}, {'name', 'string', is_nullable = true}, {'n', 'any'}}})
		s:create_index('primary')
		for i = 1, 200 do s:replace{i, 'name' .. i, i * 1.5 + 0.25} end
		s:replace{201, box.NULL, 0.5}
		function field() return {answer = 42} end
		function echo(...) return ... end
		function fail() box.error(box.error.READONLY) end`))
	library, err := tarantool.Connect(t.Context(), tarantool.NetDialer{Address: server.Addr, User: server.User,
		Password: server.Password}, tarantool.Opts{Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { library.Close() })
	s := subject{name: "iproto", driver: iproto.New(), pipeline: 8,
		target: protocol.Target{Address: server.Addr, User: server.User, Password: server.Password}}
	for _, c := range []struct {
		verb protocol.Verb
		text string
		args []any
		ask  tarantool.Request
	}{
		{protocol.Select, "kv", nil, tarantool.NewSelectRequest("kv").Limit(1000)},
		{protocol.SQL, `SELECT "id", "name" FROM "kv" ORDER BY 1 LIMIT 3`, nil,
			tarantool.NewExecuteRequest(`SELECT "id", "name" FROM "kv" ORDER BY 1 LIMIT 3`)},
		{protocol.SQL, `SELECT "name" FROM "kv" WHERE "id" = $1`, []any{int64(7)},
			tarantool.NewExecuteRequest(`SELECT "name" FROM "kv" WHERE "id" = ?`).Args([]any{7})},
		{protocol.SQL, `SELECT "name" FROM "kv" WHERE "id" = $1`, []any{int64(777)},
			tarantool.NewExecuteRequest(`SELECT "name" FROM "kv" WHERE "id" = ?`).Args([]any{777})},
		{protocol.SQL, `SELECT * FROM "nowhere"`, nil, tarantool.NewExecuteRequest(`SELECT * FROM "nowhere"`)},
		{protocol.Call, "echo", []any{int64(-5), "x"}, tarantool.NewCallRequest("echo").Args([]any{-5, "x"})},
		{protocol.Call, "fail", nil, tarantool.NewCallRequest("fail")},
		{protocol.Call, "nosuch", nil, tarantool.NewCallRequest("nosuch")},
		{protocol.Eval, "return 1, 'two', true", nil, tarantool.NewEvalRequest("return 1, 'two', true")},
		{protocol.Eval, "return", nil, tarantool.NewEvalRequest("return")},
		{protocol.Eval, "return string.rep('x', 200000)", nil, tarantool.NewEvalRequest("return string.rep('x', 200000)")},
		{protocol.Eval, "error('no')", nil, tarantool.NewEvalRequest("error('no')")},
	} {
		s.queries = append(s.queries, query{
			request: protocol.Request{Name: fmt.Sprint(c.text, c.args), Verb: c.verb, Text: c.text, Params: kindsOf(c.args),
				ExpectError: strings.Contains(c.text, "nowhere")},
			args: c.args,
			client: func() (answer, error) {
				a, err := tarantoolAnswer(library.Do(c.ask).Get())
				a.missing = c.verb == protocol.SQL && a.failure == "" && len(a.rows) == 0
				return a, err
			},
		})
	}
	return s
}

// tarantoolAnswer returns a row for each tuple, and one row for all values that a function or program returns.
func tarantoolAnswer(data []any, err error) (a answer, _ error) {
	var refused tarantool.Error
	if errors.As(err, &refused) {
		return answer{failure: fmt.Sprint(uint32(refused.Code))}, nil
	}
	row := func(values []any) (line []string) {
		for _, v := range values {
			line = append(line, text(v))
		}
		return line
	}
	loose := false
	for _, element := range data {
		if tuple, ok := element.([]any); ok {
			a.rows = append(a.rows, row(tuple))
		} else {
			loose = true
		}
	}
	if loose {
		a.rows = [][]string{row(data)}
	}
	return a, err
}

// httpSubject compares the codec of HTTP/1.1 with net/http.
func httpSubject(t *testing.T) subject {
	start := func(key string, options ...testserver.Option) *testserver.Server {
		return servers.Get(t, key, func(t testserver.TB) *testserver.Server {
			return testserver.Nginx(t, append(options, testserver.Locations(`
location = /moved { absolute_redirect off; return 302 /elsewhere; }
location = /no { return 404 "no"; }
location = /broken { return 503 "broken"; }
location = /last { keepalive_timeout 0; return 200 "last"; }
location = /page.shtml { ssi on; ssi_types *; return 200 "<!--# echo var='arg_q' -->."; }
location = /who { return 200 "$http_x_id $arg_q $request_method"; }`))...)
		})
	}
	server, secured := start("nginx"), start("nginx, TLS", testserver.TLS())
	secure := protocol.Target{Address: secured.Addr, TLS: secured.TLS, Options: map[string]string{"http2": "off"}}
	s := subject{name: "http", driver: http.New(), whole: true, pipeline: 1,
		target: protocol.Target{Address: server.Addr}, secure: &secure}
	client := &nethttp.Client{
		Timeout:       30 * time.Second,
		Transport:     &nethttp.Transport{DisableCompression: true},
		CheckRedirect: func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse },
	}
	t.Cleanup(client.CloseIdleConnections)
	for _, c := range []struct {
		method, path, capture string
		args                  []any
		body                  string
	}{
		{"GET", "/", "Content-Type", nil, ""}, {"HEAD", "/", "Content-Length", nil, ""},
		{"GET", "/moved", "Location", nil, ""},
		{"GET", "/no", "", nil, ""}, {"GET", "/broken", "", nil, ""}, {"GET", "/last", "Connection", nil, ""},
		{"GET", "/page.shtml?q=$1", "Content-Type", []any{"a"}, ""}, {"GET", "/who?q=$1", "", []any{int64(5)}, ""},
		{"POST", "/who?q=1", "", []any{"body"}, "$1"},
	} {
		web := &protocol.Web{Method: c.method, Path: c.path, Header: [][2]string{{"X-Id", "7"}}, Body: []byte(c.body)}
		request := protocol.Request{Name: c.method + " " + c.path, Verb: protocol.HTTP, Web: web, Params: kindsOf(c.args)}
		if c.capture != "" {
			request.Capture = []protocol.Capture{{Name: "header:" + c.capture, Kind: gen.String}}
		}
		var sum uint64
		fill := func(s string) string {
			if len(c.args) > 0 {
				return strings.ReplaceAll(s, "$1", fmt.Sprint(c.args[0]))
			}
			return s
		}
		s.queries = append(s.queries, query{
			request: request, args: c.args,
			client: func() (a answer, err error) {
				r, err := nethttp.NewRequest(c.method, "http://"+server.Addr+fill(c.path), strings.NewReader(fill(c.body)))
				if err != nil {
					return a, err
				}
				r.Header.Set("X-Id", "7")
				got, err := client.Do(r)
				if err != nil {
					return a, err
				}
				defer got.Body.Close()
				h := fnv.New64a()
				_, err = io.Copy(h, got.Body)
				sum = h.Sum64()
				a.status = got.StatusCode
				if got.StatusCode >= 400 {
					a.failure = fmt.Sprint(got.StatusCode)
				}
				if c.capture != "" {
					value := got.Header.Get(c.capture)
					if c.capture == "Connection" && got.Close { // net/http removes this header
						value = "close"
					}
					a.rows = [][]string{{text(value)}}
				}
				return a, err
			},
			adjust: func(r *protocol.Request) { r.Web.Hash, r.Web.HashEvery = sum, 1 },
		})
	}
	return s
}

// etcdSubject compares etcd's codec with etcd's client.
func etcdSubject(t *testing.T) subject {
	server := servers.Etcd(t)
	library, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { library.Close() })
	for i := range 5 {
		record, err := json.Marshal(map[string][]byte{"a": fmt.Append(nil, "one", i),
			"b": bytes.Repeat([]byte{0, 'x'}, i*10_000)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := library.Put(t.Context(), fmt.Sprint("agreed:user", i), string(record)); err != nil {
			t.Fatal(err)
		}
	}
	captured := []protocol.Capture{{Name: "a"}, {Name: "b"}}
	// first returns the first record of an answer as a row.
	first := func(r *clientv3.GetResponse, err error) (a answer, _ error) {
		a.missing = err == nil && len(r.Kvs) == 0
		if err != nil || a.missing {
			a.rows = [][]string{{text(nil), text(nil)}}
			return a, err
		}
		var record map[string]string
		if err := json.Unmarshal(r.Kvs[0].Value, &record); err != nil {
			return a, err
		}
		line := []string{}
		for _, field := range []string{"a", "b"} {
			content, err := base64.StdEncoding.DecodeString(record[field])
			if err != nil {
				return a, err
			}
			line = append(line, text(string(content)))
		}
		a.rows = [][]string{line}
		return a, nil
	}
	s := subject{name: "etcd", driver: etcd.New(), whole: true, pipeline: 16,
		target: protocol.Target{Address: server.Addr}}
	names := map[protocol.Verb]string{protocol.Read: "read", protocol.Scan: "scan", protocol.Insert: "insert",
		protocol.Delete: "delete"}
	add := func(verb protocol.Verb, fields []string, captured []protocol.Capture, client func() (answer, error),
		args ...any) {
		s.queries = append(s.queries, query{
			request: protocol.Request{Name: fmt.Sprintf("%s %v", names[verb], args), Verb: verb, Text: "agreed", Fields: fields,
				Params: kindsOf(args), Capture: captured},
			args: args, client: client,
		})
	}
	for _, key := range []string{"user0", "user1", "user4", "nobody"} {
		add(protocol.Read, nil, captured,
			func() (answer, error) { return first(library.Get(t.Context(), "agreed:"+key)) }, key)
	}
	add(protocol.Scan, nil, captured, func() (answer, error) {
		return first(library.Get(t.Context(), "agreed:user2", clientv3.WithRange("agreed;"), clientv3.WithLimit(2)))
	}, "user2", int64(2))
	add(protocol.Delete, nil, nil, func() (answer, error) {
		r, err := library.Delete(t.Context(), "agreed:nobody")
		return answer{missing: err == nil && r.Deleted == 0}, err
	}, "nobody")
	add(protocol.Insert, []string{"a"}, nil, func() (answer, error) {
		_, err := library.Put(t.Context(), "agreed:written", `{"a":"eA=="}`)
		return answer{}, err
	}, "written", "x")
	return s
}
