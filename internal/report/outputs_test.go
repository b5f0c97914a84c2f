package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"brunt/internal/judge/compare"
	"brunt/internal/judge/confidence"
	"brunt/internal/judge/result"
	"brunt/internal/measure"
	"brunt/internal/plan/metric"
	"brunt/internal/record"
	"brunt/internal/render/units"
	"brunt/internal/report/export"
)

// timesOfAll returns a run of 20 s whose only operation has each distribution that there is, and its intervals.
func timesOfAll(t *testing.T) (*record.Run, []*measure.Interval) {
	run := &record.Run{Name: "all", LoadModel: "open", Complete: true, Operations: []record.Operation{{Name: "one"}},
		Phases: []record.Phase{{Name: "hold"}}}
	tally, taker := &measure.Tally{}, confidence.NewTaker()
	var all []*measure.Interval
	for k := range int64(20) {
		iv := &measure.Interval{Index: int(k), Phase: "hold", Kind: measure.KindOpen, Account: measure.Account{
			StartNs: k * 1e9, EndNs: (k + 1) * 1e9, Operations: make([]measure.OperationAccount, 1)}}
		o := &iv.Operations[0]
		o.Done, o.Streams, o.StreamMessages = 200, 200, 400
		for i, times := range o.Times() {
			*times = measure.NewHistogram()
			for n := range int64(200) {
				(*times).Record(int64(i+1)*1e6 + 1e4*((n*7+k*13)%90))
			}
		}
		iv.Settle()
		all = append(all, iv)
		if err := tally.Interval(iv); err != nil {
			t.Fatal(err)
		}
		if err := taker.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	record.Fill(run, tally)
	taker.Fill(run)
	return run, all
}

// fromHDRLog returns all values of a tag of an HdrHistogram log, as HdrHistogram's own library reads it.
func fromHDRLog(t *testing.T, log, tag string) *hdrhistogram.Histogram {
	t.Helper()
	all := hdrhistogram.New(1, 1e12, 3)
	r := hdrhistogram.NewHistogramLogReader(strings.NewReader(log))
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			return all
		}
		if h.Tag() == tag {
			all.Merge(h)
		}
	}
}

// Each output has each of an operation's times that its declaration promises: none is forgotten when one is added.
func TestEveryOutputHasEveryTimeOfAnOperation(t *testing.T) {
	run, intervals := timesOfAll(t)
	outputs := map[string]string{}
	write := func(name string, err error, b *bytes.Buffer) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		outputs[name] = b.String()
	}
	for _, format := range []string{"csv", "json"} {
		var b bytes.Buffer
		write("report "+format, Write(&b, format, run, Options{}), &b)
	}
	for _, format := range []string{"csv", "parquet", "prometheus", "influx", "hdr"} {
		var b bytes.Buffer
		f, err := export.NewFile(&b, format, run)
		for _, iv := range intervals {
			if err == nil {
				err = f.Interval(iv)
			}
		}
		if err == nil {
			err = f.Close()
		}
		write("export "+format, err, &b)
	}
	for _, side := range []string{"runs", "against"} {
		other := *run
		a, b := Result{Run: run, Timeline: timelineOf(intervals)}, Result{Run: &other, Timeline: timelineOf(intervals)}
		sheet := &Sheet{Results: []Result{a, b}}
		if side == "against" {
			sheet = &Sheet{Results: []Result{a}, Against: []Result{b}}
		}
		outputs["page "+side] = pageOf(t, sheet, units.English)
	}
	alone := &Sheet{Results: []Result{{Run: run, Timeline: timelineOf(intervals)}}}
	outputs["page"] = pageOf(t, alone, units.English)
	_, outputs["live page"] = LiveFragments(run, nil, units.English)
	compared := result.Of(run)
	summary, err := compare.Intervals([]*result.Result{compared}, compare.Options{Confidence: 0.95,
		Tolerances: compare.DefaultTolerances()})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	write("intervals", summary.CSV(&b), &b)
	times := run.Operations[0].Times()
	for i, d := range measure.Declared() {
		t.Run(d.Name, func(t *testing.T) {
			has := func(output, text string) {
				t.Helper()
				if !strings.Contains(outputs[output], text) {
					t.Errorf("%s has no %s", output, text)
				}
			}
			if name, ok := map[string]string{"stream_first": "to the first", "stream_between": "between"}[d.Name]; ok {
				has("page", `id="chart-streams"`)
				has("page", ">"+name+" p99<")
				has("page", `"`+strings.TrimPrefix(d.Name, "stream_")+`99":[`)
				has("live page", name)
			}
			has("report json", `"`+d.Name+`": {`)
			if d.Metric == "response" || d.Stream { // files of OpenMetrics have no histograms
				has("export prometheus", "brunt_interval_"+d.Name+`_seconds{operation="one",quantile="0.99"}`)
			}
			if d.Metric != "" {
				has("report csv", d.Name+"_p99_ns")
				has("export csv", d.Name+"_p99_ns")
				has("export parquet", d.Name+"_p99_ns")
				has("export influx", d.Name+"_p99_ns=")
			}
			if d.Stream || d.Metric == "service" {
				has("export hdr", "Tag="+d.Name+",0.000,1.000,")
				if h := fromHDRLog(t, outputs["export hdr"], d.Name); h.TotalCount() != int64(times[i].Count) ||
					h.Max() < int64(times[i].MaxNs) || h.Min() > int64(times[i].MinNs) {
					t.Errorf("the log of %s has %d values from %d to %d", d.Name, h.TotalCount(), h.Min(), h.Max())
				}
			}
			if w := times[i].Within; d.Within && (w == nil || w.P50 == nil || w.P50.Low <= 0 || w.P50.High < w.P50.Low) {
				t.Errorf("its median has the interval %+v", w)
			}
			m := metric.Find(d.Metric)
			if m == nil || m.Tolerance == 0 {
				return
			}
			for _, figure := range []string{".avg", ".p(50)", ".p(99)"} {
				has("intervals", m.Name+figure)
				if of := compared.Find(m.Name+figure, ""); of == nil || of.Within == nil || of.Value < 1e6 {
					t.Errorf("%s%s is compared as %+v", m.Name, figure, of)
				}
			}
			for _, side := range []string{"page runs", "page against"} {
				if d.Stream {
					has(side, compare.RowName(units.English, m.Name+".p(99)", ""))
				}
			}
		})
	}
}
