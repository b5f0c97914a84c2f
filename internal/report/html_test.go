package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/measure/timeline"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
	"brunt/test/testserver"
)

// shown returns a run for a page, with changes, a standstill, a fault and failures.
func shown(t *testing.T) *Result {
	t.Helper()
	run, k := steady()
	run.Hints = []record.Hint{{BeganNs: 20e9, Metric: "p99", Operation: "all", Kind: "step-up", From: 2e6, To: 6.4e6,
		Ratio: 3.2}}
	run.Events = []record.Event{{AtNs: 12e9, Kind: "fault", Text: "the primary was killed"},
		{AtNs: 15e9, Kind: "healed", Text: "it is back"}}
	k.intervals[10].Standstills = []measure.Standstill{{StartNs: 12e9, EndNs: 13e9}}
	o := &k.intervals[10].Operations[0]
	o.Errors[protocol.Connect] = o.Done / 2
	run.Failures = []record.FailureCount{{Class: "connect", Text: "refused </script><script>alert(1)</script>",
		Count: o.Done / 2}}
	run.Total.Errors = measure.ByClass{protocol.Connect: o.Done / 2}
	return &Result{Run: run, Timeline: timelineOf(k.intervals), Plan: []byte("name: cars\n# <b>\n"), Path: "results/cars"}
}

func timelineOf(all []*measure.Interval) *timeline.Timeline {
	out := timeline.New(0)
	out.Part(MostParts)
	for _, iv := range all {
		_ = out.Interval(iv)
	}
	return out
}

func pageOf(t *testing.T, s *Sheet, l units.Language) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, s, Options{Language: l}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var scripts = regexp.MustCompile(`(?s)<script.*?</script>|<style.*?</style>`)

// wellFormed fails unless a page's elements are closed in order. It is stricter than HTML needs.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	body := scripts.ReplaceAllString(page, "")
	d := xml.NewDecoder(strings.NewReader(body))
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta", "input", "br"}, xml.HTMLEntity
	depth := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("not well formed: %v", err)
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
	}
	if depth != 0 {
		t.Errorf("%d elements are not closed", depth)
	}
}

func TestPagesAreWholeAndFetchNothing(t *testing.T) {
	sheets := map[string]*Sheet{"one": {Results: []Result{*shown(t)}}}
	a, b := *shown(t), *shown(t)
	b.Path = "results/after"
	sheets["series"] = &Sheet{Results: []Result{a, b}}
	sheets["against"] = &Sheet{Results: []Result{a}, Against: []Result{b},
		Tables: []cell.Table{{ID: "change", Title: "CHANGE", Columns: []cell.Column{{Head: "what", Left: true}},
			Rows: [][]cell.Cell{{cell.Text("rate")}}}}}
	compared := sheets["against"]
	compared.Verdict, compared.Mark, compared.Reasons, compared.Changes = "regression", cell.Bad, []string{"rate: −8 %"},
		"<svg>changes</svg>"
	for name, run := range fixtures() {
		sheets[name] = &Sheet{Results: []Result{{Run: run(), Timeline: timeline.New(0)}}}
	}
	for name, sheet := range sheets {
		for _, l := range []units.Language{units.English, units.Russian} {
			if l == units.Russian && fixtures()[name] != nil {
				continue
			}
			page := pageOf(t, sheet, l)
			wellFormed(t, page)
			for _, bad := range []string{"src=", "@import", "url(", "<link", "alert(1)</script>", "NaN", "Infinity\""} {
				if rest := strings.ReplaceAll(page, "\u0000", ""); strings.Contains(scripts.ReplaceAllString(rest, ""), bad) {
					t.Errorf("%s in %s has %q", name, l, bad)
				}
			}
			if !strings.Contains(page, "default-src 'none'") || strings.Contains(page, "connect-src") {
				t.Errorf("%s: the page may fetch", name)
			}
		}
	}
	against := pageOf(t, sheets["against"], units.English)
	for _, want := range []string{
		"CHANGE", "A cars", "B after", "RUNS", `<p class="still">charts over time show A cars</p>`, `"side":1`, `"side":2`,
		`<div class="banner bad" role="status"><strong>A → B: REGRESSION</strong>`, "<li>rate: −8 %</li>",
		"<svg>changes</svg>",
	} {
		if !strings.Contains(against, want) {
			t.Errorf("the page of A against B lacks %q", want)
		}
	}
}

