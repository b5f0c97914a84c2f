package ab

import (
	"fmt"
	"html"
	"strings"

	"brunt/internal/base/secret"
)

// HTMLBanner returns the lines before the load with -w.
func HTMLBanner(version string) string {
	return fmt.Sprintf("<p>\n This is ApacheBench, Version 2.3 <i>&lt;brunt %s&gt;</i><br>\n"+
		" Sent by brunt, which takes ab's place.<br>\n</p>\n<p>\n", html.EscapeString(version))
}

// htmlTable writes the rows of ab's table, with the attributes that the command line gives.
type htmlTable struct {
	strings.Builder
	o *Options
}

// field writes a name with a value. Without a name, the cell is empty.
func (t *htmlTable) field(name, format string, args ...any) {
	head := "<th colspan=2 " + t.o.Cell + ">" + name + "</th>"
	if name == "" {
		head = "<td colspan=2 " + t.o.Cell + ">&nbsp;</td>"
	}
	fmt.Fprintf(t, "<tr %s>%s<td colspan=2 %s>%s</td></tr>\n", t.o.Row, head, t.o.Cell, fmt.Sprintf(format, args...))
}

// HTMLReport returns ab's report with -w.
func (o *Options) HTMLReport(r *Outcome) string {
	f := o.figures(r)
	t := &htmlTable{o: o}
	fmt.Fprintf(t, "\n\n<table %s>\n", o.Table)
	t.field("Server Software:", "%s", html.EscapeString(r.Server))
	t.field("Server Hostname:", "%s", html.EscapeString(o.target.Hostname()))
	t.field("Server Port:", "%s", o.port())
	t.field("Document Path:", "%s", html.EscapeString(secret.Text(o.target.RequestURI())))
	if o.Variable {
		t.field("Document Length:", "Variable")
	} else {
		t.field("Document Length:", "%d bytes", f.document)
	}
	t.field("Concurrency Level:", "%d", o.Concurrency)
	t.field("Time taken for tests:", "%.3f seconds", r.Took.Seconds())
	t.field("Complete requests:", "%d", f.done)
	bad := f.connect + f.receive + f.length + f.exceptions
	t.field("Failed requests:", "%d", bad)
	if bad > 0 {
		fmt.Fprintf(t, "<tr %s><td colspan=4 %s >   (Connect: %d, Length: %d, Exceptions: %d)</td></tr>\n", o.Row, o.Cell,
			f.connect, f.length, f.exceptions)
	}
	if f.status > 0 {
		t.field("Non-2xx responses:", "%d", f.status)
	}
	if o.KeepAlive {
		t.field("Keep-Alive requests:", "%d", r.KeptAlive)
	}
	t.field("Total transferred:", "%d bytes", f.bytes)
	sent := float64(len(o.Text())) * float64(len(r.Samples))
	if o.Body != nil {
		t.field("Total body sent:", "%.0f", sent)
	}
	t.field("HTML transferred:", "%d bytes", f.html)
	if s := r.Took.Seconds(); s > 0 && f.done > 0 {
		t.field("Requests per second:", "%.2f", float64(f.done)/s)
		t.field("Transfer rate:", "%.2f kb/s received", float64(f.bytes)/1024/s)
		if o.Body != nil {
			t.field("", "%.2f kb/s sent", sent/1024/s)
			t.field("", "%.2f kb/s total", (float64(f.bytes)+sent)/1024/s)
		}
	}
	if f.done > 0 {
		t.times(f)
	}
	t.WriteString("</table>\n")
	return t.String()
}

// times writes the rows of times. ab's means of connecting and processing add up to that of the total.
func (t *htmlTable) times(f *figures) {
	row, cell := t.o.Row, t.o.Cell
	fmt.Fprintf(t, "<tr %s><th %s colspan=4>Connection Times (ms)</th></tr>\n", row, cell)
	fmt.Fprintf(t, "<tr %s><th %s>&nbsp;</th> <th %[2]s>min</th>   <th %[2]s>avg</th>   <th %[2]s>max</th></tr>\n", row,
		cell)
	least, most, sum := f.times[0], f.times[0], times{}
	for i := range f.times {
		one := &f.times[i]
		least.connect, most.connect = min(least.connect, one.connect), max(most.connect, one.connect)
		least.total, most.total = min(least.total, one.total), max(most.total, one.total)
		sum.connect, sum.total = sum.connect+one.connect, sum.total+one.total
	}
	n := int64(len(f.times))
	line := func(name string, least, mean, most int64) {
		fmt.Fprintf(t, "<tr %s><th %s>%s</th><td %[2]s>%5[4]d</td><td %[2]s>%5[5]d</td><td %[2]s>%5[6]d</td></tr>\n", row,
			cell, name, least, mean, most)
	}
	connect, total := [3]int64{ms(least.connect), ms(sum.connect / n), ms(most.connect)},
		[3]int64{ms(least.total), ms(sum.total / n), ms(most.total)}
	line("Connect:", connect[0], connect[1], connect[2])
	line("Processing:", total[0]-connect[0], total[1]-connect[1], total[2]-connect[2])
	line("Total:", total[0], total[1], total[2])
}
