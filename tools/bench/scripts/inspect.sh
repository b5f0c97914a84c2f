#!/bin/sh
# What --inspect costs: throughput and the server's CPU on pgbench's workload, without and with it.
#
# A PostgreSQL of its own with pgbench's tables (SCALE 10) is loaded by turns without and with --inspect,
# without-with-with-without …, in ROUNDS (6) rounds of both: as many of pgbench's transactions ("TPC-B") and
# of its reads ("select only") as SESSIONS (8) connections can send for SECONDS_EACH (8). Each figure is the
# median of its runs, with the least and the greatest of them; "server" is the CPU of all the server's
# processes for each operation; the last column is the median of the rounds' differences with its 95 % interval (of
# order statistics, which takes 6 rounds at least). Many short rounds say more than few long ones where the machine
# changes.
#
# The last line of each load is the CPU that the inspector's own session used, of what all the server's processes used
# meanwhile, from the kernel's accounts: that needs no comparison, and holds on a busy machine too.
#
# Run it with nothing else on the machine. It takes ROUNDS * 4 * (SECONDS_EACH + 2) seconds, four minutes by
# default; LOADS ("tpcb select") leaves one of the two out. Needs PostgreSQL's programs (PG_BIN, by default the newest of Debian's) and brunt (BRUNT, by default
# bin/brunt). Prints a Markdown table.
set -eu

. "$(dirname "$0")/postgres.sh"
rounds=${ROUNDS:-6}
seconds=${SECONDS_EACH:-8}
scale=${SCALE:-10}
loads=${LOADS:-tpcb select}
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

# ticks PID…: CPU time of processes and of their children that have ended, in hundredths of a second.
ticks() { for p in "$@"; do sed 's/.*) //' "/proc/$p/stat" 2>/dev/null; done | awk '{ s += $12 + $13 } END { print s + 0 }'; }
ended_ticks() { sed 's/.*) //' "/proc/$server/stat" | awk '{ print $14 + $15 }'; }
server_ticks() { echo $(($(ticks "$server" $(pgrep -P "$server")) + $(ended_ticks))); }

# follow FILE SIDE: the inspector's session's CPU time as it was last seen, until it is gone. Without an inspector
# it follows the server until the run is over, so that both sides bear the cost of following.
follow() {
	followed=$server
	if [ "$2" = with ]; then
		followed=
		while [ -z "$followed" ] && [ ! -e "$dir/over" ]; do
			followed=$("$bin/psql" -At -h 127.0.0.1 -p "$port" -U stress postgres -c "select pid from pg_stat_activity where application_name = 'brunt-inspect'")
		done
	fi
	last=
	while read -r seen 2>/dev/null <"/proc/$followed/stat"; do
		last=$seen
		[ "$followed" = "$server" ] && [ -e "$dir/over" ] && break
		sleep 0.2
	done
	echo "$last" | sed 's/.*) //' | awk '{ print $12 + $13 }' >"$1"
}

# run LOAD SIDE NUMBER FLAGS…: one run. Exit code 98 is a result that doesn't stand.
run() {
	bundle=$dir/$1-$2-$3
	load=$1 side=$2
	shift 3
	rm -f "$dir/over"
	began=$(server_ticks)
	follow "$bundle.session" "$side" &
	follower=$!
	"$brunt" run -c "$dir/$load.yml" --proto pg -a "127.0.0.1:$port" -u stress --database postgres --vu "$sessions" \
		--watch "tree:$server" --bundle "$bundle" --quiet "$@" >"$dir/out" 2>&1 || [ $? = 98 ] || { cat "$dir/out" >&2; exit 1; }
	touch "$dir/over"
	sleep 1
	wait "$follower"
	[ "$side" = without ] || echo "$(cat "$bundle.session") $(($(server_ticks) - began))" >>"$dir/$load.ticks"
}

# figures LOAD SIDE KIND: that figure of each run, a line a run, sorted.
figures() {
	for bundle in "$dir/$1-$2"-*/; do figure "${bundle%/}" "$3"; done | sort -g
}

# figure BUNDLE KIND: that figure of a run.
figure() {
	rate=$(one "$1" rate_per_s '"total":')
	case $2 in
	rate) echo "$rate" ;;
	cpu) awk -v cores="$(one "$1" mean '"name": "cpu_seconds"')" -v rate="$rate" 'BEGIN { print 1e6 * cores / rate }' ;;
	esac
}

# row LOAD NAME KIND FORMAT: a line of the table.
row() {
	for side in without with; do
		figures "$1" "$side" "$3" | awk -v f="$4" '{ v[NR] = $1 } END { printf "| " f " (" f "–" f ") ", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[1], v[NR] }' >"$dir/$side.cell"
	done
	change=$(for n in $(seq "$rounds"); do
		echo "$(figure "$dir/$1-without-$n" "$3") $(figure "$dir/$1-with-$n" "$3")"
	done | awk '{ print 100 * ($2 / $1 - 1) }' | sort -g | awk '{ v[NR] = $1 } END {
		m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
		# The rank beyond which less than 2.5 % lie on each side, of a binomial distribution of one half.
		for (p = c = 0.5 ^ NR; c <= 0.025; c += p) { k++; p *= (NR - k + 1) / k }
		printf "%+.2f %%", m
		if (k >= 1) printf " (%+.2f to %+.2f)", v[k], v[NR + 1 - k] }')
	echo "| $2 $(cat "$dir/without.cell")$(cat "$dir/with.cell")| $change |"
}

inspect="pg=postgres://stress@127.0.0.1:$port/postgres"
for n in $(seq "$rounds"); do
	for load in $loads; do
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
for load in $loads; do
	row "$load" "$load, operations/s" rate %.0f
	row "$load" "$load, server, µs an operation" cpu %.2f
	awk -v name="$load" '{ own += $1; all += $2 } END { printf "| %s, the inspector'"'"'s session | | %.2f of %.2f s of CPU | %.2f %% |\n", name, own / 100, all / 100, 100 * own / all }' "$dir/$load.ticks"
done
