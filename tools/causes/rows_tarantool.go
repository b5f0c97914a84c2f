//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"brunt/test/testserver"
)

// tarantoolProgram creates the spaces and functions of the rows.
const tarantoolProgram = `
local fiber, clock = require('fiber'), require('clock')
local s = box.schema.space.create('book', {if_not_exists = true})
s:create_index('pk', {if_not_exists = true})
for i = 1, 20000 do s:replace{i, i % 5000, 'book ' .. i} end
box.execute([[CREATE TABLE IF NOT EXISTS sold (id INT PRIMARY KEY, book INT)]])
for i = 1, 5000 do box.space.SOLD:replace{i, i % 700} end
function get(id) return box.space.book:get(id) end
function byowner(owner)
	local n = 0
	for _, t in box.space.book:pairs() do if t[2] == owner then n = n + 1 end end
	return n
end
function compute(ms) local till = clock.monotonic() + ms / 1000 while clock.monotonic() < till do end return 1 end
function rest(ms) fiber.sleep(ms / 1000) return 1 end
function large(n) return string.rep('x', n) end
function garbage(n) local all = {} for i = 1, n do all[i] = {tostring(i)} end return #all end
`

func tarantoolServer(more ...string) func(st *stage) *testserver.Server {
	return func(st *stage) *testserver.Server {
		return testserver.Tarantool(st.tb, testserver.Lua(tarantoolProgram), testserver.Settings(more...))
	}
}

func tarantoolFlags(more ...string) func(sc *scene) []string {
	return func(sc *scene) []string {
		s := sc.server
		return append([]string{"--proto", "iproto", "-a", s.Addr, "-u", s.User,
			"--inspect", fmt.Sprintf("tarantool=tarantool://%s:%s@%s", s.User, s.Password, s.Addr)}, more...)
	}
}

// tarantoolRow is a row of Tarantool.
func tarantoolRow(cause, planted string, want []string, plan string, more ...string) row {
	return row{System: "tarantool", Cause: cause, Planted: planted, Want: want, Server: "tarantool",
		Start: tarantoolServer(), Plan: plan, Flags: tarantoolFlags(more...)}
}

// call is the YAML of a call with its parameters.
func call(name, function, params string) string {
	return fmt.Sprintf("  - name: %s\n    call: %s\n    params: [%s]\n", name, function, params)
}

func tarantoolRows() []row {
	const key = "{type: Integer, range: [1, 20000]}"
	number := func(n int) string { return fmt.Sprintf("{type: Integer, range: [%d, %d]}", n, n) }
	get := call("get", "get", key) + "    weight: 40\n"
	some := call("get", "get", key) + "    weight: 8\n"
	profiled := "--inspect-profile"
	full := tarantoolRow("msg-max", "each of 30 requests waits 200 ms, and net_msg_max is 20", []string{"msg-max"},
		"queries:\n"+call("rest", "rest", number(200))+openLoad(60, 120))
	full.Server, full.Start = "narrow tarantool", tarantoolServer("net_msg_max = 20")
	memory := tarantoolRow("memory", "rows fill 96 % of memtx_memory", []string{"memory"},
		"queries:\n"+call("get", "get", key)+openLoad(8, 150))
	memory.Server = "full tarantool"
	memory.Start = func(st *stage) *testserver.Server {
		return testserver.Tarantool(st.tb, testserver.Lua(tarantoolProgram+`
pcall(function() for i = 20001, 1e8 do box.space.book:replace{i, i, string.rep('x', 200)} end end)`))
	}
	all := []row{
		tarantoolRow("blocked-loop", "one of 41 calls computes for 300 ms without yielding",
			[]string{"blocked-loop", "process-thread"}, "queries:\n"+get+call("report", "compute", number(300))+openLoad(8, 60)),
		tarantoolRow("lua-scan", "one of 9 calls searches 20,000 rows without an index, and functions are sampled",
			[]string{"lua-function"}, "queries:\n"+some+call("owned", "byowner", key)+openLoad(8, 150), profiled),
		tarantoolRow("lua-compute", "one of 41 calls computes for 100 ms, and functions are sampled",
			[]string{"lua-function", "blocked-loop"}, "queries:\n"+get+call("report", "compute", number(100))+openLoad(8, 150),
			profiled),
		tarantoolRow("sql-scan", "a statement searches a column without an index", []string{"sql-scan"},
			"queries:\n"+query("count", "SELECT COUNT(*) FROM sold WHERE book = $1", key)+openLoad(8, 60)),
		tarantoolRow("sql-scan-mixed", "a tenth of the statements searches a column without an index", []string{"sql-scan"},
			"queries:\n"+query("one", "SELECT * FROM sold WHERE id = $1", key)+"    weight: 9\n"+
				query("count", "SELECT COUNT(*) FROM sold WHERE book = $1", key)+"    weight: 1\n"+openLoad(8, 150)),
		tarantoolRow("big-reply", "answers of 300 kB", []string{"big-reply"},
			"queries:\n"+call("large", "large", number(300_000))+openLoad(8, 80)),
		tarantoolRow("lua-gc", "functions make 200,000 small tables each", []string{"lua-gc", "blocked-loop", "process-thread"},
			"queries:\n"+call("garbage", "garbage", number(200_000))+openLoad(4, 6)),
		full, memory, tarantoolWAL(key), tarantoolReplica(key),
		tarantoolRow("healthy-calls", "rows are read by their key, by a function", nil,
			"queries:\n"+call("get", "get", key)+openLoad(8, 150)),
		tarantoolRow("healthy-mixed", "rows are replaced, and read by their key with SQL", nil,
			"queries:\n"+query("one", "SELECT * FROM sold WHERE id = $1", key)+
				"  - name: put\n    replace: book\n    params: ["+key+", "+key+", {type: Integer, range: [1, 9]}]\n"+
				openLoad(8, 120)),
	}
	return append(all, vinylRows()...)
}