func TestPageOfTenThousandOperations(t *testing.T) {
	run := recordtest.Base()
	run.Operations = nil
	for i := range 10_000 {
		run.Operations = append(run.Operations, record.Operation{Name: fmt.Sprintf("operation %d", i)})
	}
	k := &kept{}
	recordtest.Load(k, run, "hold", 0, recordtest.Shape{Seconds: 1, PerS: 25_000, ServiceNs: 300e3, LagNs: 8e3,
		Health: recordtest.Healthy})
	finish(&k.Tally, run)
	page := pageOf(t, &Sheet{Results: []Result{{Run: run, Timeline: timelineOf(k.intervals)}}}, units.English)
	wellFormed(t, page)
	for _, want := range []string{"and 9,961 others", "all 10,000 operations as CSV", "operation 9999,"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if len(page) > 2<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	var b bytes.Buffer
	if err := Terminal(&b, run, Options{}); err != nil || strings.Count(b.String(), "\n") > 200 {
		t.Errorf("the report has %d lines: %v", strings.Count(b.String(), "\n"), err)
	}
}

// day returns a generated run of 24 hours of seconds. One answer in ten thousand is slow.
func day() (*record.Run, *timeline.Timeline) {
	run := recordtest.Base()
	out, r := timeline.New(0), rand.New(rand.NewPCG(1, 2))
	h := measure.NewHistogram()
	tally := &measure.Tally{}
	for k := range 86_400 {
		h.Reset()
		for range 20 {
			h.Record(int64(300e3 * (0.5 + r.ExpFloat64())))
		}
		if k%10_000 == 5000 {
			h.Record(3e9)
		}
		iv := &measure.Interval{Index: k, Phase: "hold", Kind: measure.KindOpen,
			Account: measure.Account{StartNs: int64(k) * 1e9, EndNs: int64(k+1) * 1e9, Offered: 20,
				Operations: make([]measure.OperationAccount, 2), Addresses: make([]measure.AddressAccount, 1)}}
		o := &iv.Operations[0]
		o.Done, o.Response, o.Service, o.WithoutGenerator, o.Lag = h.Count(), h, h, h, h
		iv.Settle()
		_ = out.Interval(iv)
		_ = tally.Interval(iv)
	}
	return finish(tally, run), out
}

func TestPageOfADay(t *testing.T) {
	testserver.SkipQuick(t)
	run, line := day()
	if len(line.Slots) > timeline.DefaultSlots {
		t.Errorf("%d slots", len(line.Slots))
	}
	slow := 0
	for i := range line.Slots {
		if line.Slots[i].ResponseMaxNs >= 2.9e9 {
			slow++
		}
	}
	if slow != 9 {
		t.Errorf("of 9 slow answers %d are seen", slow)
	}
	page := pageOf(t, &Sheet{Results: []Result{{Run: run, Timeline: line}}}, units.English)
	if len(page) > 5<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	path := filepath.Join(t.TempDir(), "day.html")
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	b := testserver.NewBrowser(t, t.TempDir())
	b.Look(1180, 900, "screen", "light")
	b.Open("file://" + path)
	b.Wait(`document.documentElement.dataset.drawn`)
	if faults := b.Faults(); len(faults) > 0 {
		t.Error(faults)
	}
}

// opened opens a page in a browser and waits until its charts are drawn.
func opened(t *testing.T, s *Sheet, l units.Language, width int) *testserver.Browser {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(pageOf(t, s, l)), 0o600); err != nil {
		t.Fatal(err)
	}
	b := testserver.NewBrowser(t, t.TempDir())
	b.Look(width, 900, "screen", "light")
	b.Open("file://" + path)
	b.Wait(`document.documentElement.dataset.drawn && document.getElementById("window-text").textContent !== ""`)
	return b
}

