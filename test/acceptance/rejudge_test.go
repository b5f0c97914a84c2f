package acceptance_test

import (
	"reflect"
	"slices"
	"testing"

	"brunt/internal/judge/verdict"
	"brunt/internal/record/recordtest"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/test/shell"
)

// A run that is judged again from its intervals has the same verdict, thresholds and figures.
func TestVerdictFollowsFromTheRecord(t *testing.T) {
	t.Parallel()
	plan := shell.File(t, "plan.yml",
		"queries: [{name: one, sql: select 1, weight: 1}, {name: bad, sql: select 1/0, weight: 0.2}]\n")
	for name, args := range map[string][]string{
		"passes": {"--threshold", "errors < 90%", "--threshold", "response{ok}.p(99) < 10s"},
		"fails":  {"--threshold", "p(99) < 10s", "--threshold", "rate > 1"},
		"none":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			o := load(t, append(postgres(t).with("rate", "-c", plan, "--rate", "200", "--duration", "1s", "--vu", "4",
				"--interval", "100ms"), args...)...)
			b := recordtest.Open(t, o.dir)
			again, sums, err := b.Rebuild()
			if err != nil {
				t.Fatal(err)
			}
			verdict.Judge(again, sums.Total())
			// The texts read from the record are the same, but their nesting isn't stored.
			for _, l := range []units.Language{units.English, units.Russian} {
				got, want := message.Strings(l, again.Verdict.Reasons), message.Strings(l, b.Run.Verdict.Reasons)
				if !slices.Equal(got, want) {
					t.Errorf("%q\nwas %q", got, want)
				}
			}
			got, want := again.Verdict, b.Run.Verdict
			got.Reasons, want.Reasons = nil, nil
			if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(again.Thresholds, b.Run.Thresholds) {
				t.Errorf("%+v %+v\nwas %+v %+v", got, again.Thresholds, want, b.Run.Thresholds)
			}
			c := again.Total.Counts
			if c.OK+c.Failed+c.Dropped+c.Unfinished != again.Total.Offered || again.Total.Offered != 200 {
				t.Errorf("%d ok, %d failed, %d unsent, %d in flight of %d offered", c.OK, c.Failed, c.Dropped, c.Unfinished,
					again.Total.Offered)
			}
		})
	}
}
