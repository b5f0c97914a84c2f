package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// leaking returns a run with a process that leaks memory, a service that doesn't, and falling throughput.
func leaking() *record.Run {
	run := passes()
	run.Watched = []record.Watched{
		{Source: "load", Samples: 300, Metrics: []record.WatchedMetric{{
			Name: "throughput", Unit: "per_s", First: 1000, Last: 880, Min: 870, Mean: 940, Max: 1001,
			Trend: &record.Trend{Verdict: record.TrendDrift, P: 0.0001, Share: -0.125},
		}}},
		{Source: "pid:4711", Samples: 300, Metrics: []record.WatchedMetric{
			{Name: "rss_bytes", Unit: "bytes", First: 100 << 20, Last: 164 << 20, Min: 100 << 20, Mean: 130 << 20,
				Max: 164 << 20, Trend: &record.Trend{
					Verdict: record.TrendLeak, P: 1e-6, Share: 0.5, PerHour: 64 << 20, Limit: 512 << 20,
					LimitName: "the control group's memory limit", HoursToLimit: 5.4375,
				}},
			{Name: "cpu_seconds", Unit: "cores", First: 0.5, Last: 0.5, Min: 0.4, Mean: 0.5, Max: 0.6},
			{Name: "open_files", Unit: "count", First: 10, Last: 40, Min: 10, Mean: 25, Max: 40,
				Trend: &record.Trend{Verdict: record.TrendLeak, PerHour: 30}},
			{Name: "threads", Unit: "count", First: 7, Last: 8, Min: 7, Mean: 7.5, Max: 8,
				Trend: &record.Trend{Verdict: record.TrendLevelling, Share: 0.12}},
		}},
		{Source: "url:http://h/metrics", Samples: 10, Metrics: []record.WatchedMetric{
			{Name: "heap_bytes", Unit: "bytes", First: 1 << 20, Last: 1 << 20, Min: 1 << 20, Mean: 1 << 20, Max: 1 << 20,
				Trend: &record.Trend{Verdict: record.TrendUnjudged, Why: message.New("trend.few-samples", message.Count("n", 10),
					message.Count("needed", 24))}},
			{Name: "gc_pause_seconds", Unit: "share", First: 0.001, Last: 0.001, Mean: 0.001, Max: 0.002},
		}},
		{Source: "pid:1", Missed: 10, Trouble: "permission denied", Metrics: []record.WatchedMetric{}},
	}
	run.Warnings = verdict.Assess(run)
	return run
}

func TestWatchedIsReported(t *testing.T) {
	var text, md bytes.Buffer
	if err := Terminal(&text, leaking(), Options{Width: 140}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"WATCHED",
		"pid:4711              resident memory",
		"leak: +64.0 MiB/h, 5 h 26 m to 512 MiB (the control group's memory limit)",
		"leak: +30.0/h",
		"grew by 12",
		"not judged: 10 samples",
		"drift: −12.5 %",
		"permission denied",
		"pid:4711: resident memory grew steadily from 100 MiB to 164 MiB",
		"[leak]", "[throughput-drift]",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
	if err := Markdown(&md, leaking(), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| pid:4711 | resident memory | 100 MiB | 130 MiB | 164 MiB | 164 MiB | **leak: +64.0 MiB/h",
		"| pid:4711 | threads |"} {
		if !strings.Contains(md.String(), want) {
			t.Errorf("the Markdown lacks %q:\n%s", want, md.String())
		}
	}
}

func TestSteadyThroughputIsNoSection(t *testing.T) {
	run := passes()
	run.Watched = []record.Watched{{Source: "load", Samples: 300, Metrics: []record.WatchedMetric{{
		Name: "throughput", Unit: "per_s", Mean: 1000, Trend: &record.Trend{Verdict: record.TrendSteady},
	}}}}
	var b bytes.Buffer
	if err := Terminal(&b, run, Options{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "WATCHED") || len(verdict.Assess(run)) != 0 {
		t.Errorf("steady throughput is reported:\n%s", b.String())
	}
}

// Machines have their own table, which summarizes their load.
func TestMachinesAreReported(t *testing.T) {
	run := passes()
	machine := func(source string, busy float64) record.Watched {
		return record.Watched{Source: source, Samples: 9, Metrics: []record.WatchedMetric{
			{Name: "cpu_busy_seconds", Unit: "cores", Mean: busy, Max: busy * 1.25},
			{Name: "cpu_nice_seconds", Unit: "cores", Mean: 0.5}, {Name: "cores", Unit: "count", Mean: 4, Last: 4},
			{Name: "memory_total_bytes", Unit: "bytes", Last: 16 << 30, Mean: 16 << 30},
			{Name: "memory_available_bytes", Unit: "bytes", Min: 4 << 30, Last: 5 << 30},
			{Name: "disk_read_bytes", Unit: "per_s", Mean: 1 << 20}, {Name: "disk_written_bytes", Unit: "per_s", Mean: 2 << 20},
			{Name: "load_1m", Mean: 1.5},
		}}
	}
	run.Watched = []record.Watched{machine("host", 2.4), machine("node:http://db:9100/metrics", 3.2),
		{Source: "node:http://gone:9100/metrics", Missed: 9, Trouble: "refused"}}
	var b bytes.Buffer
	if err := Terminal(&b, run, Options{Width: 140}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"MACHINES", "this one                      4  2.40     3.00          0.50", "12.0 GiB  16.0 GiB  3.00 MiB",
		"node:http://…100/metrics      4  3.20     4.00",
		"node:http://gone:9100/metrics  no samples", "refused",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, b.String())
		}
	}
}

