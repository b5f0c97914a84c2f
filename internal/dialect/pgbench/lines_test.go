package pgbench

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestIntervals checks the sums that --aggregate-interval writes, and that intervals without transactions are written.
func TestIntervals(t *testing.T) {
	o := &Options{Clients: 1, Threads: 1, AggregateS: 1, RatePerS: 10, LatencyLimitMs: 5, MaxTries: 3,
		FailuresDetailed: true, LogPrefix: filepath.Join(t.TempDir(), "log")}
	l, err := openLogs(o, 7)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1000, 0)
	l.begin(at)
	l.add(&transaction{latency: 10, lag: 3, tries: 1}, 1, at.Add(100*time.Millisecond))
	l.add(&transaction{latency: 30, lag: 5, tries: 3}, 2, at.Add(200*time.Millisecond))
	l.add(&transaction{fate: skipped, tries: 1}, 3, at.Add(300*time.Millisecond))
	l.add(&transaction{fate: serializationError, tries: 3}, 4, at.Add(400*time.Millisecond))
	l.add(&transaction{fate: deadlockError, tries: 2}, 5, at.Add(2500*time.Millisecond))
	if err := l.close(at.Add(4 * time.Second)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(o.LogPrefix + ".7")
	want := "1000 2 40 1000 10 30 8 34 3 5 1 2 4 1 0\n1001 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n1002 0 0 0 0 0 0 0 0 0 0 1 1 0 1\n" +
		"1003 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

// TestProgress checks a line of --progress against one of pgbench 18's form.
func TestProgress(t *testing.T) {
	o := &Options{RatePerS: 1, LatencyLimitMs: 1, MaxTries: 2}
	var last, cur counts
	for _, us := range []float64{1000, 3000} {
		cur.add(&transaction{latency: us, lag: us / 10, tries: 2}, true)
	}
	cur.add(&transaction{fate: skipped}, true)
	cur.add(&transaction{fate: deadlockError, tries: 2}, true)
	got := progressText(o, &cur, &last, 3*time.Second, 2*time.Second, time.Unix(1, 5e8))
	want := "progress: 3.0 s, 1.0 tps, lat 2.000 ms stddev 1.000, 1 failed, lag 0.200 ms, 1 skipped, 3 retried, 3 retries\n"
	if got != want {
		t.Errorf("got %swant %s", got, want)
	}
	o.Timestamps = true
	if got := progressText(o, &cur, &last, 0, 1, time.Unix(1, 5e8)); !strings.HasPrefix(got, "progress: 1.500 s, ") {
		t.Errorf("%s", got)
	}
}

// TestThreads deals clients to threads as pgbench does.
func TestThreads(t *testing.T) {
	for want, o := range map[string]Options{"000": {Clients: 3, Threads: 1}, "001": {Clients: 3, Threads: 2},
		"00011122": {Clients: 8, Threads: 3}} {
		got := ""
		for c := range o.Clients {
			got += string(rune('0' + o.thread(c)))
		}
		if got != want {
			t.Errorf("%d clients of %d threads: %s, want %s", o.Clients, o.Threads, got, want)
		}
	}
}

// TestTooManyClients refuses clients for which there is no memory before it takes any.
func TestTooManyClients(t *testing.T) {
	want := "pgbench: error: -c/--clients 1000000000: brunt has at most 1000000\n"
	if got := ours(newest, "-c", "1000000000"); got.code != exitError || got.stderr != want {
		t.Errorf("%+v", got)
	}
}

// TestImpossibleTables refuses tables that no server can have before it connects.
func TestImpossibleTables(t *testing.T) {
	for name, row := range map[string]struct {
		line []string
		want string
	}{
		"partitions": {[]string{"--partitions=2147483647"},
			"--partitions=2147483647 makes more tables than a server can lock in one statement; give at most 65536"},
		"a table": {[]string{"-s", "2700000"},
			"--scale=2700000 makes a table of more than 32 TB, which PostgreSQL can't have; give at most 2662879, or"},
		"its partitions": {[]string{"-s", "8000000", "--partitions=3"},
			"--scale=8000000 makes a table of more than 32 TB, which PostgreSQL can't have; give at most 7988637, or"},
		"tellers": {[]string{"-s", "2147483647", "-I", "G", "--partitions=10000"},
			"--scale=2147483647 makes numbers of tellers above 2147483647, the greatest of their column; give at most "},
		"not made": {[]string{"-s", "2147483647", "--partitions=2147483647", "-I", "d"}, "connection to server"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ours(newest, append([]string{"-i", "-h", "127.0.0.1", "-p", "1"}, row.line...)...)
			if got.code != exitError || !strings.HasPrefix(got.stderr, "pgbench: error: "+row.want) ||
				name != "not made" && strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var b bytes.Buffer
	usage(&b, "brunt pgbench", newest)
	for _, o := range longOptions(newest) {
		if !strings.Contains(b.String(), "--"+o.name) {
			t.Errorf("the help lacks --%s", o.name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-c 2 -j2 -Sn --rate=5 db")
	f.Add("--par 1 -i -- x")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Fields(line)
		for _, a := range args {
			if strings.Contains(a, "f") { // files
				return
			}
		}
		_, _ = Parse(&Input{Args: args, Stdin: strings.NewReader(""), Getenv: func(string) string { return "" },
			User: func() string { return "u" }, Now: time.Now, Info: func(string) {}})
	})
}

// TestNumbers checks figures that no transaction stands behind.
func TestNumbers(t *testing.T) {
	for want, x := range map[string]float64{"1.235": 1.2346, "NaN": math.NaN(), "Infinity": math.Inf(1)} {
		if got := number3(x); got != want {
			t.Errorf("%v is %s, want %s", x, got, want)
		}
	}
}
