//go:build linux

package main

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	_ "net/http/pprof" // which serves profiles
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"brunt/test/testserver"
)

// system is a server of a kind with a planted cause, and a load that shows it.
type system struct {
	name    string // of the picture: inspect-NAME.png
	start   func(p *pictures) (server *testserver.Server, inspect string)
	target  string // of the plan, with the server's address and user
	queries string
	tables  string
	args    []string
}

// table is one that the queries of SQL read as a whole, since its authors have no index.
const table = `tables_schema:
  - name: book
    row_count: 60_000
    columns:
      - {name: id, type: Integer, range: [1, 60000], unique: true}
      - {name: author, type: Integer, range: [1, 5000]}
      - {name: title, type: String, range: [20, 60], alphabet: [en]}
    primary_keys: [id]
`

// bookQueries are reads by key, updates, and reads by author.
const bookQueries = `queries:
  - {name: by id, sql: "select title from book where id = $1", params: [{type: Integer, range: [1, 60000]}], rate: 120}
  - {name: rename, sql: "update book set title = 'x' where id = $1", params: [{type: Integer, range: [1, 60000]}], rate: 20}
  - {name: by author, sql: "select id from book where author = $1", params: [{type: Integer, range: [1, 5000]}], rate: 15}
`

// systems returns the systems, each with a cause that its report names.
func (p *pictures) systems() []system {
	return []system{
		{name: "postgresql", start: func(p *pictures) (*testserver.Server, string) {
			s := testserver.Postgres(p.tb, testserver.Settings("shared_preload_libraries = 'pg_stat_statements'"))
			s.Psql(p.tb, "create extension pg_stat_statements")
			return s, "pg=postgres://" + s.User + "@" + s.Addr + "/postgres"
		}, target: "{protocol: pg, addresses: [ADDRESS], user: USER, database: postgres}", tables: table, queries: bookQueries},
		{name: "mysql", start: func(p *pictures) (*testserver.Server, string) {
			s := testserver.MariaDB(p.tb, testserver.Settings("performance-schema=ON",
				"performance-schema-consumer-events-statements-current=ON"))
			return s, fmt.Sprintf("mysql=mysql://%s:%s@%s/%s", s.User, s.Password, s.Addr, s.Database)
		}, target: "{protocol: mysql, addresses: [ADDRESS], user: USER, database: DATABASE}", tables: table, queries: bookQueries},
		{name: "redis", start: func(p *pictures) (*testserver.Server, string) {
			s := testserver.Redis(p.tb)
			return s, fmt.Sprintf("redis=redis://%s:%s@%s", s.User, s.Password, s.Addr)
		}, target: "{protocol: redis, addresses: [ADDRESS], user: 'USER'}", queries: `queries:
  - {name: set, command: [SET, "name:$1", "$1"], params: [{type: Integer, range: [1, 100000]}], rate: 300}
  - {name: get, command: [GET, "name:$1"], params: [{type: Integer, range: [1, 100000]}], rate: 300}
  - {name: search, command: [KEYS, "name:*$1*"], params: [{type: Integer, range: [1, 999]}], rate: 10}
prepare:
  - {command: [EVAL, "for i = 1, 40000 do redis.call('SET', 'name:' .. i, i) end", 0]}
`},
		{name: "etcd", start: func(p *pictures) (*testserver.Server, string) {
			s := testserver.Etcd(p.tb, testserver.Settings("--metrics=extensive"))
			for k := range 200 {
				p.post("http://"+s.Addr+"/v3/kv/put", fmt.Sprintf(`{"key":%q,"value":%q}`, base64Of("big"+strconv.Itoa(k)),
					base64Of(strings.Repeat("x", 2000))))
			}
			return s, "etcd=http://" + s.Addr
		}, target: "{protocol: etcd, addresses: [ADDRESS]}", queries: `queries:
  - {name: put, command: [put, "k:$1", x], params: [{type: Integer, range: [1, 1000]}], rate: 30}
  - {name: get, command: [get, "k:$1"], params: [{type: Integer, range: [1, 1000]}], rate: 60}
  - {name: list, command: [get, big, --prefix], rate: 10}
`},
		{name: "tarantool", start: func(p *pictures) (*testserver.Server, string) {
			s := testserver.Tarantool(p.tb, testserver.Lua(lot))
			return s, fmt.Sprintf("tarantool=tarantool://%s:%s@%s", s.User, s.Password, s.Addr)
		}, target: "{protocol: iproto, addresses: [ADDRESS], user: USER}", queries: `queries:
  - {name: get, call: car_get, params: [{type: Unsigned, range: [1, 20000]}], rate: 60}
  - {name: of model, call: cars_of, params: [{type: Unsigned, range: [0, 999]}], rate: 5}
`, args: []string{"--inspect-profile"}},
	}
}