func TestChecksOfAScriptHaveAChart(t *testing.T) {
	m := Machine{Source: record.WatchedScript}
	for i, share := range []float64{1, 1, 0.5, 1} {
		m.samples = append(m.samples,
			record.WatchedSample{TNs: int64(i) * 1e9, Values: map[string]float64{"check is 200": share, "things": 3}})
	}
	blocks := (&builder{}).machineBlocks(&Result{Machines: []Machine{m}})
	if len(blocks) != 1 || !strings.Contains(fmt.Sprint(blocks[0]), "is 200") ||
		strings.Contains(fmt.Sprint(blocks[0]), "things") {
		t.Errorf("%d blocks: %v", len(blocks), blocks)
	}
	m.samples = m.samples[:1]
	if blocks := (&builder{}).machineBlocks(&Result{Machines: []Machine{m}}); len(blocks) != 0 {
		t.Errorf("of one sample: %v", blocks)
	}
}

// The counters of a script are sums over the whole run, so each is shown once.
func TestSumsOfAScriptStandOnce(t *testing.T) {
	run := passes()
	run.Watched = []record.Watched{{Source: record.WatchedScript, Samples: 3, Metrics: []record.WatchedMetric{
		{Name: "iterations", Unit: "count", First: 150, Min: 150, Mean: 150, Max: 150, Last: 150},
		{Name: "checks", Unit: "share", First: 1, Min: 0.5, Mean: 0.9, Max: 1, Last: 0.5},
	}}}
	var b bytes.Buffer
	if err := Terminal(&b, run, Options{Width: 140}); err != nil {
		t.Fatal(err)
	}
	for text, times := range map[string]int{"counters as rates, those of k6 as sums": 1, "  150": 1, "90.0 %": 1} {
		if n := strings.Count(b.String(), text); n != times {
			t.Errorf("the report has %q %d times:\n%s", text, n, b.String())
		}
	}
}

// The phases of a k6 script are shown without the size of their load, which a script doesn't declare.
func TestPhasesOfUnknownLoad(t *testing.T) {
	run := passes()
	run.Phases = []record.Phase{{Name: "load", Kind: "open", DurationNs: 1e9},
		{Name: "idle", Kind: "closed", DurationNs: 1e9}}
	var b bytes.Buffer
	if err := Terminal(&b, run, Options{Width: 140}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "load   open ") || !strings.Contains(b.String(), "idle   closed ") {
		t.Error(b.String())
	}
}

// If a script has many figures, only some have rows, and failed checks come first.
func TestManyFiguresOfAScript(t *testing.T) {
	run := passes()
	w := record.Watched{Source: record.WatchedScript, Samples: 1}
	for i := range 1000 {
		w.Metrics = append(w.Metrics, record.WatchedMetric{Name: fmt.Sprint("m", i), Unit: "seconds", Mean: 1, Max: 1})
	}
	w.Metrics = append(w.Metrics, record.WatchedMetric{Name: record.WatchedCheck + "is 200", Unit: "share", Mean: 0.25})
	run.Watched = []record.Watched{w}
	var b bytes.Buffer
	if err := Terminal(&b, run, Options{Width: 140}); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "check is 200") || !strings.Contains(text, " m98 ") ||
		strings.Contains(text, " m99 ") || !strings.Contains(text, "and 901 others, see run.json") {
		t.Error(text)
	}
}
