// Package iproto speaks Tarantool's binary protocol to Tarantool (2.6 and later) and Picodata. One codec writes
// all requests and reads all answers.
//
// The formats are those of "Client/server protocol" in Tarantool's manual (box protocol).
package iproto

import (
	"context"
	"maps"
	"slices"
	"strings"

	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
)

// Driver is the protocol "iproto". It is immutable and safe for concurrent use.
//
// It has one option, "sql", for the way in which statements are sent: "auto" (the default), "prepared" (EXECUTE
// by id if the server can prepare), "execute" (EXECUTE by text) or "call" (Picodata's .proc_sql_dispatch).
//
// Requests: SQL; Call and Eval (the text is the function's name or the program); Select ("space" or
// "space.index", optionally followed by "iterator GE", "limit 10", "offset 5"; the parameters are the key); Read
// (by the primary key); Scan (first key, count); Insert, Replace, Upsert (the parameters are the tuple, or
// belong to Fields); Update (the key, then values for Fields, given by name or by number from 0; without Fields,
// for the fields outside the primary key in order); Delete (the key).
type Driver struct{}

var (
	_ protocol.Driver      = (*Driver)(nil)
	_ protocol.AdminDriver = (*Driver)(nil)
	_ protocol.CodecDriver = (*Driver)(nil)
)

// New returns the driver.
func New() *Driver { return &Driver{} }

// Name returns "iproto".
func (*Driver) Name() string { return "iproto" }

// options holds a target's validated options.
type options struct {
	sql sqlMode // "" for auto
}

func parseOptions(t protocol.Target) (options, *protocol.Error) {
	read := protocol.OptionsOf("iproto", t)
	o := options{sql: sqlMode(read.Choice("sql", "auto", string(prepared), string(byText), string(byCall)))}
	if o.sql == "auto" {
		o.sql = ""
	}
	return o, read.Done()
}

// Dial opens a connection within Target.ConnectTimeout and prepares the program. An error is a *protocol.Error.
func (d *Driver) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	return blocking.Dial(ctx, d, t, p)
}

// admit makes all checks that don't need a server.
func admit(t protocol.Target, p *protocol.Program) (options, *protocol.Error) {
	o, err := parseOptions(t)
	if err == nil {
		err = check(p)
	}
	return o, err
}

// settingsProgram returns the full version and those settings of box.cfg whose names are its arguments.
const settingsProgram = `local r = {version = _TARANTOOL}
for _, k in ipairs({...}) do if box.cfg[k] ~= nil then r[k] = tostring(box.cfg[k]) end end
return r`

// settingNames returns the names of the settings that affect performance.
func settingNames() []string {
	return []string{
		"memtx_memory", "memtx_use_mvcc_engine", "vinyl_memory", "vinyl_cache", "wal_mode", "wal_max_size",
		"checkpoint_interval", "net_msg_max", "readahead", "iproto_threads", "replication_synchro_quorum",
		"sql_cache_size", "too_long_threshold", "read_only", "log_level",
	}
}

// Describe returns the server's product, version and settings. Settings are empty if the user may not run
// programs.
func (d *Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	if _, err := parseOptions(t); err != nil {
		return protocol.ServerInfo{}, err
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	l, err := dialLink(ctx, t)
	if err != nil {
		return protocol.ServerInfo{}, err
	}
	defer l.Close()
	picodata, version, err := identify(ctx, l)
	if err != nil {
		return protocol.ServerInfo{}, err
	}
	info := protocol.ServerInfo{Product: "Tarantool", Version: l.version, Settings: map[string]string{}}
	if picodata && version == "" {
		version = askVersion(ctx, l)
	}
	if picodata {
		info.Product, info.Version = "Picodata", version
		info.Settings["tarantool"] = l.version
	}
	r, err := data(ctx, l, typeEval, callBody(keyExpr, settingsProgram, settingNames()...))
	switch {
	case err != nil && err.Fatal:
		return protocol.ServerInfo{}, err
	case err == nil && r.Array() > 0:
		maps.Copy(info.Settings, r.texts())
	}
	return info, nil
}

// askVersion reads the version of the running instances from Picodata's table of instances, which every user may
// read since 25.2; if they differ, it lists them all. It returns "" if that fails.
func askVersion(ctx context.Context, l *link) string {
	mode, err := chooseMode(ctx, l, true)
	if err != nil {
		return ""
	}
	var versions []string
	a := &admin{link: l, picodata: true, mode: mode}
	_ = a.Query(ctx, `SELECT "picodata_version" FROM "_pico_instance"`, func(row []*string) error {
		if len(row) == 1 && row[0] != nil {
			versions = append(versions, *row[0])
		}
		return nil
	})
	slices.Sort(versions)
	return strings.Join(slices.Compact(versions), ", ")
}