// The selection at the top applies to all charts and to the percentiles.
func TestPageFollowsWhatIsChosen(t *testing.T) {
	r := shown(t)
	r.Run.Phases = append(r.Run.Phases, record.Phase{Name: "later", StartNs: 20e9, DurationNs: 5e9})
	b := opened(t, &Sheet{Results: []Result{*r}}, units.English, 1400)
	answers := func() (n int) {
		b.Eval(`+document.getElementById("window-text").textContent.match(/([\d,]+) answers/)[1].replace(/,/g, "")`, &n)
		return n
	}
	choose := func(id, name string) {
		t.Helper()
		var found bool
		b.Eval(fmt.Sprintf(`(() => { const s = document.getElementById(%q), i = [...s.options].findIndex(o => o.text === %q);
			s.value = i; s.dispatchEvent(new Event("change")); return i >= 0 && !s.closest("label").hidden; })()`, id, name), &found)
		if !found {
			t.Fatalf("there is no choice of %s %q", id, name)
		}
	}
	all, sum := answers(), 0
	for i := range r.Run.Operations {
		choose("operation", r.Run.Operations[i].Name)
		n := answers()
		if n == 0 || n >= all {
			t.Errorf("%s has %d of %d answers", r.Run.Operations[i].Name, n, all)
		}
		sum += n
	}
	if sum != all {
		t.Errorf("the operations have %d answers, all of them %d", sum, all)
	}
	choose("operation", "all")
	choose("phase", "later")
	b.Wait(`document.getElementById("window-text").textContent.startsWith("window 0:20 – 0:25")`)
	if n := answers(); n == 0 || n >= all/2 {
		t.Errorf("5 s have %d of %d answers", n, all)
	}
	choose("phase", "all")
	if n := answers(); n != all {
		t.Errorf("all phases have %d of %d answers", n, all)
	}
	if faults := b.Faults(); len(faults) > 0 {
		t.Error(faults)
	}
}

