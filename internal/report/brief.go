package report

import (
	"bufio"
	"io"
	"strings"

	"brunt/internal/record"
	"brunt/internal/units"
)

// Brief writes the report for people in short: what was done, how long it took, what failed, and the
// verdict. Warnings are only named.
func Brief(w io.Writer, run *record.Run, o Options) error {
	p := &page{o: o, columns: o.columns(), out: bufio.NewWriter(w)}
	p.title(run)
	for _, section := range []func(*page, *record.Run){totals, latencies, failures, thresholds, lastWord, named} {
		section(p, run)
	}
	return p.out.Flush()
}

// named names the warnings and says where the rest is.
func named(p *page, run *record.Run) {
	var ids []string
	for _, w := range run.Warnings {
		ids = append(ids, w.ID)
	}
	if len(ids) > 0 {
		p.paragraph("  ! ", yellow, strings.Join(ids, ", ")+": --output text says more", plain)
	}
	if p.o.Path != "" {
		p.paragraph("  ", plain, "record "+units.Clean(p.o.Path), dim)
	}
}
