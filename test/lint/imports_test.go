package lint_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// allowed lists exactly which rooms each room imports, tests excluded. The table is the structure of the project: to
// add an import, change the table.
var allowed = table(`
balance: gen protocol
bucket: gen msgpack protocol
cli: cli/usage compare dialect/endpoints dialect/flags dialect/k6 dialect/pgbench dialect/picostress dialect/service
    dialect/slowcooker dialect/ycsb dialect/ycsb/output dialect/ycsb/shell dialect/ycsb/workloads doctor engine/loop
    export fault history inspect inspect/advise inspect/servers k6x lazyregexp loadtest loadtest/cook loadtest/goycsb
    loadtest/script loadtest/series message password plan program program/campaign protocol protocols record
    render/cell report report/live result result/reader runner s3 scale scale/kubernetes schema schema/fill secret
    selftest summary target units verdict verdict/exitcode
cli/usage: planfile program/campaign/campaignfile verdict/exitcode
compare: message metric record render/cell render/junit render/svg result stats units verdict/exitcode
confidence: control measure message record stats
control: stats
dialect/endpoints: plan protocol secret
dialect/flags: machine password plan planfile schedule secret target verdict/exitcode
dialect/k6: result
dialect/pgbench: lazyregexp message record result stats
dialect/picostress: result
dialect/service: dialect/endpoints dialect/vegeta plan
dialect/slowcooker: dialect/endpoints gen measure plan protocol workload
dialect/vegeta: dialect/endpoints
dialect/ycsb: dialect/ycsb/output dialect/ycsb/properties dialect/ycsb/workloads gen keyspace measure plan protocol
    secret suggest workload
dialect/ycsb/output: lazyregexp measure result
dialect/ycsb/properties:
dialect/ycsb/shell: dialect/ycsb gen protocol
dialect/ycsb/workloads: suggest
doctor: gen machine message plan protocol protocols render/cell runner schema/sql secret target units workload
engine: balance measure message plan protocol schedule workload
engine/loop: balance engine machine measure message protocol schedule workload
engine/pool: balance engine gen measure protocol schedule workload
export: measure message protocol record verdict/exitcode
failover: measure message record
fault: fault/proxy gen linefile linefile/filelock message plan protocol record render/cell secret target
fault/proxy:
gen:
hints: measure
history: compare linefile message metric record render/cell render/junit render/page render/svg result stats units
inspect: gen measure message protocol record secret workload
inspect/advise: compare inspect message program record result sqltext stats
inspect/postgres: inspect lazyregexp message record secret sqltext
inspect/servers: inspect inspect/postgres message secret
k6x: k6x/brunt k6x/datagen k6x/executor k6x/output k6x/picostress k6x/session k6x/tarantool lazyregexp measure record
    scale secret
k6x/bind: gen k6x/session protocol
k6x/bind/bindtest:
k6x/brunt: balance gen k6x/bind k6x/conns k6x/native k6x/session plan planfile protocol protocols sqltext summary
    target
k6x/conns: balance engine gen k6x/bind k6x/session protocol
k6x/datagen: gen k6x/bind k6x/session plan planfile workload
k6x/executor: k6x/native k6x/private k6x/session measure plan protocol schedule target units
k6x/native: k6x/session measure plan planfile record runner schedule target
k6x/output: k6x/executor k6x/native k6x/session k6x/trend lazyregexp measure observe protocol record secret
k6x/picostress: gen k6x/bind k6x/conns k6x/session plan planfile protocol protocols runner schema target template
    workload
k6x/private:
k6x/session: engine export measure message observe observe/self protocol record secret verdict
k6x/tarantool: balance engine gen k6x/bind k6x/session msgpack plan protocol protocol/blocking protocol/iproto sqltext
k6x/trend: k6x/private
keyspace: gen
lazyregexp:
linefile:
linefile/filelock:
loadtest: confidence engine export failover fault inspect inspect/servers measure message observe plan planfile
    protocol protocols record report report/live runner s3 scale scale/kubernetes schedule schema schema/fill secret
    selftest spool target units verdict verdict/exitcode workload
loadtest/cook: dialect/slowcooker hints loadtest measure plan planfile protocol protocol/http record report runner
    secret spool target units verdict verdict/exitcode workload
loadtest/goycsb: dialect/ycsb loadtest measure record verdict verdict/exitcode workload
loadtest/script: loadtest plan record scale verdict/exitcode
loadtest/series: compare inspect inspect/advise loadtest message plan planfile program program/campaign record
    render/cell result result/reader runner schema schema/fill target units verdict/exitcode
machine: machine/cgroup
machine/cgroup:
measure: protocol
message: lazyregexp units
metric: lazyregexp suggest
msgpack: gen protocol
observe: linefile machine/cgroup measure message record stats suggest
observe/self: machine machine/cgroup measure
password:
plan: control gen keyspace metric protocol secret sqltext suggest
planfile: control gen keyspace metric plan planfile/form protocol secret suggest
planfile/form: lazyregexp plan suggest
planfile/form/formtest:
program: engine linefile linefile/filelock measure message plan record render/cell secret stats units verdict
program/campaign: inspect inspect/advise inspect/servers message observe plan program program/campaign/campaignfile
    record render/cell render/page render/svg report secret timeline units verdict
program/campaign/campaignfile: plan planfile/form
protocol: gen sqltext
protocol/badger: protocol protocol/kv
protocol/bbolt: protocol protocol/kv
protocol/blocking: gen protocol
protocol/cassandra: gen protocol protocol/kv protocol/socket sqltext
protocol/dynamodb: gen protocol protocol/kv protocol/socket
protocol/echo: gen protocol protocol/blocking protocol/socket
protocol/etcd: gen protocol protocol/kv protocol/socket
protocol/http: gen protocol protocol/blocking protocol/socket template
protocol/iproto: gen msgpack protocol protocol/blocking protocol/socket protocol/sqlconn sqltext template
protocol/kv: gen protocol template
protocol/mongodb: gen protocol protocol/kv protocol/socket
protocol/mysql: gen protocol protocol/kv protocol/socket protocol/sqlconn sqltext
protocol/noop: gen protocol
protocol/pebble: protocol protocol/kv
protocol/postgres: gen protocol protocol/blocking protocol/socket protocol/sqlconn sqltext
protocol/protocoltest: gen protocol protocol/blocking
protocol/redis: gen protocol protocol/blocking protocol/socket template
protocol/socket:
protocol/sqlconn: gen protocol sqltext template
protocol/sqlite: gen protocol protocol/sqlconn sqltext
protocols: protocol protocol/badger protocol/bbolt protocol/cassandra protocol/dynamodb protocol/echo protocol/etcd
    protocol/http protocol/iproto protocol/mongodb protocol/mysql protocol/noop protocol/pebble protocol/postgres
    protocol/redis protocol/sqlite
record: hints linefile linefile/filelock machine/cgroup measure message protocol
record/recordtest: measure message protocol record
render/cell: message units
render/junit: units
render/page: message render/cell units
render/svg: render/cell units
report: compare confidence measure message protocol record render/cell render/junit render/page render/svg result
    result/reader secret summary timeline units verdict verdict/exitcode
report/live: measure record render/page report timeline units
result: message metric record
result/reader: confidence failover measure record result verdict
runner: balance bucket confidence control engine engine/loop engine/pool failover fault gen machine measure message
    metric observe observe/self plan protocol protocols record schedule schema schema/fill secret target topology units
    verdict verify workload
s3:
scale: linefile measure message protocol record schedule
scale/kubernetes: lazyregexp scale
scale/kubernetes/kubernetestest:
schedule: gen
schema: gen linefile message plan protocol record schema/fill schema/sql target workload
schema/fill: gen linefile protocol
schema/sql: gen message plan sqltext
secret: lazyregexp
selftest: gen plan protocol protocol/echo record runner
spool: message
sqltext:
stats:
suggest:
summary: lazyregexp record
target: gen lazyregexp plan protocol protocols schema/sql secret topology workload
template: gen
testserver:
testserver/ferretdb:
testserver/s3:
timeline: measure protocol
tools/bench: linefile measure protocol protocol/echo record scale testserver tools/peers
tools/bench/peer/bare:
tools/bench/peer/library: measure
tools/examples: tools/peers
tools/peers:
tools/pictures: testserver
tools/release:
tools/situations: linefile measure protocol protocol/echo record testserver tools/peers
topology: protocol
units:
verdict: measure message metric plan protocol record units
verdict/exitcode: verdict
verify: gen protocol template
workload: bucket gen keyspace plan protocol
`)