// Charts are placed side by side with the same time axes as the heat map. Zooming one zooms all, and one tooltip shows
// the values of all.
func TestChartsOfAPageAgree(t *testing.T) {
	b := opened(t, &Sheet{Results: []Result{*shown(t)}}, units.English, 1400)
	var columns int
	b.Eval(`getComputedStyle(document.querySelector(".charts")).gridTemplateColumns.split(" ").length`, &columns)
	if columns < 2 {
		t.Errorf("%d columns of charts", columns)
	}
	// The curve is directly below the heat map, and the heat map below a chart of the same axis.
	var below bool
	b.Eval(`(() => { const y = s => document.querySelector("figure[data-chart=" + s + "]").getBoundingClientRect();
		return y("heat").x === y("curve").x && y("heat").x === y("rate").x && y("rate").y < y("heat").y && y("heat").y < y("curve").y &&
			document.querySelector(".stack").children.length === 2; })()`, &below)
	if !below {
		t.Error("rate, heat map and curve aren't below each other")
	}
	// Drag over the rate chart.
	var box struct{ X, Y, W, H float64 }
	b.Eval(`document.querySelector("figure[data-chart=rate]").scrollIntoView({block: "center"})`, nil)
	b.Eval(
		`(r => ({x: r.x, y: r.y, w: r.width, h: r.height}))(document.querySelector("figure[data-chart=rate] .u-over").getBoundingClientRect())`, &box)
	b.Drag(box.X+box.W*0.4, box.Y+box.H/2, box.X+box.W*0.6, box.Y+box.H/2)
	b.Wait(`document.getElementById("window-text").textContent.startsWith("window")`)
	// All charts agree on the position of a time: the tooltip shows the same slot on each of them.
	tip := func(kind string) (s string) {
		b.Eval(
			fmt.Sprintf(
				`(async () => { const over = document.querySelector("figure[data-chart=%s] .u-over"), r = over.getBoundingClientRect();
			const at = {clientX: r.x + r.width * 0.5, clientY: r.y + 40, bubbles: true};
			over.dispatchEvent(new MouseEvent("mouseenter", at)); over.dispatchEvent(new MouseEvent("mousemove", at));
			await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame);
			over.dispatchEvent(new MouseEvent("mousemove", at));
			const tip = document.querySelector(".tip"); return tip.hidden ? "" : tip.innerText; })()`, kind), &s)
		return s
	}
	rate, latency := tip("rate"), tip("latency")
	first := func(s string) string { line, _, _ := strings.Cut(s, "\n"); return line }
	if rate == "" || first(rate) != first(latency) || !strings.Contains(rate, "Response time p50") ||
		!strings.Contains(latency, "Rate achieved") {
		t.Errorf("the tooltip over the rate:\n%s\nover response times:\n%s", rate, latency)
	}
	// Use a legend with the keyboard.
	b.Eval(`document.querySelector("figure[data-chart=latency] .u-legend th[role=button]").focus()`, nil)
	b.Key("Enter", 13)
	b.Wait(`document.activeElement.getAttribute("aria-pressed") === "false"`)
	var lines, dashed int
	b.Eval(`document.querySelectorAll("figure[data-chart=latency] .u-marker path").length`, &lines)
	b.Eval(
		`new Set([...document.querySelectorAll("figure[data-chart=latency] .u-marker path")].map(p => p.getAttribute("stroke-dasharray"))).size`, &dashed)
	if lines < 4 || dashed != lines {
		t.Errorf("%d lines have %d kinds of dashes in the legend", lines, dashed)
	}
	// A link in the navigation bar unfolds its section, and the bar stays visible.
	b.Eval(`document.getElementById("part-figures").open = false`, nil)
	b.Eval(`document.querySelector("nav a[href='#part-figures']").click()`, nil)
	b.Wait(
		`document.getElementById("part-figures").open && scrollY > 300 && document.querySelector("nav").getBoundingClientRect().y === 0`)
	if faults := b.Faults(); len(faults) > 0 {
		t.Error(faults)
	}
}

// Tables show all figures on a narrow page, for any names of operations.
func TestTablesOfAPageLoseNothing(t *testing.T) {
	r := shown(t)
	r.Run.Operations[0].Name = "GET /api/v2/customers/{customer}/orders/{order}?" +
		strings.Repeat("expand=product,price&", 8)
	r.Run.Operations[1].Name = strings.Repeat("x", 200)
	b := opened(t, &Sheet{Results: []Result{*r}}, units.English, 390)
	for _, c := range []struct {
		name, media string
		width       int
	}{{"a telephone", "screen", 390}, {"a small window", "screen", 700}, {"a window", "screen", 1400},
		{"paper", "print", 794}} {
		t.Run(c.name, func(t *testing.T) {
			b.Look(c.width, 900, c.media, "light")
			var lost []string
			b.Eval(
				`[...document.querySelectorAll("#latency td, #total td, #distribution td")].filter(td => td.textContent !== "" && (td.getClientRects().length === 0 ||
				td.getBoundingClientRect().right > document.documentElement.clientWidth + 1)).map(td => td.textContent)`, &lost)
			if len(lost) > 0 {
				t.Errorf("beyond the edge: %q", lost)
			}
			var wide, room int
			b.Eval(`document.documentElement.scrollWidth`, &wide)
			b.Eval(`document.documentElement.clientWidth`, &room)
			if wide > room {
				t.Errorf("the page is %d pixels wide, the window %d", wide, room)
			}
			var small int
			b.Eval(
				`[...document.querySelectorAll("figure > svg text")].filter(e => e.getClientRects().length && e.getBoundingClientRect().height < 8).length`, &small)
			if small > 0 {
				t.Errorf("%d texts of pictures are too small to read", small)
			}
		})
	}
}

