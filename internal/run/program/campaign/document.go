package campaign

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/page"
	"brunt/internal/render/units"
	"brunt/internal/run/program"
)

// chart is a picture of the document.
type chart struct {
	id, title, note, svg string
	wide                 bool // it isn't placed next to another one
}

// part is a chapter of the document, or a section of one.
type part struct {
	id, title, note string
	section         bool
	paragraphs      []string
	tiles           page.Tiles
	charts          []chart
	tables          []cell.Table
}

// document contains the parts of a campaign's document, which are written as HTML and as Markdown.
type document struct {
	l        units.Language
	program  *Program
	header   *program.Header
	results  []Result
	failures map[string]string // of steps, by their IDs
	dir      string
	parts    []part
	sql      []string // the statements that the appendix lists
	memories []memory // see memoryLines
	err      error    // the first error in reading bundles
}

func (d *document) say(text string, args ...any) string { return message.Label(d.l, text, args...) }

// document executes the step that writes the document in the requested languages.
func (c *Campaign) document(_ context.Context, s *Step, r *Result) error {
	for _, code := range s.Languages {
		l, err := units.ParseLanguage(code)
		if err != nil {
			return err
		}
		files, err := write(&document{l: l, program: c.Program, header: c.journal.Header(), results: c.results,
			failures: c.journal.Failures(), dir: c.o.Dir}, "", "")
		if err != nil {
			return err
		}
		r.Files = append(r.Files, files...)
	}
	return nil
}

// Report writes the document of the campaign in a folder, which may not have ended, and returns the names of the files.
// html and md are their names; "" means report-<language> in the folder.
func Report(dir string, read ReadPlan, l units.Language, html, md string) ([]string, error) {
	h, p, err := Kept(dir, read)
	if err != nil {
		return nil, err
	}
	results, err := Results(p, dir)
	if err != nil {
		return nil, err
	}
	_, entries, err := program.ReadJournal(dir)
	if err != nil {
		return nil, err
	}
	d := &document{l: l, program: p, header: h, results: results, failures: program.FailuresOf(entries), dir: dir}
	return write(d, html, md)
}

func write(d *document, html, md string) ([]string, error) {
	d.make()
	if d.err != nil {
		return nil, d.err
	}
	base := filepath.Join(d.dir, "report-"+string(d.l))
	html, md = cmp.Or(html, base+".html"), cmp.Or(md, base+".md")
	if err := toFile(html, d.html); err != nil {
		return nil, err
	}
	return []string{html, md},
		toFile(md, func(w io.Writer) error { return d.markdown(w, filepath.Dir(md), filepath.Base(md)) })
}

// toFile replaces a file.
func toFile(path string, f func(io.Writer) error) error {
	out, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("document: %w", err)
	}
	err = f(out)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("document: %w", err)
	}
	return nil
}

// title returns the title of the document.
func (d *document) title() string {
	return d.say("Load test of %s", d.program.Name)
}

func (d *document) when() string {
	if len(d.results) == 0 {
		return ""
	}
	return d.results[0].Started.UTC().Format("2006-01-02 15:04 UTC")
}

// note returns the restrictions of the results, such as a rehearsal.
func (d *document) note() string {
	note := d.program.Note().In(d.l)
	if note == "" {
		return ""
	}
	return d.say("These figures are no results: %s.", note)
}

func (d *document) html(w io.Writer) error {
	p := &page.Document{Language: d.l, Title: d.title(), When: d.when(), Foot: "brunt " + d.header.Brunt}
	if note := d.note(); note != "" {
		p.Blocks = append(p.Blocks, page.Banner{Text: note, Mark: cell.Warn})
	}
	for i := range d.parts {
		one := &d.parts[i]
		p.Blocks = append(p.Blocks, page.Heading{ID: one.id, Text: one.title, Note: one.note, Chapter: !one.section})
		if len(one.tiles) > 0 {
			p.Blocks = append(p.Blocks, one.tiles)
		}
		for _, text := range one.paragraphs {
			p.Blocks = append(p.Blocks, page.Paragraph(text))
		}
		var row page.Row
		for _, c := range one.charts {
			block := page.Chart{ID: c.id, Title: c.title, Note: c.note, SVG: c.svg}
			if c.wide {
				p.Blocks = append(p.Blocks, block)
				continue
			}
			row = append(row, block)
		}
		if len(row) > 0 {
			p.Blocks = append(p.Blocks, row)
		}
		for _, t := range one.tables {
			p.Blocks = append(p.Blocks, page.Table(t))
		}
	}
	return page.Write(w, p)
}

// markdown writes the document as Markdown, with its charts as files next to it.
func (d *document) markdown(w io.Writer, dir, name string) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s\n\n%s\n\n", cell.MarkdownText(d.title()), d.when())
	if note := d.note(); note != "" {
		fmt.Fprintf(out, "> **%s**\n\n", cell.MarkdownText(note))
	}
	charts := name + ".charts"
	for i := range d.parts {
		one := &d.parts[i]
		mark := "##"
		if one.section {
			mark = "###"
		}
		fmt.Fprintf(out, "%s %s\n\n", mark, cell.MarkdownText(one.title))
		if one.note != "" {
			fmt.Fprintf(out, "*%s*\n\n", cell.MarkdownText(one.note))
		}
		for _, t := range one.tiles {
			fmt.Fprintf(out, "**%s: %s** (%s)\n\n", cell.MarkdownText(t.Label), cell.MarkdownText(t.Figure.Figure(d.l)),
				cell.MarkdownText(t.Note))
		}
		for _, text := range one.paragraphs {
			fmt.Fprintf(out, "%s\n\n", cell.MarkdownText(text))
		}
		for _, c := range one.charts {
			if err := os.MkdirAll(filepath.Join(dir, charts), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, charts, c.id+".svg"), []byte(c.svg), 0o644); err != nil {
				return err
			}
			fmt.Fprintf(out, "![%s](%s/%s.svg)\n\n", cell.MarkdownText(c.title), charts, c.id)
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if len(one.tables) > 0 {
			if err := cell.WriteMarkdown(out, d.l, one.tables...); err != nil {
				return err
			}
			fmt.Fprintln(out)
		}
	}
	return out.Flush()
}

// make creates the parts in the order of the document.
func (d *document) make() {
	d.memories = d.memoryLines()
	first := d.overview() // its statements are the first of the appendix
	d.goals()
	d.outcome()
	d.tests()
	d.memory()
	d.tools()
	d.stand()
	d.appendix()
	d.parts = append([]part{first, d.contents()}, d.parts...)
}

func (d *document) add(p part) { d.parts = append(d.parts, p) }

// contents lists the following parts.
func (d *document) contents() part {
	t := cell.Table{ID: "contents-list", Kind: cell.List}
	for i := range d.parts {
		name := cell.Text(d.parts[i].title)
		name.Link = "#" + d.parts[i].id
		if d.parts[i].section {
			name.Depth = 1
		}
		t.Add(cell.Cell{Depth: name.Depth}, name)
	}
	return part{id: "contents", title: d.say("Contents"), tables: []cell.Table{t}}
}

// link returns a cell with a link to a bundle, relative to the document's folder.
func (d *document) link(r *Result, dir string) cell.Cell {
	path := r.ID
	if dir != "" {
		path += "/" + dir
	}
	c := cell.Text(path)
	c.Link = path
	return c
}

// took returns the duration of a step.
func (d *document) took(r *Result) string {
	return d.l.Figure(units.Span(r.Ended.Sub(r.Started)))
}