// never lists what a room must not depend on, directly or indirectly. A name stands for the room and all rooms below
// it.
var never = table(`
dialect: cli engine report runner
engine: cli dialect inspect program record report runner verdict
engine/loop: engine/pool
export: cli dialect engine report
failover: cli dialect engine plan report runner verdict
fault: cli dialect engine program report runner verdict
history: cli dialect engine program runner
compare: cli dialect engine program runner
inspect/postgres: cli dialect engine program report runner
k6x: cli dialect program report
measure: cli dialect engine plan record report runner verdict
observe: cli dialect engine report runner
loadtest: cli k6x
planfile: cli dialect engine record report
program: cli dialect engine/loop engine/pool k6x protocol/postgres protocols runner
protocol: cli dialect engine measure plan record report runner
record: cli dialect engine plan report runner stats verdict
render: cli engine measure plan record report verdict
report: cli dialect engine program protocols runner schema
result: cli engine program report runner
runner: cli dialect k6x program report
schema: cli dialect engine program report runner verdict
target: cli dialect engine program record report runner
verdict: cli engine report runner
verify: cli engine plan record report runner verdict
workload: cli engine measure record report
`)

// pure lists the rooms that use neither files nor the network.
var pure = strings.Fields(
	`balance bucket compare confidence failover gen hints keyspace machine/cgroup measure message msgpack plan planfile
	render schedule schema/sql secret sqltext stats template timeline units verdict verify workload`)

