#!/bin/sh
# What keeping cores awake (--awake) changes, in the generator's own lag and in the figures of a server that
# shares the machine.
#
# A PostgreSQL of its own is loaded by turns with --awake off and with --awake on (MODE), off-on-on-off …, in
# ROUNDS (5) rounds of both: RATE (300) requests a second for SECONDS_EACH (10), the open load, and as many as
# SESSIONS (8) connections can send for CLOSED_SECONDS (5), the closed one. What differs between the lines of a
# table differs by that alone. Each figure is the median of its runs, with the least and the greatest of them.
#
# "Own lag" is the generator's (docs/verdict.md); "service" is what the server takes from the actual send;
# "server" is the CPU of all its processes; "spun" is the CPU of the threads of idle priority, which is in no
# other figure; "valid" is how many runs' results stand.
#
# Run it with nothing else on the machine, as root for all that --awake can do (docs/awake.md). It takes
# ROUNDS * 2 * (SECONDS_EACH + CLOSED_SECONDS + 3) seconds, three minutes by default. Needs PostgreSQL's server
# programs (PG_BIN, by default the newest of Debian's) and brunt (BRUNT, by default bin/brunt). Prints two
# Markdown tables.
set -eu

. "$(dirname "$0")/postgres.sh"
rate=${RATE:-300}
seconds=${SECONDS_EACH:-10}
closed_seconds=${CLOSED_SECONDS:-5}
mode=${MODE:-on}
port=${PORT:-18322}
start_server "$port" "-c fsync=off"
echo 'queries: [{name: one, sql: select 1, weight: 1}]' | tee "$dir/open.yml" >"$dir/closed.yml"
echo "load: [{closed: {duration: ${closed_seconds}s}}]" >>"$dir/closed.yml"

# run LOAD MODE NUMBER COMMAND…: one run. Exit code 98 is a result that doesn't stand, which is counted.
run() {
	bundle=$dir/$1-$2-$3
	load=$1 awake=$2
	shift 3
	"$brunt" "$@" -c "$dir/$load.yml" --proto pg -a "127.0.0.1:$port" -u stress --database postgres --vu "$sessions" \
		--awake "$awake" --watch "tree:$server" --bundle "$bundle" --quiet >"$dir/out" 2>&1 || [ $? = 98 ] || { cat "$dir/out" >&2; exit 1; }
	sleep 1
}

# column LOAD MODE SCALE FORMAT FIGURE [AFTER]: the median of a figure over the runs, and its range.
column() {
	load=$1 awake=$2 scale=$3 format=$4
	shift 4
	for bundle in "$dir/$load-$awake"-*; do one "$bundle" "$@"; done | sort -g |
		awk -v s="$scale" -v f="$format" '{ v[NR] = $1 / s } END { printf f " (" f "–" f ")", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[1], v[NR] }'
}

valid() {
	for bundle in "$dir/$1-$2"-*; do one "$bundle" result '"verdict"'; done | awk '$1 != "invalid" { n++ } END { printf "%d of %d", n, NR }'
}

for n in $(seq "$rounds"); do
	if [ $((n % 2)) = 1 ]; then order="off $mode"; else order="$mode off"; fi
	for awake in $order; do
		run open "$awake" "$n" rate --rate "$rate" --duration "${seconds}s"
		run closed "$awake" "$n" run
	done
done

one "$dir/open-$mode-1" threads_reason '"awake"' | grep -v '^0$' | sed 's/^/No threads of idle priority: /' >&2 || true
echo "Open: $rate/s for $seconds s, $sessions connections. Times in µs."
echo
echo "| --awake | valid | own lag mean | own lag p99 | response p50 | response p99 | service p50 | service p99 | server, cores | brunt, µs an operation | spun, cores | stolen, ms |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|"
for awake in off "$mode"; do
	echo "| $awake | $(valid open $awake) | $(column open $awake 1000 %.0f own_lag_mean_ns) | $(column open $awake 1000 %.0f own_lag_p99_ns) | $(column open $awake 1000 %.0f p50_ns '"total"') | $(column open $awake 1000 %.0f p99_ns '"total"') | $(column open $awake 1000 %.0f p50_ns '^    "service"') | $(column open $awake 1000 %.0f p99_ns '^    "service"') | $(column open $awake 1 %.3f mean 'cpu_seconds') | $(column open $awake 1000 %.0f cpu_ns_per_operation) | $(column open $awake $((seconds * 1000000000)) %.2f cpu_ns '"awake"') | $(column open $awake 1000000 %.0f steal_ns) |"
done
echo
echo "Closed: $sessions connections for $closed_seconds s. Times in µs."
echo
echo "| --awake | valid | operations/s | service p50 | service p99 | server, cores | brunt, µs an operation | spun, cores |"
echo "|---|---|---|---|---|---|---|---|"
for awake in off "$mode"; do
	echo "| $awake | $(valid closed $awake) | $(column closed $awake 1 %.0f rate_per_s '"total"') | $(column closed $awake 1000 %.0f p50_ns '^    "service"') | $(column closed $awake 1000 %.0f p99_ns '^    "service"') | $(column closed $awake 1 %.3f mean 'cpu_seconds') | $(column closed $awake 1000 %.1f cpu_ns_per_operation) | $(column closed $awake $((closed_seconds * 1000000000)) %.2f cpu_ns '"awake"') |"
done
