package sysbench

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/render/message"
)

// settingsOf parses a command line of run.
func settingsOf(t *testing.T, version string, args ...string) *Settings {
	t.Helper()
	s, err := Parse(append(args, "run"), version, "", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// a span of the load: so many seconds in which each of two threads does so much.
type second struct {
	events, errors uint64
	ms             int64 // latency of each event
	backlog        uint64
	warmUp         bool
}

// printed feeds intervals to a printer of lines and returns what it prints, at the end too.
func printed(t *testing.T, s *Settings, seconds ...second) (text string, l *lines, ended bool) {
	t.Helper()
	var out bytes.Buffer
	l = newLines(s, &out)
	l.program = &program{counters: make([]Counters, s.Threads)}
	l.end, l.abort = func(message.Message) { ended = true }, func(message.Message) {}
	l.ready(t.Context())
	at := int64(5e9)
	for _, sec := range seconds {
		latency := measure.NewHistogram()
		for i := range l.program.counters {
			c := &l.program.counters[i]
			add(&c.events, sec.events)
			add(&c.errors, sec.errors)
			add(&c.reads, 14*sec.events)
			add(&c.writes, 4*sec.events)
			add(&c.other, 2*sec.events)
			c.busyNs.Add(int64(sec.events) * sec.ms * 1e6)
			latency.RecordN(sec.ms*1e6, sec.events)
		}
		iv := &measure.Interval{WarmUp: sec.warmUp, Account: measure.Account{StartNs: at, EndNs: at + 1e9, Busy: 1,
			Backlog: sec.backlog, Operations: []measure.OperationAccount{{Response: latency}}}}
		at += 1e9
		if err := l.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	return out.String(), l, ended
}

func TestIntervalLines(t *testing.T) {
	s := settingsOf(t, Version10, "oltp_read_write", "--threads=2", "--report-interval=2", "--rate=100")
	got, _, _ := printed(t, s, second{events: 10, ms: 2}, second{events: 10, errors: 1, ms: 4, backlog: 7},
		second{events: 1})
	// The percentile is the value of a bucket: 3.96 and 4.03 are next to 4 ms.
	want := "Threads started!\n\n" +
		"[ 2s ] thds: 2 tps: 20.00 qps: 400.00 (r/w/o: 280.00/80.00/40.00) lat (ms,95%): 4.03 err/s: 1.00 reconn/s: 0.00\n" +
		"[ 2s ] queue length: 7, concurrency: 1\n"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestCheckpoints: each report has the figures since the one before.
func TestCheckpoints(t *testing.T) {
	s := settingsOf(t, Version10, "oltp_read_write", "--threads=2", "--report-checkpoints=1,3")
	got, _, _ := printed(t, s, second{events: 10, ms: 2}, second{events: 5, ms: 2}, second{events: 5, ms: 2})
	for _, want := range []string{"[ 1s ] Checkpoint report:\n", "[ 3s ] Checkpoint report:\n",
		"    transactions:                        20     (20.00 per sec.)\n",
		"    transactions:                        20     (10.00 per sec.)\n",
		"    total time:                          3.0000s\n", "    execution time (avg/stddev):   0.0200/0.00\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// TestFullQueue: a queue of 131072 events ends the load.
func TestFullQueue(t *testing.T) {
	s := settingsOf(t, Version10, "oltp_read_write", "--rate=100000")
	got, l, ended := printed(t, s, second{backlog: 131071}, second{backlog: 131072})
	if !ended || !l.failed || !strings.HasSuffix(got, "FATAL: The event queue is full. This means the worker threads are "+
		"unable to keep up with the specified event generation rate\n") {
		t.Errorf("ended %v: %s", ended, got)
	}
	if _, l, ended := printed(t, s, second{backlog: 131071}); ended || l.failed {
		t.Error("a queue of 131071 ended the load")
	}
}

// TestReport11: the report of 1.1, whose figures are those after the warm-up.
func TestReport11(t *testing.T) {
	s := settingsOf(t, Version11, "oltp_read_write", "--threads=2", "--warmup-time=1")
	_, l, _ := printed(t, s, second{events: 99, ms: 1, warmUp: true}, second{events: 3, ms: 20})
	var out bytes.Buffer
	l.p.w = &out
	f := l.figures(&l.section)
	l.p.report(&f)
	want := `SQL statistics:
    queries performed:
        read:                            84
        write:                           24
        other:                           12
        total:                           120
    transactions:                        6      (6.00 per sec.)
    queries:                             120    (120.00 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

Throughput:
    events/s (eps):                      6.0000
    time elapsed:                        1.0000s
    total number of events:              6

Latency (ms):
         min:                                   20.00
         avg:                                   20.00
         max:                                   20.00
         95th percentile:                       20.00
         sum:                                  120.00

Threads fairness:
    events (avg/stddev):           3.0000/0.00
    execution time (avg/stddev):   0.0600/0.00

`
	if out.String() != want {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
}

// TestForcedShutdown reads the option's forms.
func TestForcedShutdown(t *testing.T) {
	for text, want := range map[string]string{"off": "", "5": "5s", "50%": "20s", "": "2s"} {
		s := settingsOf(t, Version10, "oltp_insert", "--time=40", "--forced-shutdown="+text)
		got := ""
		if s.Forced {
			got = s.ForcedAfter.String()
		}
		if got != want {
			t.Errorf("--forced-shutdown=%s: %s, want %s", text, got, want)
		}
	}
}

// TestHistogramBuckets compares buckets with values that sysbench 1.0.20 prints.
func TestHistogramBuckets(t *testing.T) {
	for _, ms := range []float64{0.690, 0.702, 0.715, 0.841, 1.007, 1.857, 3.488, 7.702, 13.953, 16.408} {
		if got := bucketMs(bucketOf(ms)); math.Abs(got-ms) > 0.0005 {
			t.Errorf("%.3f ms are in the bucket of %.3f ms", ms, got)
		}
	}
	var h histogram
	h.add(1e3, 1)
	h.add(1e12, 1)
	h.add(0, 1)
	if h.counts[0] != 2 || h.counts[buckets-1] != 1 {
		t.Error("values out of range aren't in the first and the last bucket")
	}
}

// TestConfigFile reads values as sysbench does: separated by spaces or commas, quoted, before a comment.
func TestConfigFile(t *testing.T) {
	path := t.TempDir() + "/config"
	text := "threads=4\n# a=b\nmysql-host=a,b c # d\nmysql_password=\"p,w #1\", rest\nverbosity='5\nnothing\nhistogram=on\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	s, err := Parse([]string{"--config-file=" + path, "--threads=2", "oltp_insert", "run"}, Version10, "", &errs)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.options.list("mysql-host"), "|"); s.Threads != 2 || got != "a|b|c" || !s.Histogram ||
		s.options.text("mysql-password") != "p,w #1" || s.Verbosity != noticeLevel {
		t.Errorf("threads %d, hosts %s, password %q, verbosity %d", s.Threads, got, s.options.text("mysql-password"), s.Verbosity)
	}
	if want := path + ":5:11: the quote isn't closed\n"; errs.String() != want {
		t.Errorf("%q, want %q", errs.String(), want)
	}
}

// Faults in a file of options have their place, and names that sysbench doesn't have are told as it tells them.
func TestConfigFaults(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a value": {"db-driver=mysql\npercentile=101\n",
			"FATAL: Invalid value for --percentile: 101\nbrunt: %s:2:12: the value of percentile\n"},
		"a number": {"#\nthreads=zz\n",
			"Invalid value for the 'threads' option: 'zz'\nbrunt: %s:2:9: the value of threads\n"},
		"a mistake": {"mysql-port=1\nreport-intervall=1\n",
			"brunt: note: %s:2:1: sysbench has no option \"report_intervall\"; it has no effect\n"},
		"a test's": {"mysql-port=1\n\ntable_size=4\n", "brunt: note: %s:3:1: table_size in the --config-file has no effect, "},
	} {
		path := t.TempDir() + "/config"
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := called(t, "", "oltp_insert", "--config-file="+path, "--mysql-host=127.0.0.1", "run")
		if text, want := got.out+got.err, fmt.Sprintf(c.want, path); !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", name, text, want)
		}
		told := strings.Contains(got.out, "WARNING: Global option 'report_intervall' will not be exported")
		if told != (name == "a mistake") {
			t.Errorf("%s: the warning is told: %v", name, told)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add("threads=4\na='b, c' # d\n")
	f.Add("=\n==\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		readConfig(strings.NewReader(text), func(int, int, string) {})
	})
}

// TestRefusals: what can't be kept is refused by name, before anything is sent.
func TestRefusals(t *testing.T) {
	for line, want := range map[string]string{
		"cpu run":                              "the test cpu isn't run: it isn't a load on a server; brunt runs oltp_read_write, ",
		"fileio run":                           "the test fileio isn't run: fio does; ",
		"./my.lua run":                         "the script ./my.lua isn't run: brunt runs sysbench's own tests",
		"/srv/my/oltp_insert.lua run":          "the script /srv/my/oltp_insert.lua isn't run",
		"nosuch run":                           "FATAL: Cannot find benchmark 'nosuch'",
		"run":                                  "FATAL: Cannot find benchmark 'run'",
		"":                                     "name a test: oltp_read_write, ",
		"oltp_insert --mysql-dry-run run":      "--mysql-dry-run isn't supported",
		"oltp_insert --mysql-compression run":  "--mysql-compression isn't supported",
		"oltp_insert --mysql-ssl-cipher=x run": "--mysql-ssl-cipher isn't supported",
		"oltp_insert --db-driver=oracle run":   "FATAL: invalid database driver name: 'oracle'",
		"oltp_insert --db-ps-mode=always run":  "FATAL: Invalid value for db-ps-mode: always",
		"oltp_insert --table-size=many run":    "Invalid value for the 'table_size' option: 'many'",
		"oltp_insert --tables=0 run":           "Invalid value for the 'tables' option: '0'",
		"oltp_insert --table-size=0 run":       "Invalid value for the 'table_size' option: '0'",
		"oltp_insert --sysbench-version=1.1 --reconnect=x run":       "Invalid value for the 'reconnect' option: 'x'",
		"oltp_insert --sysbench-version=1.1 --rand-type=special run": "FATAL: Invalid random numbers distribution: special.",
		"oltp_insert --sysbench-version=3 run":                       "--sysbench-version 3: use 1.0 or 1.1",
		"oltp_insert --rand-spec-iter=0 run":                         "Invalid value for the 'rand_spec_iter' option: '0'",
	} {
		got := ours(t, strings.Fields(line)...)
		if text := got.out + got.err; got.code != 1 || !strings.Contains(text, want) {
			t.Errorf("%s: code %d, %q; want %q", line, got.code, text, want)
		}
	}
	if got := called(t, "", "cpu", "run"); got.code != 104 {
		t.Errorf("called as brunt: code %d", got.code)
	}
	for _, path := range []string{"oltp_insert", "oltp_insert.lua", "/usr/share/sysbench/oltp_insert.lua"} {
		if _, ok := testNamed(path); !ok {
			t.Errorf("%s isn't known", path)
		}
	}
}