// table reads lines of "room: others". An indented line continues the line before it.
func table(text string) map[string]string {
	rows, room := map[string]string{}, ""
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if !strings.HasPrefix(line, " ") {
			room, line, _ = strings.Cut(line, ":")
		}
		rows[room] = strings.TrimSpace(rows[room] + " " + strings.TrimSpace(line))
	}
	return rows
}

// under reports whether a room is another or lies below it.
func under(room, above string) bool { return room == above || strings.HasPrefix(room, above+"/") }

// arrows returns the rooms that each room's files import, on any system. A room is named by its folder below internal,
// a tool by its folder from the module's root.
func arrows(all []*source) map[string]map[string]bool {
	found := map[string]map[string]bool{}
	for _, s := range all {
		room, ours := strings.CutPrefix(s.room, "internal/")
		if s.test || !ours && !under(room, "tools") {
			continue
		}
		if found[room] == nil {
			found[room] = map[string]bool{}
		}
		for _, path := range s.imports() {
			if other, ours := strings.CutPrefix(path, "brunt/"); ours {
				found[room][strings.TrimPrefix(other, "internal/")] = true
			}
		}
	}
	return found
}

// unlike compares the imports found with the table.
func unlike(found map[string]map[string]bool, table map[string]string) (faults []string) {
	for room, imports := range found {
		want, listed := table[room]
		if !listed {
			faults = append(faults, fmt.Sprintf("the table lacks the room %s", room))
		}
		for other := range imports {
			if !slices.Contains(strings.Fields(want), other) {
				faults = append(faults, fmt.Sprintf("%s must not import %s: the table doesn't allow it", room, other))
			}
		}
		for _, other := range strings.Fields(want) {
			if !imports[other] {
				faults = append(faults, fmt.Sprintf("%s doesn't import %s any more: take it out of the table", room, other))
			}
		}
	}
	for room := range table {
		if found[room] == nil {
			faults = append(faults, fmt.Sprintf("the table has %s, which isn't there", room))
		}
	}
	slices.Sort(faults)
	return faults
}

// reached returns all rooms that a room depends on, each with the room through which it was found.
func reached(room string, found map[string]map[string]bool) map[string]string {
	through := map[string]string{}
	for next := []string{room}; len(next) > 0; next = next[1:] {
		for _, other := range slices.Sorted(maps.Keys(found[next[0]])) {
			if _, seen := through[other]; !seen {
				through[other] = next[0]
				next = append(next, other)
			}
		}
	}
	return through
}

