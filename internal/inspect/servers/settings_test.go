package servers

import (
	"fmt"
	"strings"
	"testing"

	"brunt/internal/inspect"
	"brunt/test/testserver"
)

// Settings are read, changed and restored on the real servers, and what can't be changed or restored is refused in one
// line without having been changed.
func TestSettings(t *testing.T) {
	testserver.SkipQuick(t)
	for _, row := range []struct {
		kind    string
		start   func(t testing.TB) (url string)
		name    string
		to      string
		refused map[string][2]string // by name: a value, and a part of the error
	}{
		{"pg", func(t testing.TB) string {
			s := testserver.Postgres(t, testserver.Settings("work_mem = '5MB'"))
			return fmt.Sprintf("pg=postgres://%s@%s/postgres", s.User, s.Addr)
		}, "work_mem", "9MB", map[string][2]string{
			"shared_buffers": {"1GB", "can't be changed while the server runs"}, "nothing": {"1", "no such setting"},
			"unix_socket_directories": {"/", "can't be changed while the server runs"}}},
		{"mysql", func(t testing.TB) string {
			s := testserver.MariaDB(t)
			return fmt.Sprintf("mysql=mysql://%s:%s@%s/%s", s.User, s.Password, s.Addr, s.Database)
		}, "innodb_flush_log_at_trx_commit", "2", map[string][2]string{
			"innodb_page_size": {"4096", "read only"}, "nothing": {"1", "no such"}}},
		{"redis", func(t testing.TB) string {
			s := testserver.Redis(t)
			return fmt.Sprintf("redis=redis://%s:%s@%s", s.User, s.Password, s.Addr)
		}, "appendfsync", "always", map[string][2]string{
			"databases": {"4", "immutable"}, "nothing": {"1", "no such setting"}}},
		{"tarantool", func(t testing.TB) string {
			s := testserver.Tarantool(t, testserver.Lua("box.schema.user.grant('guest', 'execute', 'universe')"))
			return "tarantool=tarantool://" + s.Addr
		}, "net_msg_max", "100", map[string][2]string{
			"memtx_memory": {"1000000000", "can't be lowered again"}, "wal_mode": {"none", "dynamically"},
			"nothing": {"1", "no such setting"}}},
	} {
		t.Run(row.kind, func(t *testing.T) {
			t.Parallel()
			server := row.start(t)
			if err := Tunable(server); err != nil {
				t.Fatal(err)
			}
			s, err := Settings(t.Context(), server)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			tunes(t, s, inspect.Setting{Name: row.name, Value: row.to})
			for name, wrong := range row.refused {
				err := s.Check(t.Context(), []inspect.Setting{{Name: name, Value: wrong[0]}})
				if err == nil || !strings.Contains(err.Error(), wrong[1]) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: %v, want %s", name, err, wrong[1])
				}
			}
		})
	}
	for _, text := range []string{Auto, "etcd=http://127.0.0.1:1"} {
		if err := Tunable(text); err == nil || !strings.Contains(err.Error(), "one of pg, mysql, tarantool, redis") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// tunes changes a setting and restores it, twice: the second time from what an earlier change has left.
func tunes(t *testing.T, s inspect.Settings, to inspect.Setting) {
	t.Helper()
	ctx := t.Context()
	wanted := []inspect.Setting{to}
	if err := s.Check(ctx, wanted); err != nil {
		t.Fatal(err)
	}
	read := func() []inspect.Setting {
		t.Helper()
		now, err := s.Read(ctx, []string{to.Name})
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	before := read()
	for range 2 {
		for _, set := range [][]inspect.Setting{wanted, before} {
			if err := s.Set(ctx, set); err != nil {
				t.Fatal(err)
			}
			if now := read(); !inspect.SameSettings(now, set) {
				t.Errorf("%+v after setting %+v", now, set)
			}
		}
	}
	if now := read(); now[0].Unset != before[0].Unset {
		t.Errorf("%+v, and %+v before", now, before)
	}
}

// A lower limit of memory would make Redis throw keys away.
func TestSettingsThatLoseDataAreRefused(t *testing.T) {
	testserver.SkipQuick(t)
	r := testserver.Redis(t)
	s, err := Settings(t.Context(), fmt.Sprintf("redis=redis://%s:%s@%s", r.User, r.Password, r.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, row := range []struct {
		limit, policy string
		refused       bool
	}{{"100kb", "allkeys-lru", true}, {"100kb", "noeviction", false}, {"1gb", "allkeys-lru", false},
		{"0", "allkeys-lru", false}} {
		err := s.Check(t.Context(), []inspect.Setting{{Name: "maxmemory", Value: row.limit},
			{Name: "maxmemory-policy", Value: row.policy}})
		if (err != nil) != row.refused || err != nil && !strings.Contains(err.Error(), "would evict keys") {
			t.Errorf("%+v: %v", row, err)
		}
	}
}
