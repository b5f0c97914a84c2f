# Sourced by scripts that load a PostgreSQL of their own: the settings that they share, and the server.
#
# Needs PostgreSQL's programs (PG_BIN, by default the newest of Debian's). The server and its folder go when
# the script ends.

brunt=${BRUNT:-bin/brunt}
rounds=${ROUNDS:-5}
sessions=${SESSIONS:-8}
bin=${PG_BIN:-$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)}
dir=$(mktemp -d)
server=''

# as_server COMMAND…: PostgreSQL refuses to run as root.
as_server() {
	if [ "$(id -u)" = 0 ]; then (cd / && setpriv --reuid postgres --regid postgres --clear-groups "$@"); else "$@"; fi
}

finish() {
	if [ -n "$server" ]; then as_server "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true; fi
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

# start_server PORT OPTIONS: a fresh PostgreSQL with the superuser stress; its pid goes into server.
start_server() {
	if [ "$(id -u)" = 0 ]; then chown postgres "$dir"; fi
	as_server "$bin/initdb" -D "$dir/data" -U stress -A trust --no-sync >"$dir.log" 2>&1 || { cat "$dir.log" >&2; exit 1; }
	rm -f "$dir.log"
	as_server "$bin/pg_ctl" -D "$dir/data" -w -l "$dir/server.log" -o "-p $1 -k '' -c listen_addresses=127.0.0.1 $2" start >/dev/null
	server=$(head -1 "$dir/data/postmaster.pid")
}

# one BUNDLE FIGURE [AFTER]: a figure of run.json, the first after the line that AFTER matches.
one() {
	awk -v key="\"$2\":" -v after="${3:-.}" '$0 ~ after { on = 1 } on && $1 == key { v = $2; gsub(/[",]/, "", v); print v; found = 1; exit } END { if (!found) print 0 }' "$1/run.json"
}