// tarantoolWAL is a row whose log waits for the disk.
func tarantoolWAL(key string) row {
	r := tarantoolRow("slow-wal", "each fsync of the log takes 30 ms longer", []string{"slow-wal"},
		"queries:\n"+call("get", "get", key)+
			"  - name: put\n    replace: book\n    params: ["+key+", "+key+", {type: Integer, range: [1, 9]}]\n"+
			openLoad(16, 60))
	r.Server, r.Start = "flushing tarantool", tarantoolServer("wal_mode = 'fsync'")
	r.Prepare = func(sc *scene) (func(), error) { return slowed(sc.server.PID, "wal", 30*time.Millisecond) }
	return r
}

// tarantoolReplica is a row whose replica falls behind.
func tarantoolReplica(key string) row {
	r := tarantoolRow("replica-lag", "the replica stands still", []string{"replica-lag"},
		"queries:\n  - name: put\n    replace: book\n    params: ["+key+", "+key+", {type: Integer, range: [1, 9]}]\n"+
			openLoad(16, 800))
	r.Server = "tarantool cluster"
	r.Start = func(st *stage) *testserver.Server {
		st.groups[r.Server] = testserver.TarantoolCluster(st.tb, 2, testserver.Lua(tarantoolProgram))
		return st.groups[r.Server][0]
	}
	r.During = func(ctx context.Context, sc *scene) {
		if sc.underWay(ctx) {
			testserver.Freeze(sc.group()[1].PID)
			defer testserver.Thaw(sc.group()[1].PID)
			<-ctx.Done()
		}
	}
	return r
}

// vinylProgram creates a tree on the disk, whose rows can't be compressed: 20,000 rows in one run, and some smaller
// ones in runs of their own. It ends when a compaction has been made, so that the thread for it is there.
func vinylProgram(runs int) string {
	return tarantoolProgram + fmt.Sprintf(`
local urandom = require('digest').urandom
local function put(space, from, n)
	box.begin() for i = from, from + n - 1 do box.space[space]:replace{i, urandom(700)} end box.commit()
end
local old = box.schema.space.create('old', {engine = 'vinyl', if_not_exists = true})
old:create_index('pk', {if_not_exists = true, run_count_per_level = 1})
for k = 1, 2 do put('old', 1, 100) box.snapshot() end
old.index.pk:compact()
while old.index.pk:stat().disk.compaction.count == 0 do fiber.sleep(0.01) end
local tree = box.schema.space.create('tree', {engine = 'vinyl', if_not_exists = true})
tree:create_index('pk', {if_not_exists = true, run_count_per_level = %d})
for k = 0, 19 do put('tree', k * 1000, 1000) end
box.snapshot()
for k = 2, %[1]d do put('tree', k * 100, 900) box.snapshot() end
function write(n) put('tree', math.random(1, 40000), n) return n end
function range(id) return #box.space.tree:select({id}, {iterator = 'GE', limit = 5}) end
function one(id) return box.space.tree:get(id) end
function set(id) box.space.tree:replace{id, urandom(100)} return 1 end
`, runs)
}

// vinylRow is a row of Tarantool with a tree on the disk.
func vinylRow(cause, planted string, want []string, runs int, plan string) row {
	r := tarantoolRow(cause, planted, want, plan)
	r.Server = fmt.Sprintf("vinyl tarantool of %d", runs)
	r.Start = func(st *stage) *testserver.Server {
		return testserver.Tarantool(st.tb, testserver.Lua(vinylProgram(runs)), testserver.Settings(
			"vinyl_memory = 8 * 1024 * 1024", "vinyl_cache = 1024 * 1024", "vinyl_write_threads = 2"))
	}
	return r
}

// compactor is the name of the thread that compacts, as the kernel cuts it.
const compactor = "vinyl.compactio"

// vinylRows are rows whose tree on the disk is written to faster than it is compacted, or is read from many runs, and a
// healthy one.
func vinylRows() []row {
	const key = "{type: Integer, range: [1, 20000]}"
	debt := vinylRow("vinyl-debt", "vinyl is written to fast, and each write of its compaction takes 5 ms longer",
		[]string{"vinyl-debt"}, 1,
		"queries:\n"+call("write", "write", "{type: Integer, range: [400, 400]}")+openLoad(8, 20))
	debt.Prepare = func(sc *scene) (func(), error) { return slowed(sc.server.PID, compactor, 5*time.Millisecond) }
	return []row{
		debt,
		vinylRow("vinyl-reads", "ranges of rows are read from a tree of a dozen runs", []string{"vinyl-reads"}, 12,
			"queries:\n"+call("range", "range", "{type: Integer, range: [1, 1000]}")+openLoad(8, 100)),
		vinylRow("healthy-vinyl", "rows on the disk are read by their key and replaced", nil, 2,
			"queries:\n"+call("one", "one", key)+call("set", "set", key)+openLoad(8, 100)),
	}
}
