#!/bin/sh
# What load generators make of a server that stands still half of the time.
#
# An nginx is stopped and continued (SIGSTOP, SIGCONT) every 5 s while each tool sends 100 requests
# a second over 10 connections for 40 s (ab, which has no rate, as fast as it can). A request that
# falls due t seconds before the server goes on takes t seconds, so half of the response times are
# next to nothing and the others are spread evenly over 5 s: p75 is 2.5 s, p90 4 s, p95 4.5 s, p99
# 4.9 s and p99.9 4.99 s. The table shows what each tool reports instead.
#
# Needs nginx, and of the others those that are there: ab and hey in PATH (or AB, HEY), slow_cooker
# (SLOW_COOKER), brunt (BRUNT, by default bin/brunt). Prints a Markdown table.
set -eu

brunt=${BRUNT:-bin/brunt}
seconds=${SECONDS_EACH:-40}
half=5
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
	(
		while :; do
			sleep $half
			kill -STOP $pids
			sleep $half
			kill -CONT $pids
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

row() { printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$@"; }

# ms VALUE SCALE: milliseconds of a value in units of which SCALE make one.
ms() { awk -v v="$1" -v s="$2" 'BEGIN { x = v / s; if (x < 100) printf "%.1f ms", x; else printf "%.2f s", x / 1000 }'; }

start_nginx
echo "| | Requests | p50 | p75 | p90 | p95 | p99 | p99.9 | Max |"
echo "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
row 'arithmetic' $((100 * seconds)) '< 1 ms' '2.50 s' '4.00 s' '4.50 s' '4.90 s' '4.99 s' '5.00 s'

ab=${AB:-$(command -v ab || true)}
if [ -n "$ab" ]; then
	under_pauses "$ab" -k -c 10 -t "$seconds" -n 5000000 -e "$dir/ab.csv" "$url"
	done_=$(awk '/^Complete requests:/ { print $3 }' "$dir/out")
	q() { ms "$(awk -F, -v p="$1" '$1 == p { print $2 }' "$dir/ab.csv")" 1; }
	max=$(awk '/^ 100%/ { print $2 }' "$dir/out")
	row 'ab -k -c 10' "$done_" "$(q 50)" "$(q 75)" "$(q 90)" "$(q 95)" "$(q 99)" '–' "$(ms "$max" 1)"
fi

hey=${HEY:-$(command -v hey || true)}
if [ -n "$hey" ]; then
	under_pauses "$hey" -c 10 -q 10 -z "${seconds}s" -t 20 "$url"
	done_=$(awk '/\[200\]/ { print $2 }' "$dir/out")
	q() { ms "$(awk -v p="$1%" '$1 == p && $2 == "in" { print $3 * 1000 }' "$dir/out")" 1; }
	max=$(awk '/Slowest:/ { print $2 * 1000 }' "$dir/out")
	row 'hey -c 10 -q 10' "$done_" "$(q 50)" "$(q 75)" "$(q 90)" "$(q 95)" "$(q 99)" '–' "$(ms "$max" 1)"
fi

if [ -n "${SLOW_COOKER:-}" ]; then
	under_pauses "$SLOW_COOKER" -concurrency 10 -qps 10 -iterations $((seconds / 10)) -latencyUnit us "$url"
	done_=$(awk '/^[0-9]/ { split($3, n, "/"); sum += n[1] } END { print sum }' "$dir/out")
	q() { ms "$(awk -F'[:,]' -v p="\"$1\"" '{ gsub(/ /, "", $1) } $1 == p { print $2 + 0 }' "$dir/out")" 1000; }
	row 'slow_cooker -concurrency 10 -qps 10' "$done_" "$(q p50)" "$(q p75)" "$(q p90)" "$(q p95)" "$(q p99)" "$(q p999)" "$(q p999)"
fi

under_pauses "$brunt" cook -concurrency 10 -qps 10 -iterations $((seconds / 10)) -bundle "$dir/bundle" -quiet "$url"
"$brunt" report "$dir/bundle" --output csv >"$dir/brunt.csv"
field() { awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR == 2 { print $c }' "$dir/brunt.csv"; }
q() { ms "$(field "response_$1_ns")" 1000000; }
row '**brunt cook -concurrency 10 -qps 10**' "$(field done)" "$(q p50)" "$(q p75)" "$(q p90)" "$(q p95)" "$(q p99)" "$(q p999)" "$(q max)"
cp "$dir/out" "${LINES_TO:-/dev/null}"
