package iproto

import (
	"context"
	"maps"
	"slices"
	"strings"

	"brunt/internal/driver"
)

// settingsProgram returns those settings of box.cfg whose names it is given, and the full version.
const settingsProgram = `local r = {version = _TARANTOOL}
for _, k in ipairs({...}) do if box.cfg[k] ~= nil then r[k] = tostring(box.cfg[k]) end end
return r`

// settingNames are the settings that bear on performance.
func settingNames() []string {
	return []string{
		"memtx_memory", "memtx_use_mvcc_engine", "vinyl_memory", "vinyl_cache", "wal_mode", "wal_max_size",
		"checkpoint_interval", "net_msg_max", "readahead", "iproto_threads", "replication_synchro_quorum",
		"sql_cache_size", "too_long_threshold", "read_only", "log_level",
	}
}

// Describe says what the server is. Settings are empty where the user may not run programs.
func (d *Driver) Describe(ctx context.Context, t driver.Target) (driver.ServerInfo, error) {
	if _, err := parseOptions(t); err != nil {
		return driver.ServerInfo{}, err
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	l, err := dialLink(ctx, t)
	if err != nil {
		return driver.ServerInfo{}, err
	}
	defer l.Close()
	picodata, version, err := identify(ctx, l)
	if err != nil {
		return driver.ServerInfo{}, err
	}
	info := driver.ServerInfo{Product: "Tarantool", Version: l.version, Settings: map[string]string{}}
	if picodata && version == "" {
		version = askVersion(ctx, l)
	}
	if picodata {
		info.Product, info.Version = "Picodata", version
		info.Settings["tarantool"] = l.version
	}
	var b body
	b.mapping(2)
	b.key(keyExpr)
	b.text(settingsProgram)
	b.key(keyTuple)
	names := settingNames()
	b.array(len(names))
	for _, n := range names {
		b.text(n)
	}
	r, err := data(ctx, l, typeEval, b.now)
	switch {
	case err != nil && err.Fatal:
		return driver.ServerInfo{}, err
	case err == nil && r.array() > 0:
		maps.Copy(info.Settings, r.texts())
	}
	return info, nil
}

// askVersion asks Picodata's table of instances, which every user may read since 25.2, for the
// version, or versions, that run; "" if it doesn't say.
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
