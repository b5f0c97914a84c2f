package main

import (
	"encoding/json"
	"fmt"
	"time"

	"brunt/internal/testserver"
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
			mine := &ours{s: s, plan: "tarantool-" + verb, where: []string{"--proto", "iproto", "-a", t.Addr, "-u", t.User, "--vu", "100"}, env: []string{"BRUNT_PASSWORD=" + t.Password}}
			return []client{
				mine.client("brunt"),
				{name: peer, turn: func(d time.Duration) (sample, error) {
					return s.own("tarantool", []string{"TARANTOOL_PASSWORD=" + t.Password}, "-address", t.Addr, "-user", t.User, "-verb", verb, "-sessions", "100", "-duration", d.String())
				}},
			}, nil
		},
	}
}

// own runs one of the project's own peers.
func (s *stand) own(name string, env []string, args ...string) (sample, error) {
	o, err := s.doWith(env, s.peer(name), args...)
	p := sample{Command: s.plain(s.peer(name), args)}
	if err != nil {
		return p, err
	}
	var done struct {
		Requests uint64  `json:"requests"`
		P50Ns    float64 `json:"p50_ns"`
		P99Ns    float64 `json:"p99_ns"`
	}
	if err := json.Unmarshal([]byte(o.out), &done); err != nil {
		return p, fmt.Errorf("%s: %w: %s", name, err, tail(o.out))
	}
	p.Requests, p.P50Us, p.P99Us = done.Requests, done.P50Ns/1e3, done.P99Ns/1e3
	return p, p.charge(&o)
}