// The charts of a run with one interval have points, since one value makes no line.
func TestPageOfOneInterval(t *testing.T) {
	run, k := steady()
	b := opened(t, &Sheet{Results: []Result{{Run: run, Timeline: timelineOf(k.intervals[:1])}}}, units.English, 1180)
	var coloured int // pixels of the first chart that aren't grey
	b.Eval(`(() => { const c = document.querySelector(".uplot canvas");
		const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		let n = 0;
		for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200 && Math.abs(d[i] - d[i + 2]) > 60) n++;
		return n; })()`, &coloured)
	if coloured == 0 {
		t.Error("the rate isn't drawn")
	}
}

func TestPageInABrowser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(pageOf(t, &Sheet{Results: []Result{*shown(t)}}, units.English)),
		0o644); err != nil {
		t.Fatal(err)
	}
	b := testserver.NewBrowser(t, t.TempDir())
	b.Look(1180, 900, "screen", "light")
	b.Open("file://" + path)
	b.Wait(`document.documentElement.dataset.drawn`)
	text := func() (s string) {
		b.Eval(`document.getElementById("window-text").textContent`, &s)
		return s
	}
	b.Wait(`document.getElementById("window-text").textContent !== ""`)
	whole := text()
	if !strings.HasPrefix(whole, "whole run: ") {
		t.Errorf("without a window: %q", whole)
	}
	// The brush: the canvas of the heat map, from a third to two thirds.
	b.Eval(`document.querySelector("canvas.heat").scrollIntoView({block: "center"})`, nil)
	var box struct{ X, Y, W, H float64 }
	b.Eval(
		`(r => ({x: r.x, y: r.y, w: r.width, h: r.height}))(document.querySelector("canvas.heat").getBoundingClientRect())`,
		&box)
	b.Drag(box.X+box.W*0.4, box.Y+box.H/2, box.X+box.W*0.6, box.Y+box.H/2)
	b.Wait(`document.getElementById("window-text").textContent.startsWith("window")`)
	window := text()
	var answers, all int
	for s, n := range map[string]*int{window: &answers, whole: &all} {
		found := regexp.MustCompile(`: ([\d,]+) answers`).FindStringSubmatch(s)
		if found == nil {
			t.Fatalf("%q", s)
		}
		if _, err := fmt.Sscan(strings.ReplaceAll(found[1], ",", ""), n); err != nil {
			t.Fatal(err)
		}
	}
	if answers == 0 || answers > all/2 {
		t.Errorf("%d of %d answers in a window of a fifth: %q", answers, all, window)
	}
	// The keyboard moves the end of the window, and Escape removes the window.
	b.Eval(`document.getElementById("window-to").focus()`, nil)
	b.Key("ArrowRight", 39)
	b.Wait(`document.getElementById("window-text").textContent !== ` + fmt.Sprintf("%q", window))
	b.Key("Escape", 27)
	b.Wait(`document.getElementById("window-text").textContent === ` + fmt.Sprintf("%q", whole))
	// The theme.
	var before, after string
	b.Eval(`getComputedStyle(document.body).backgroundColor`, &before)
	b.Eval(`document.getElementById("theme").click()`, nil)
	b.Eval(`getComputedStyle(document.body).backgroundColor`, &after)
	if before != "rgb(255, 255, 255)" || after == before {
		t.Errorf("the theme changes the background from %s to %s", before, after)
	}
	// For printing, the interactive charts are replaced by static ones.
	b.Look(1180, 900, "print", "light")
	var svgs, canvases int
	b.Eval(`[...document.querySelectorAll("figure > svg")].filter(e => e.getClientRects().length).length`, &svgs)
	b.Eval(`[...document.querySelectorAll("canvas")].filter(e => e.getClientRects().length).length`, &canvases)
	if svgs < 6 || canvases != 0 {
		t.Errorf("in print there are %d pictures and %d canvases", svgs, canvases)
	}
	for _, url := range b.Requests() {
		if !strings.HasPrefix(url, "file://") {
			t.Errorf("the page asks for %s", url)
		}
	}
	if faults := b.Faults(); len(faults) > 0 {
		t.Error(faults)
	}
}
