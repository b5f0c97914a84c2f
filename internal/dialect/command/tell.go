package command

import (
	"fmt"
	"strings"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
)

// Tell prints brunt's verdict, why it isn't a pass, and where the record is, on standard error. Commands whose results
// are another tool's lines call it.
func Tell(out *loadtest.Outputs, run *record.Run, dir string) {
	where := "no record was kept"
	if dir != "" {
		where = "record in " + dir
	}
	words := strings.Join(verdict.Words(run), ", ")
	fmt.Fprintf(out.Err, "brunt: %s; %s\n", words, where)
	if words != verdict.Pass {
		for _, r := range run.Verdict.Reasons {
			fmt.Fprintf(out.Err, "brunt: %s\n", r)
		}
	}
}
