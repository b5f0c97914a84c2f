// Package page writes self-contained HTML pages with tables, printable charts and interactive charts. A page is one
// file that loads nothing else. It can be read without scripts and printed, and has a light and a dark theme.
package page

import (
	"bufio"
	_ "embed" // the page's style sheet and scripts
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"

	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

//go:embed filter.js
var filterScript string

//go:embed uplot/uPlot.iife.min.js
var uplot string

//go:embed uplot/uPlot.min.css
var uplotStyle string

// Document is an HTML page.
type Document struct {
	Language units.Language
	Title    string
	When     string // date and time, next to the title
	Blocks   []Block
	Data     *Data // data of interactive charts; nil for a page without scripts
	Filter   bool  // add a search field that filters charts and table rows by name; only without Data
	Foot     string
}

// Data is the input of the page's script.
type Data struct {
	Language units.Language    `json:"language"`
	Runs     []Run             `json:"runs"`
	Live     *Live             `json:"live,omitempty"`
	Texts    map[string]string `json:"texts"` // texts of the script in the page's language
}

// Run is the data of one run.
type Run struct {
	Name    string  `json:"name"`
	Columns any     `json:"columns"` // timeline.Columns
	Bands   []Band  `json:"bands"`
	Closed  bool    `json:"closed,omitempty"` // closed load: response time is service time
	Nines   float64 `json:"nines"`            // number of nines that its percentile curve extends to
	Side    int     `json:"side,omitempty"`   // 1 or 2 if two sides are compared
	Phases  []Band  `json:"phases,omitempty"`
	Parts   []Part  `json:"parts,omitempty"` // its operations, if there are few
}

// Part is the data of one operation of a Run.
type Part struct {
	Name    string `json:"name"`
	Columns any    `json:"columns"` // timeline.Columns; figures that don't exist per operation are ignored
}

// Band is a period of time with a meaning; see svg.Band.
type Band struct {
	From  float64 `json:"from"` // s
	To    float64 `json:"to"`
	Label string  `json:"label"`
	Kind  string  `json:"kind"`
}

// Live is what the page of a run in progress needs.
type Live struct {
	Token      string `json:"token"`      // required for stopping the run
	Generation int    `json:"generation"` // generation of the timeline in Columns
}

// Block is a part of a page that writes itself as HTML in a given language.
type Block interface {
	write(out *bufio.Writer, l units.Language)
}

// Table is a section with a table.
type Table cell.Table

func (t Table) write(out *bufio.Writer, l units.Language) {
	// out keeps write errors.
	_ = cell.WriteHTML(out, l, cell.Table(t))
}

// Heading is a heading of the page.
type Heading struct {
	ID, Text, Note string
	Chapter        bool // the heading of a chapter, not of a section
}

func (h Heading) write(out *bufio.Writer, _ units.Language) {
	id := ""
	if h.ID != "" {
		id = ` id="` + html.EscapeString(h.ID) + `"`
	}
	if h.Chapter {
		id += ` class="chapter"`
	}
	put(out, "<h2%s>%s</h2>\n", id, escape(h.Text))
	if h.Note != "" {
		put(out, "<p class=\"note\">%s</p>\n", escape(h.Note))
	}
}

// Paragraph is a paragraph of text.
type Paragraph string

func (p Paragraph) write(out *bufio.Writer, _ units.Language) {
	put(out, "<p>%s</p>\n", escape(string(p)))
}

// Banner shows the verdict and its reasons.
type Banner struct {
	Text    string
	Mark    cell.Mark // Good, Bad or Warn
	Reasons []string
}

func (b Banner) write(out *bufio.Writer, _ units.Language) {
	put(out, "<div class=\"banner %s\" role=\"status\"><strong>%s</strong>", b.Mark, escape(b.Text))
	if len(b.Reasons) > 0 {
		put(out, "<ul>")
		for _, r := range b.Reasons {
			put(out, "<li>%s</li>", escape(r))
		}
		put(out, "</ul>")
	}
	put(out, "</div>\n")
}

// Tiles are headline figures: each has a label, a figure with its interval, and a note.
type Tiles []Tile

// Tile is one of Tiles.
type Tile struct {
	Label  string
	Figure cell.Cell
	Note   string
}

func (t Tiles) write(out *bufio.Writer, l units.Language) {
	put(out, "<div class=\"tiles\">\n")
	for _, tile := range t {
		note := tile.Note
		if span := tile.Figure.Span(l); span != "" {
			note = strings.TrimSpace(span + " " + note)
		}
		put(out, "<div class=\"tile\"><span>%s</span><b class=\"%s\">%s</b><span>%s</span></div>\n",
			escape(tile.Label), tile.Figure.Mark, escape(tile.Figure.Figure(l)), escape(note))
	}
	put(out, "</div>\n")
}

// Chart is a chart with a heading. It is interactive if its Kind is one that the page's script knows: "rate",
// "latency", "streams", "errors", "sessions", "cpu", "loop", "memory", "heat" or "curve".
type Chart struct {
	ID, Title, Note string
	SVG             string // made by package svg
	Kind            string
	Compact         bool // it fits a narrow screen without scrolling, and isn't wider than it was drawn
}

func (c Chart) write(out *bufio.Writer, l units.Language) {
	class := "chart"
	if c.Compact {
		class += " compact"
	}
	put(out, "<div class=\"%s\">", class)
	if c.Title != "" {
		Heading{ID: c.ID, Text: c.Title, Note: c.Note}.write(out, l)
	}
	kind := ""
	if c.Kind != "" {
		kind = fmt.Sprintf(` data-chart="%s"`, html.EscapeString(c.Kind))
	}
	put(out, "<figure%s>%s</figure>\n", kind, c.SVG)
	if c.Kind == "heat" {
		window(out, l)
	}
	put(out, "</div>\n")
}

// window writes the controls for the time window of the heat map. They can be used with the keyboard.
func window(out *bufio.Writer, l units.Language) {
	put(out, `<div class="brush script" role="group" aria-label="%s">`, escape(message.Label(l, "window of time")))
	for _, end := range []struct{ id, text string }{{"from", message.Label(l, "from")}, {"to", message.Label(l, "to")}} {
		put(out, `<label>%s <input type="range" id="window-%s"></label>`, escape(end.text), end.id)
	}
	put(out, `<button type="button" id="window-whole">%s</button></div>`, escape(message.Label(l, "whole run")))
	put(out, "\n<p class=\"note script\" id=\"window-text\" aria-live=\"polite\"></p>\n")
}

// Section is a foldable part of a page that the navigation bar links to.
type Section struct {
	ID, Title string
	Blocks    []Block
	Grid      bool // place charts next to each other if there is space
	Folded    bool // initially folded
}

func (s Section) write(out *bufio.Writer, l units.Language) {
	if len(s.Blocks) == 0 {
		return
	}
	open := " open"
	if s.Folded {
		open = ""
	}
	put(out, "<details class=\"part\" id=\"%s\"%s><summary><h2>%s</h2></summary>\n", html.EscapeString(s.ID), open,
		escape(s.Title))
	if s.Grid {
		put(out, "<div class=\"charts\">\n")
	}
	for _, b := range s.Blocks {
		b.write(out, l)
	}
	if s.Grid {
		put(out, "</div>\n")
	}
	put(out, "</details>\n")
}

// Row places charts next to each other in pairs, also when printed.
type Row []Block

func (r Row) write(out *bufio.Writer, l units.Language) {
	put(out, "<div class=\"pair\">\n")
	for _, b := range r {
		b.write(out, l)
	}
	put(out, "</div>\n")
}

// Stack stacks blocks vertically within a grid, for example the heat map and the curve for its time window.
type Stack []Block

func (s Stack) write(out *bufio.Writer, l units.Language) {
	put(out, "<div class=\"stack\">\n")
	for _, b := range s {
		b.write(out, l)
	}
	put(out, "</div>\n")
}

// contents writes the navigation bar at the top: links to the sections, and the controls that filter the charts.
func contents(out *bufio.Writer, d *Document, l units.Language) {
	var sections []Section
	for _, b := range d.Blocks {
		if s, ok := b.(Section); ok && len(s.Blocks) > 0 {
			sections = append(sections, s)
		}
	}
	if len(sections) == 0 {
		return
	}
	put(out, "<nav aria-label=\"%s\">", escape(message.Label(l, "Contents")))
	for _, s := range sections {
		put(out, `<a href="#%s">%s</a> `, html.EscapeString(s.ID), escape(s.Title))
	}
	if d.Filter {
		put(out, `<label class="script">%s <input type="search" id="filter"></label>`, escape(message.Label(l, "show only")))
	}
	if d.Data != nil {
		for _, c := range []struct{ id, text string }{
			{"run", message.Label(l, "charts over time show")}, {"operation", message.Label(l, "operation")},
			{"phase", message.Label(l, "phase")},
		} {
			put(out, `<label class="choice" hidden>%s <select id="%s"></select></label>`, escape(c.text), c.id)
		}
	}
	put(out, "</nav>\n")
}

// Choice names the runs that the charts over time can show. On paper and without scripts they show the first run; with
// scripts the reader can choose one in the navigation bar.
type Choice []string

func (c Choice) write(out *bufio.Writer, l units.Language) {
	put(out, "<p class=\"still\">%s %s</p>\n", escape(message.Label(l, "charts over time show")), escape(c[0]))
}

// Folded is text that is hidden until it is unfolded.
type Folded struct {
	Title, Text string
}

func (f Folded) write(out *bufio.Writer, _ units.Language) {
	put(out, "<details><summary>%s</summary><pre tabindex=\"0\">%s</pre></details>\n", escape(f.Title),
		html.EscapeString(strings.ToValidUTF8(f.Text, "\ufffd")))
}

// Group is a group of blocks that is hidden until it is unfolded.
type Group struct {
	Title  string
	Blocks []Block
}

func (g Group) write(out *bufio.Writer, l units.Language) {
	put(out, "<details><summary>%s</summary>\n", escape(g.Title))
	for _, b := range g.Blocks {
		b.write(out, l)
	}
	put(out, "</details>\n")
}

// Place is a placeholder for content that the server of a run in progress sends under this ID.
type Place struct {
	ID string
}

func (p Place) write(out *bufio.Writer, _ units.Language) {
	put(out, "<div id=\"%s\"></div>\n", html.EscapeString(p.ID))
}

func put(out *bufio.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }

func escape(s string) string { return html.EscapeString(units.Clean(s)) }

// Write writes the page as one file.
func Write(w io.Writer, d *Document) error {
	out := bufio.NewWriterSize(w, 1<<16)
	l := d.Language
	if l == "" {
		l = units.English
	}
	// Nothing may be loaded; only the page of a run in progress connects to its own server.
	connect := ""
	if d.Data != nil && d.Data.Live != nil {
		connect = "; connect-src 'self'"
	}
	put(out, "<!DOCTYPE html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n", l)
	put(
		out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'%s\">\n", connect)
	put(
		out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>%s</title>\n<style>\n%s%s</style>\n</head>\n<body>\n", escape(d.Title), uplotStyle, style)
	put(out, "<header><h1>%s</h1><span class=\"when\">%s</span>", escape(d.Title), escape(d.When))
	if d.Data != nil {
		if d.Data.Live != nil {
			put(out, ` <button type="button" class="stop" id="stop">%s</button>`, escape(message.Label(l, "stop the run")))
		}
		put(out, ` <button type="button" class="theme" id="theme">%s</button>`, escape(message.Label(l, "light / dark")))
	}
	put(out, "</header>\n")
	contents(out, d, l)
	put(out, "<main>\n")
	for _, b := range d.Blocks {
		b.write(out, l)
	}
	put(out, "</main>\n<footer>%s</footer>\n", escape(d.Foot))
	if d.Data != nil {
		if err := scripts(out, d.Data, l); err != nil {
			return err
		}
	}
	if d.Filter && d.Data == nil {
		put(out, "<script>%s</script>\n", filterScript)
	}
	put(out, "</body>\n</html>\n")
	return out.Flush()
}

// Fragment returns the HTML of blocks, for insertion into an existing page.
func Fragment(l units.Language, blocks ...Block) string {
	var b strings.Builder
	out := bufio.NewWriter(&b)
	for _, block := range blocks {
		block.write(out, l)
	}
	// a strings.Builder never fails
	_ = out.Flush()
	return b.String()
}

// scripts writes the data and the scripts that draw them. encoding/json escapes <, so the data can't end their element.
func scripts(out *bufio.Writer, d *Data, l units.Language) error {
	d.Language, d.Texts = l, map[string]string{}
	for _, id := range scriptTexts {
		d.Texts[id] = message.Label(l, id)
	}
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("write the page's data: %w", err)
	}
	put(out, "<script type=\"application/json\" id=\"data\">%s</script>\n<script>%s</script>\n<script>%s</script>\n",
		data,
		uplot, script)
	return nil
}

// scriptTexts are the texts of the script.
var scriptTexts = []string{
	"achieved", "offered", "most of its intervals", "least of its intervals", "max", "service", "unsent",
	"to the first", "between", "to the end",
	"sessions waiting for answers", "backlog", "others",
	"hypervisor", "all", "busiest event loop", "memory", "time", "quantile", "response", "response in the window",
	"window %s – %s: %s", "whole run%s%s: %s",
	"%s answers, %s without one · p50 %s · p90 %s · p99 %s · p99.9 %s", "the run has ended",
	"the connection to the run is lost", "stopping: answers under way are waited for",
}
