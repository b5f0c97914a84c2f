package command

import (
	"bytes"
	"testing"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/run/loadtest"
)

func TestTell(t *testing.T) {
	why := []message.Message{message.Literal("because")}
	for _, c := range []struct {
		name, dir, want string
		run             record.Run
	}{
		{"passed", "r", "brunt: pass; record in r\n",
			record.Run{Verdict: record.Verdict{Result: verdict.Pass, Reasons: why}}},
		{"failed", "", "brunt: fail; no record was kept\nbrunt: because\n",
			record.Run{Verdict: record.Verdict{Result: verdict.Fail, Reasons: why}}},
		{"interrupted", "r", "brunt: interrupted; record in r\nbrunt: because\n",
			record.Run{Interrupted: true, Verdict: record.Verdict{Result: verdict.Pass, Reasons: why}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			out := loadtest.NewOutputs(&stdout, &stderr)
			Tell(out, &c.run, c.dir)
			if out.Flush(nil); stderr.String() != c.want || stdout.Len() > 0 {
				t.Errorf("%q, %q", stderr.String(), stdout.String())
			}
		})
	}
}
