#!/bin/sh
# What --inspect costs: throughput and the server's CPU on pgbench's workload, without and with it.
#
# A PostgreSQL of its own with pgbench's tables (SCALE 10) is loaded by turns without and with --inspect,
# without-with-with-without …, in ROUNDS (5) rounds of both: as many of pgbench's transactions ("TPC-B") and
# of its reads ("select only") as SESSIONS (8) connections can send for SECONDS_EACH (20). Each figure is the
# median of its runs, with the least and the greatest of them; "server" is the CPU of all the server's
# processes for each operation; the last column is the difference of the medians.
#
# Run it with nothing else on the machine. It takes ROUNDS * 4 * (SECONDS_EACH + 3) seconds, eight minutes by
# default. Needs PostgreSQL's programs (PG_BIN, by default the newest of Debian's) and brunt (BRUNT, by default
# bin/brunt). Prints a Markdown table.
set -eu

. "$(dirname "$0")/postgres.sh"
seconds=${SECONDS_EACH:-20}
scale=${SCALE:-10}
port=${PORT:-18323}
start_server "$port" "-c shared_preload_libraries=pg_stat_statements -c shared_buffers=256MB -c synchronous_commit=off"
"$bin/pgbench" -i -q -s "$scale" -h 127.0.0.1 -p "$port" -U stress postgres >/dev/null 2>&1
"$bin/psql" -q -h 127.0.0.1 -p "$port" -U stress postgres -c 'create extension pg_stat_statements'

account="{name: account, type: Integer, range: [1, $((scale * 100000))]}"
delta='{name: delta, type: Integer, range: [-5000, 5000]}'
cat >"$dir/tpcb.yml" <<EOF
transactions:
  - name: tpcb
    weight: 1
    statements:
      - sql: update pgbench_accounts set abalance = abalance + \$1 where aid = \$2
        params: [$delta, $account]
      - sql: select abalance from pgbench_accounts where aid = \$1
        params: [{same_as: account}]
      - sql: update pgbench_tellers set tbalance = tbalance + \$1 where tid = \$2
        params: [{same_as: delta}, {name: teller, type: Integer, range: [1, $((scale * 10))]}]
      - sql: update pgbench_branches set bbalance = bbalance + \$1 where bid = \$2
        params: [{same_as: delta}, {name: branch, type: Integer, range: [1, $scale]}]
      - sql: insert into pgbench_history (tid, bid, aid, delta, mtime) values (\$1, \$2, \$3, \$4, current_timestamp)
        params: [{same_as: teller}, {same_as: branch}, {same_as: account}, {same_as: delta}]
load: [{closed: {duration: ${seconds}s}}]
EOF
cat >"$dir/select.yml" <<EOF
queries: [{name: select, sql: select abalance from pgbench_accounts where aid = \$1, params: [$account], weight: 1}]
load: [{closed: {duration: ${seconds}s}}]
EOF

# run LOAD SIDE NUMBER FLAGS…: one run. Exit code 98 is a result that doesn't stand.
run() {
	bundle=$dir/$1-$2-$3
	load=$1
	shift 3
	"$brunt" run -c "$dir/$load.yml" --proto pg -a "127.0.0.1:$port" -u stress --database postgres --vu "$sessions" \
		--watch "tree:$server" --bundle "$bundle" --quiet "$@" >"$dir/out" 2>&1 || [ $? = 98 ] || { cat "$dir/out" >&2; exit 1; }
	sleep 1
}

# figures LOAD SIDE KIND: that figure of each run, a line a run, sorted.
figures() {
	for bundle in "$dir/$1-$2"-*; do
		rate=$(one "$bundle" rate_per_s '"total":')
		case $3 in
		rate) echo "$rate" ;;
		cpu) awk -v cores="$(one "$bundle" mean '"name": "cpu_seconds"')" -v rate="$rate" 'BEGIN { print 1e6 * cores / rate }' ;;
		esac
	done | sort -g
}

median() { awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# row LOAD NAME KIND FORMAT: a line of the table.
row() {
	for side in without with; do
		figures "$1" "$side" "$3" | awk -v f="$4" '{ v[NR] = $1 } END { printf "| " f " (" f "–" f ") ", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[1], v[NR] }' >"$dir/$side.cell"
	done
	change=$(awk -v a="$(figures "$1" without "$3" | median)" -v b="$(figures "$1" with "$3" | median)" 'BEGIN { printf "%+.2f %%", 100 * (b / a - 1) }')
	echo "| $2 $(cat "$dir/without.cell")$(cat "$dir/with.cell")| $change |"
}

inspect="pg=postgres://stress@127.0.0.1:$port/postgres"
for n in $(seq "$rounds"); do
	for load in tpcb select; do
		if [ $((n % 2)) = 1 ]; then
			run $load without "$n"
			run $load with "$n" --inspect "$inspect"
		else
			run $load with "$n" --inspect "$inspect"
			run $load without "$n"
		fi
	done
done

echo '| | without | with `--inspect` | change |'
echo '|---|---:|---:|---:|'
row tpcb 'TPC-B, operations/s' rate %.0f
row tpcb 'TPC-B, server, µs an operation' cpu %.1f
row select 'select only, operations/s' rate %.0f
row select 'select only, server, µs an operation' cpu %.2f
