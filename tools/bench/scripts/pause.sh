#!/bin/sh
# What load generators make of a server that stands still half of the time.
#
# An nginx is stopped and continued (SIGSTOP, SIGCONT) every 5 s while each tool sends 100 requests
# a second (RATE, a multiple of 10) over 10 connections for 40 s (SECONDS_EACH, a multiple of 10); ab,
# which has no rate, as fast as it can. The table shows what each tool reports beside the arithmetic.
#
# The arithmetic: at a rate R a request that falls due u seconds after the server stopped for P has
# R*u others before it when it goes on. They are answered at the rate D that 10 connections get from
# this nginx, so its response takes P - u + u*R/D = P - u*(1 - R/D); requests that fall due later wait by
# the same line until it meets zero. Of two halves of P seconds each the quantile q is therefore
# P * (1 - 2*(1-q)*(1 - R/D)), and never below an answer's own time. D is measured before, by a closed
# load: the median of five.
#
# The last column is the time lost. What the server was really stopped for while brunt ran is printed
# below the table.
#
# Needs nginx, and of the others those that are there: ab and hey in PATH (or AB, HEY), slow_cooker
# (SLOW_COOKER), brunt (BRUNT, by default bin/brunt). Prints a Markdown table.
set -eu

brunt=${BRUNT:-bin/brunt}
seconds=${SECONDS_EACH:-40}
half=5
rate=${RATE:-100}
each=$((rate / 10))
port=${PORT:-18321}
url=http://127.0.0.1:$port/
dir=$(mktemp -d)
nginx_pid='' pids='' pauser=''

finish() {
	if [ -n "$pauser" ]; then kill "$pauser" 2>/dev/null || true; fi
	if [ -n "$nginx_pid" ]; then
		kill -CONT $pids 2>/dev/null || true
		kill "$nginx_pid" 2>/dev/null || true
	fi
	rm -rf "$dir"
}
trap finish EXIT INT TERM

workers() {
	for stat in /proc/[0-9]*/stat; do
		sed -n "s/^\([0-9]*\) (.*) [A-Z] $nginx_pid .*/\1/p" "$stat" 2>/dev/null || true
	done
	echo "$nginx_pid"
}

start_nginx() {
	mkdir "$dir/html"
	head -c 612 /dev/zero | tr '\0' 'x' >"$dir/html/index.html"
	user=''
	if [ "$(id -u)" = 0 ]; then user='user root;'; fi
	cat >"$dir/nginx.conf" <<CONF
daemon off;
$user
worker_processes 1;
pid $dir/pid;
events { worker_connections 1024; }
http {
	access_log off;
	keepalive_requests 1000000000;
	client_body_temp_path $dir/t1;
	proxy_temp_path $dir/t2;
	fastcgi_temp_path $dir/t3;
	uwsgi_temp_path $dir/t4;
	scgi_temp_path $dir/t5;
	server { listen 127.0.0.1:$port backlog=4096; root $dir/html; }
}
CONF
	nginx -p "$dir" -c "$dir/nginx.conf" -e "$dir/log" &
	nginx_pid=$!
	while [ ! -s "$dir/pid" ]; do sleep 0.05; done
	sleep 0.5
	pids=$(workers)
}

# under_pauses COMMAND…: runs it while the server works and stands still in turn.
under_pauses() {
	: >"$dir/stopped"
	(
		while :; do
			sleep $half
			kill -STOP $pids
			from=$(date +%s%N)
			sleep $half
			kill -CONT $pids
			echo "$from $(date +%s%N)" >>"$dir/stopped"
		done
	) &
	pauser=$!
	"$@" >"$dir/out" 2>"$dir/err" || { cat "$dir/err" >&2; echo "$1 failed" >&2; }
	kill "$pauser" 2>/dev/null || true
	wait "$pauser" 2>/dev/null || true
	pauser=''
	kill -CONT $pids 2>/dev/null || true
	sleep 1
}

row() { printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$@"; }

# ms VALUE SCALE: milliseconds of a value in units of which SCALE make one.
ms() { awk -v v="$1" -v s="$2" 'BEGIN { x = v / s; if (x < 100) printf "%.1f ms", x; else printf "%.2f s", x / 1000 }'; }

# drained: how many answers a second 10 connections get.
drained() {
	for n in 1 2 3 4 5; do
		"$brunt" http --sessions 10 --duration 1s --bundle "$dir/closed$n" --output csv --quiet "$url" 2>/dev/null |
			awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "rate_per_s") c = i } NR == 2 { print $c }'
	done | sort -n | sed -n 3p
}

