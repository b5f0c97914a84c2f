package postgres

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"brunt/internal/protocol"

	"github.com/jackc/pgx/v5/pgconn"
)

// settingsQuery selects the settings that affect performance, in the server's own units.
const settingsQuery = `SELECT name, current_setting(name) FROM pg_settings WHERE name IN (
'autovacuum', 'checkpoint_completion_target', 'checkpoint_timeout', 'data_checksums', 'default_transaction_isolation',
'effective_cache_size', 'effective_io_concurrency', 'fsync', 'full_page_writes', 'huge_pages', 'io_method', 'jit',
'maintenance_work_mem', 'max_connections', 'max_parallel_workers', 'max_parallel_workers_per_gather', 'max_wal_size',
'max_worker_processes', 'random_page_cost', 'server_version_num', 'shared_buffers', 'shared_preload_libraries', 'ssl',
'synchronous_commit', 'synchronous_standby_names', 'track_io_timing', 'wal_buffers', 'wal_compression', 'wal_level',
'wal_sync_method', 'work_mem')`

// Describe returns the server's product, version and settings. It fails only if no connection can be opened;
// what the server doesn't reveal is left out.
func (d *Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	bounded, cancel := t.Connecting(ctx)
	defer cancel()
	pg, err := connect(bounded, t)
	if err != nil {
		return protocol.ServerInfo{}, err
	}
	defer closeNow(pg)
	return describeServer(bounded, pg), nil
}

func describeServer(ctx context.Context, pg *pgconn.PgConn) protocol.ServerInfo {
	info := identifyServer(pg.ParameterStatus("server_version"), asker(ctx, pg))
	info.Settings = map[string]string{}
	if info.Product == "Picodata" {
		return info
	}
	rows, err := ask(ctx, pg, settingsQuery)
	if err != nil {
		return info
	}
	for _, r := range rows {
		if len(r) == 2 {
			info.Settings[r[0]] = r[1]
		}
	}
	return info
}

// identifyServer asks the server for its product and version. parameter is the version that the server reported
// when the session was opened, or "".
func identifyServer(parameter string, ask func(query string) ([][]string, error)) protocol.ServerInfo {
	text := ""
	rows, err := ask("SELECT version()")
	if err == nil && len(rows) == 1 && len(rows[0]) == 1 {
		text = rows[0][0]
	}
	info := identify(text, parameter)
	if err != nil && strings.Contains(err.Error(), "sbroad: ") {
		info.Product = "Picodata" // Picodata reports PostgreSQL 15.0 as its version
	}
	if info.Product == "" || info.Product == "Picodata" {
		askPicodata(ask, &info)
	}
	return info
}

// askPicodata reads the version of the running instances from Picodata's table of instances; if they differ, it
// lists them all. Before 25.2 that column didn't exist, and not every user could read the table.
func askPicodata(ask func(query string) ([][]string, error), info *protocol.ServerInfo) {
	rows, err := ask(`SELECT "picodata_version" FROM "_pico_instance"`)
	if err != nil {
		if info.Product == "" {
			info.Product = "unknown"
		}
		if _, err := ask(`SELECT "name" FROM "_pico_instance" LIMIT 1`); err == nil && info.Product != "Picodata" {
			info.Product, info.Version = "Picodata", ""
		}
		return
	}
	var versions []string
	for _, r := range rows {
		versions = append(versions, r...)
	}
	slices.Sort(versions)
	info.Product, info.Version = "Picodata", strings.Join(slices.Compact(versions), ", ")
}

// asker returns ask bound to a session.
func asker(ctx context.Context, pg *pgconn.PgConn) func(query string) ([][]string, error) {
	return func(query string) ([][]string, error) { return ask(ctx, pg, query) }
}

// ask runs a query and returns its rows as text; null becomes "".
func ask(ctx context.Context, pg *pgconn.PgConn, query string) ([][]string, error) {
	results, err := pg.Exec(ctx, query).ReadAll()
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, r := range results {
		for _, row := range r.Rows {
			texts := make([]string, len(row))
			for i := range row {
				texts[i] = string(row[i])
			}
			rows = append(rows, texts)
		}
	}
	return rows, nil
}

// identify derives the product and version from the result of version() and the version in the server's
// greeting. Servers that are derived from PostgreSQL add their own mark to its version text.
func identify(version, parameter string) protocol.ServerInfo {
	number := regexp.MustCompile(`v?([0-9]+[0-9A-Za-z]*(\.[0-9A-Za-z-]+)*)`)
	after := func(text, mark string) string {
		if i := strings.Index(strings.ToLower(text), strings.ToLower(mark)); i >= 0 {
			if m := number.FindStringSubmatch(text[i+len(mark):]); m != nil {
				return m[1]
			}
		}
		return ""
	}
	for _, text := range [...]string{version, parameter} {
		lower := strings.ToLower(text)
		for _, p := range [...]struct{ mark, product string }{
			{"picodata", "Picodata"}, {"cockroachdb", "CockroachDB"}, {"-yb-", "YugabyteDB"},
			{"greenplum database", "Greenplum"}, {"opengauss", "openGauss"},
		} {
			if !strings.Contains(lower, p.mark) {
				continue
			}
			v := after(text, p.mark)
			if v == "" {
				v = after(text, "")
			}
			return protocol.ServerInfo{Product: p.product, Version: v}
		}
	}
	if strings.HasPrefix(version, "PostgreSQL ") {
		return protocol.ServerInfo{Product: "PostgreSQL", Version: after(version, "PostgreSQL ")}
	}
	if v := after(version, ""); v != "" {
		return protocol.ServerInfo{Version: v}
	}
	return protocol.ServerInfo{Version: after(parameter, "")}
}