// forbidden lists the dependencies that the table never prohibits.
func forbidden(found map[string]map[string]bool, table map[string]string) (faults []string) {
	for room := range found {
		for above, list := range table {
			if !under(room, above) {
				continue
			}
			for other, via := range reached(room, found) {
				for _, no := range strings.Fields(list) {
					if under(other, no) {
						faults = append(faults, fmt.Sprintf("%s must never reach %s, and does through %s", room, other, via))
					}
				}
			}
		}
	}
	slices.Sort(faults)
	return faults
}

// impure lists the imports that a file's room must not have, and imports of k6 and C.
func impure(s *source) (faults []string) {
	if s.test {
		return nil
	}
	room := strings.TrimPrefix(s.room, "internal/")
	for _, path := range s.imports() {
		outside := path == "os" || path == "net"
		if outside && slices.ContainsFunc(pure, func(p string) bool { return under(room, p) }) {
			faults = append(faults, fmt.Sprintf("%s: %s must not import %s", s.path, s.room, path))
		}
		if path == "math/rand" && under(room, "gen") {
			faults = append(faults, fmt.Sprintf("%s: gen draws from streams of its own, not from %s", s.path, path))
		}
		if strings.HasPrefix(path, "go.k6.io/") && !under(s.room, "internal/dialect/k6") {
			faults = append(faults, fmt.Sprintf("%s: only internal/dialect/k6 may import %s", s.path, path))
		}
		if path == "C" {
			faults = append(faults, s.path+": cgo is not used here")
		}
	}
	return faults
}

func TestRoomsKeepApart(t *testing.T) {
	all := sources(t)
	found := arrows(all)
	report(t, unlike(found, allowed))
	report(t, forbidden(found, never))
	for _, s := range all {
		report(t, impure(s))
	}
}

// A row for a room that doesn't exist would have no effect.
func TestTablesNameRooms(t *testing.T) {
	found := arrows(sources(t))
	there := func(name string) bool {
		for room := range found {
			if under(room, name) {
				return true
			}
		}
		return false
	}
	for _, table := range []map[string]string{never, {"pure": strings.Join(pure, " ")}} {
		for room, list := range table {
			for _, name := range append(strings.Fields(list), room) {
				if name != "pure" && !there(name) {
					t.Errorf("there is no room %s", name)
				}
			}
		}
	}
}

func TestFaultsOfImportsAreFound(t *testing.T) {
	file := func(path, imported string) *source {
		return parse(t, path, []byte("package p\n\nimport _ \""+imported+"\"\n"))
	}
	found := arrows([]*source{
		file("internal/a/x.go", "brunt/internal/b"),
		file("internal/b/x.go", "brunt/internal/c"),
		file("internal/c/x.go", "fmt"),
		file("internal/a/x_test.go", "brunt/internal/d"),
	})
	for name, row := range map[string]struct {
		faults []string
		want   int
	}{
		"as allowed":          {unlike(found, map[string]string{"a": "b", "b": "c", "c": ""}), 0},
		"an arrow too many":   {unlike(found, map[string]string{"a": "", "b": "c", "c": ""}), 1},
		"an arrow that's not": {unlike(found, map[string]string{"a": "b c", "b": "c", "c": ""}), 1},
		"a room without row":  {unlike(found, map[string]string{"a": "b", "b": "c"}), 1},
		"a row without room":  {unlike(found, map[string]string{"a": "b", "b": "c", "c": "", "d": ""}), 1},
		"reached directly":    {forbidden(found, map[string]string{"a": "b"}), 1},
		"reached through b":   {forbidden(found, map[string]string{"a": "c"}), 1},
		"not reached":         {forbidden(found, map[string]string{"c": "a b"}), 0},
		"gen and files":       {impure(file("internal/load/gen/x.go", "os")), 1},
		"gen and arithmetic":  {impure(file("internal/load/gen/x.go", "math")), 0},
		"a test of gen":       {impure(file("internal/load/gen/x_test.go", "os")), 0},
		"below gen":           {impure(file("internal/load/gen/text/x.go", "net")), 1},
		"k6 in cli":           {impure(file("internal/cli/x.go", "go.k6.io/k6/js")), 1},
		"k6 in k6x":           {impure(file("internal/dialect/k6/x.go", "go.k6.io/k6/js")), 0},
		"C":                   {impure(file("cmd/brunt/x.go", "C")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if len(row.faults) != row.want {
				t.Errorf("got %q, want %d", row.faults, row.want)
			}
		})
	}
}