start_nginx
drain=$(drained)
# due QUANTILE: what arithmetic says of it.
due() { awk -v q="$1" -v p=$half -v r="$rate" -v d="$drain" 'BEGIN { printf "%.3f s", p * (1 - 2 * (1 - q) * (1 - r / d)) }'; }
echo "| | Requests | p50 | p75 | p90 | p95 | p99 | p99.9 | Max | Time lost |"
echo "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
row "arithmetic, $(printf %.0f "$drain") answers/s" $((rate * seconds)) "$(due 0.5)" "$(due 0.75)" "$(due 0.9)" "$(due 0.95)" "$(due 0.99)" "$(due 0.999)" "$(due 1)" "$((seconds / 2)).0 s"

ab=${AB:-$(command -v ab || true)}
if [ -n "$ab" ]; then
	under_pauses "$ab" -k -c 10 -t "$seconds" -n 5000000 -e "$dir/ab.csv" "$url"
	done_=$(awk '/^Complete requests:/ { print $3 }' "$dir/out")
	q() { ms "$(awk -F, -v p="$1" '$1 == p { print $2 }' "$dir/ab.csv")" 1; }
	max=$(awk '/^ 100%/ { print $2 }' "$dir/out")
	row 'ab -k -c 10' "$done_" "$(q 50)" "$(q 75)" "$(q 90)" "$(q 95)" "$(q 99)" '–' "$(ms "$max" 1)" '–'
fi

hey=${HEY:-$(command -v hey || true)}
if [ -n "$hey" ]; then
	under_pauses "$hey" -c 10 -q "$each" -z "${seconds}s" -t 20 "$url"
	done_=$(awk '/\[200\]/ { print $2 }' "$dir/out")
	q() { ms "$(awk -v p="$1" '{ gsub(/%/, "", $1) } $1 == p && $2 == "in" { print $3 * 1000 }' "$dir/out")" 1; }
	max=$(awk '/Slowest:/ { print $2 * 1000 }' "$dir/out")
	row "hey -c 10 -q $each" "$done_" "$(q 50)" "$(q 75)" "$(q 90)" "$(q 95)" "$(q 99)" '–' "$(ms "$max" 1)" '–'
fi

if [ -n "${SLOW_COOKER:-}" ]; then
	under_pauses "$SLOW_COOKER" -concurrency 10 -qps "$each" -iterations $((seconds / 10)) -latencyUnit us "$url"
	done_=$(awk '/^[0-9]/ { split($3, n, "/"); sum += n[1] } END { print sum }' "$dir/out")
	q() { ms "$(awk -F'[:,]' -v p="\"$1\"" '{ gsub(/ /, "", $1) } $1 == p { print $2 + 0 }' "$dir/out")" 1000; }
	row "slow_cooker -concurrency 10 -qps $each" "$done_" "$(q p50)" "$(q p75)" "$(q p90)" "$(q p95)" "$(q p99)" "$(q p999)" "$(q p999)" '–'
fi

under_pauses "$brunt" cook -concurrency 10 -qps "$each" -iterations $((seconds / 10)) -bundle "$dir/bundle" -quiet "$url"
"$brunt" report "$dir/bundle" --output csv >"$dir/brunt.csv"
field() { awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR == 2 { print $c }' "$dir/brunt.csv"; }
q() { ms "$(field "response_$1_ns")" 1000000; }
"$brunt" report "$dir/bundle" --output json >"$dir/brunt.json"
lost=$(awk -F'[:,]' '/"standstill": / { inside = 1 } inside && /"total_ns"/ { print $2 / 1e6; exit }' "$dir/brunt.json")
row "**brunt cook -concurrency 10 -qps $each**" "$(field done)" "$(q p50)" "$(q p75)" "$(q p90)" "$(q p95)" "$(q p99)" "$(q p999)" "$(q max)" "$(ms "$lost" 1)"
awk -v lost="$lost" '{ sum += ($2 - $1) / 1e6 } END { printf "\nThe server was stopped for %.3f s; brunt says %.3f s (%+.2f %%).\n", sum / 1000, lost / 1000, 100 * (lost / sum - 1) }' "$dir/stopped"
cp "$dir/out" "${LINES_TO:-/dev/null}"
