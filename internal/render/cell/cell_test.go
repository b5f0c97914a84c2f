package cell

import (
	"bytes"
	"encoding/csv"
	"math"
	"strings"
	"testing"

	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// sample returns tables with each kind of cell.
func sample() []Table {
	grid := Table{ID: "latency", Title: "LATENCY", Note: "what it means", Foot: []string{"a remark"}, Columns: []Column{
		{Head: "operation", Left: true}, {Head: "rate"}, {Head: "p50"}, {Head: "p99"}, {Head: "", Left: true},
	}}
	branch := Text("insert <b>|*")
	branch.Depth = 1
	grid.Add(Text("all").Marked(Strong), Rate(1234.4).Between(1200, 1260, 0.95), Time(3e6).Between(2.9e6, 3.05e6, 0.95),
		Time(int64(math.MaxInt64)).Marked(Bad), Figure(1, UnitBar))
	odd := Time(5e6)
	odd.Bounds = &Bounds{Low: 4e6, High: 6e6, Confidence: 0.95, Correlated: true}
	grid.Add(branch, Rate(12).Without(message.Literal("too few values")), odd, None(), Figure(0.5, UnitBar))
	tree := Table{Title: "TOTAL", Kind: Tree}
	tree.Add(Text("rate"), Rate(1234.4).Between(1200, 1260, 0.95).Marked(Strong), Text("succeeded"))
	tree.Add(Text("done"), Count(30_000).Followed("operations"), Text("in 1 m"))
	list := Table{Title: "WARNINGS", Kind: List}
	list.Add(Text("!").Marked(Warn), Text("something is wrong"))
	return []Table{grid, tree, list}
}

func TestTextOfTables(t *testing.T) {
	var b bytes.Buffer
	if err := WriteText(&b, Look{Columns: 80}, sample()...); err != nil {
		t.Fatal(err)
	}
	want := `LATENCY  what it means
  operation           rate          p50        p99
  all              1,234/s ±3%  3.00 ms ±4%      ∞  ████████████████████████████
  └─ insert <b>|*   12.0/s *    5.00 ms ±20%?    –  ██████████████
  a remark

TOTAL
├─ rate  1,234/s ±3%  succeeded
└─ done  30,000 operations  in 1 m

WARNINGS
  ! something is wrong
  ± 95 % confidence within this run; another run may differ by more
  ± 95 % confidence over these runs
  ? its values depend on those before: widened, perhaps not enough
  * no interval: too few values
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
	var russian bytes.Buffer
	if err := WriteText(&russian, Look{Language: units.Russian}, sample()...); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1\u00a0234/с ±3%", "3,00\u00a0мс ±4%", "доверительный интервал 95\u00a0%"} {
		if !strings.Contains(russian.String(), want) {
			t.Errorf("the Russian text lacks %q:\n%s", want, russian.String())
		}
	}
}

// Signs of columns for which there is no room are not explained.
func TestLegendOfWhatIsShown(t *testing.T) {
	odd := Time(5e6)
	odd.Bounds = &Bounds{Low: 4e6, High: 6e6, Confidence: 0.95, Correlated: true}
	table := Table{Columns: []Column{{Head: "operation", Left: true}, {Head: "mean", Priority: 1}, {Head: "p50"}}}
	table.Add(Text("all"), odd, Time(3e6).Between(2.9e6, 3.05e6, 0.95))
	const sign = "its values depend on those before"
	for columns, explained := range map[int]bool{80: true, 36: false} {
		var b bytes.Buffer
		if err := WriteText(&b, Look{Columns: columns}, table); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "mean") != explained || strings.Contains(b.String(), sign) != explained {
			t.Errorf("%d columns:\n%s", columns, b.String())
		}
	}
}

func TestMarkdownOfTables(t *testing.T) {
	var b bytes.Buffer
	if err := WriteMarkdown(&b, units.English, sample()...); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### LATENCY\n\nwhat it means\n\n| operation | rate | p50 | p99 |\n|---|---:|---:|---:|\n",
		"| **all** | 1,234/s ±3% | 3.00 ms ±4% | **∞** |\n", "| insert &lt;b>\\|\\* | 12.0/s \\* | 5.00 ms ±20%? | – |\n",
		"- something is wrong\n", "| done | 30,000 operations | in 1 m |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestCSVOfTables(t *testing.T) {
	var b bytes.Buffer
	if err := WriteCSV(&b, sample()[0]); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"operation", "rate", "rate_low", "rate_high", "p50", "p50_low", "p50_high", "p99", ""},
		{"all", "1234.4", "1200", "1260", "3000000", "2900000", "3050000", "", "1"},
		{"insert <b>|*", "12", "", "", "5000000", "4000000", "6000000", "", "0.5"},
	}
	for i := range want {
		if strings.Join(rows[i], ";") != strings.Join(want[i], ";") {
			t.Errorf("row %d is %q, want %q", i, rows[i], want[i])
		}
	}
}

func TestHTMLOfTables(t *testing.T) {
	tables := sample()
	for range 100 {
		tables[0].Add(Text("more"), Rate(1))
	}
	link := Text("evil")
	link.Link = "javascript:alert(1)"
	tables[0].Add(link)
	var b bytes.Buffer
	if err := WriteHTML(&b, units.English, tables...); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<section id="latency">`, `insert &lt;b&gt;|*`, `<small title="2.90 ms … 3.05 ms">±4%</small>`,
		`<small title="too few values">*</small>`, `<summary>and 43 more rows</summary>`,
		`class="bad" data-head="p99">∞</td>`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%.3000s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "javascript:") {
		t.Error("a link runs a script")
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		cell Cell
		want string
	}{
		{Rate(100), ""}, {Rate(100).Between(100, 100, 0.95), "±0%"}, {Rate(100).Between(99.9, 100.1, 0.95), "±1%"},
		{Rate(100).Between(50, 101, 0.95), "±50%"},
		{Rate(1).Between(-50, 52, 0.95), "±>999%"}, {Rate(0).Between(0, 0, 0.95), "*"},
		{None().Without(message.Literal("x")), ""}, {Text("x").Without(message.Literal("y")), ""},
	} {
		if got := c.cell.Spread(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.cell, got, c.want)
		}
	}
}
