package main

import "brunt/test/testserver"

const (
	tarantoolSessions = 100
	tarantoolRows     = 100_000
)

const fillTarantool = `
local s = box.schema.space.create('bench', {if_not_exists = true, format = {{'id', 'unsigned'}, {'name', 'string'}}})
s:create_index('pk', {if_not_exists = true, parts = {1}})
for i = 1, 100000 do s:replace({i, 'name of tuple ' .. i}) end
function bench_get(id) return box.space.bench:get(id) end`

func tarantoolVerb(verb string) group {
	work := "Tarantool " + map[string]string{"call": "CALL", "select": "SELECT"}[verb] + ", 100 sessions, closed"
	peer := "go-tarantool, a goroutine a session"
	return group{
		name:  "tarantool-" + verb,
		goals: []goal{{work: work, ours: "brunt", peer: peer, ratio: 0.5}},
		open: func(s *stand) ([]client, error) {
			t, err := s.started(testserver.Tarantool(s.tb, testserver.Lua(fillTarantool)))
			if err != nil {
				return nil, err
			}
			mine := &ours{s: s, plan: "tarantool-" + verb, where: []string{"--proto", "iproto", "-a", t.Addr, "-u", t.User,
				"--vu", "100"}, env: []string{"BRUNT_PASSWORD=" + t.Password}}
			return []client{
				mine.client("brunt"),
				s.library(peer, []string{"TARANTOOL_PASSWORD=" + t.Password}, verb, t.Addr, tarantoolSessions, tarantoolRows,
					"-user", t.User),
			}, nil
		},
	}
}
