package report

import (
	"strings"
	"testing"

	"brunt/internal/record"
	"brunt/internal/render/units"
)

// The value of a broken threshold never reads like its limit.
func TestBrokenThresholdsShowTheDifference(t *testing.T) {
	run := &record.Run{Thresholds: []record.Threshold{
		{Text: "rate >= 199", Value: 198.7, Limit: 199, Unit: "per_s"},
		{Text: "rate >= 150", Value: 198.7, Limit: 150, Unit: "per_s", Pass: true},
	}}
	var got []string
	for _, row := range (&writer{run: run}).thresholds().Rows {
		got = append(got, row[2].Figure(units.English))
	}
	if text := strings.Join(got, " "); text != "198.7/s 199/s" {
		t.Errorf("the values are %s", text)
	}
}