// lot has a function that looks at every car.
const lot = `
local cars = box.schema.space.create('car', {if_not_exists = true})
cars:create_index('pk', {if_not_exists = true})
for id = 1, 20000 do cars:replace({id, id % 1000}) end
function car_get(id) return cars:get(id) end
function cars_of(model)
	local found = {}
	for _, car in cars:pairs() do if car[2] == model then table.insert(found, car) end end
	return #found
end
`

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// post sends a request of JSON that must succeed.
func (p *pictures) post(url, body string) {
	answer, err := http.Post(url, "application/json", strings.NewReader(body))
	p.fail(err)
	_ = answer.Body.Close()
}

// asked makes a picture of the report of each system, or of the one that is named: what responses are made of, and what
// the server said.
func (p *pictures) asked(only string) {
	for _, s := range p.systems() {
		if only != "" && only != s.name {
			continue
		}
		server, inspect := s.start(p)
		target := strings.NewReplacer("ADDRESS", server.Addr, "USER", server.User, "DATABASE", server.Database).
			Replace(s.target)
		p.env = []string{"BRUNT_PASSWORD=" + server.Password, "PGPASSWORD=" + server.Password}
		p.inspected(s.name, "target: "+target+"\n"+s.tables+s.queries, append([]string{"--inspect", inspect}, s.args...)...)
		server.Stop()
	}
	if only == "" || only == "service" {
		p.service()
	}
}

// service makes a picture of the report of an HTTP service, whose functions brunt profiles.
func (p *pictures) service() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	p.fail(err)
	socket, err := l.(*net.TCPListener).File()
	p.fail(err)
	cmd := exec.Command(os.Args[0], "-serve")
	cmd.ExtraFiles, cmd.Stderr = []*os.File{socket}, os.Stderr
	p.fail(cmd.Start())
	p.tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p.inspected("service", fmt.Sprintf(`target: {protocol: http, addresses: [%q]}
queries:
  - {name: page, http: {path: /page}, rate: 100}
  - {name: report, http: {path: /report}, rate: 4}
`, l.Addr()), "--watch", fmt.Sprintf("pid:%d", cmd.Process.Pid), "--watch", "profile:http://"+l.Addr().String())
}

// serve is the service, in a process of its own, on the listening socket that it inherits.
func serve() error {
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	http.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") })
	http.HandleFunc("/report", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, len(sortReport())) })
	return http.Serve(l, nil)
}

// sortReport computes for a while.
func sortReport() []float64 {
	all := make([]float64, 150_000)
	for i := range all {
		all[i] = rand.Float64()
	}
	slices.Sort(all)
	return all
}

// inspected sends a load that a plan's text describes, and makes a picture of the report's parts about the server.
func (p *pictures) inspected(name, plan string, args ...string) {
	file, bundle := filepath.Join(p.dir, name+".yml"), filepath.Join(p.dir, "asked-"+name)
	p.fail(os.WriteFile(file, []byte("config_name: "+name+"\nseed: 1\nsessions: 8\n"+plan+
		"load:\n  - {constant: {duration: 2s}, warm_up: true}\n  - constant: {duration: 15s, arrivals: poisson}\n"), 0o644))
	p.run(p.env, append([]string{"run", file, "--quiet", "--bundle", bundle}, args...)...)
	page := filepath.Join(p.dir, name+".html")
	p.run(nil, "report", bundle, "--quiet", "--html", page)
	p.browser.Look(1200, 900, "screen", "light")
	p.browser.Open("file://" + page)
	p.browser.Wait("document.documentElement.dataset.drawn")
	var height float64
	p.browser.Eval(onlyTheServer, &height)
	p.browser.Look(1200, min(int(height)+24, 1700), "screen", "light")
	p.picture("inspect-" + name + ".png")
}

// onlyTheServer leaves of a page its head and what it says of the server, and returns the height of that.
const onlyTheServer = `(() => {
	const kept = ["chart-responses", "part-database", "part-machines"].map(id => document.getElementById(id))
		.filter(e => e).map(e => e.closest(".chart") ?? e);
	if (document.getElementById("part-database")) kept.splice(2);
	kept[kept.length - 1].querySelectorAll(".chart").forEach(e => e.remove());
	const main = document.querySelector("main");
	main.replaceChildren(...kept);
	kept.forEach(e => { e.open = true; });
	scrollTo(0, 0);
	return main.getBoundingClientRect().bottom;
})()`
