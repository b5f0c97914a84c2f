package summary

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
)

func TestSummary(t *testing.T) {
	run := recordtest.Base()
	run.Targets[0].Product, run.Targets[0].Version = "Picodata", "25.3.1"
	run.DurationNs = 3e9
	run.Total.Done, run.Total.OK, run.Total.Failed = 100, 99, 1
	run.Total.Errors = measure.ByClass{protocol.Timeout: 1}
	run.Total.ResponseOK = record.Latency{Count: 99, MinNs: 1_500_000, MeanNs: 2_123_456.789, P50Ns: 2e6, MaxNs: 9e6}
	run.Setup = &record.Setup{DurationNs: 1_250_000_000}
	path, err := Write(record.OS{}, filepath.Join(t.TempDir(), "sub"), run)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(path) != "summary_42.json" {
		t.Errorf("file %s", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got["picodataVersion"] != "25.3.1" || got["configName"] != "cars" || got["seed"] != 42.0 ||
		got["setupTime"] != 1.25 {
		t.Errorf("got %s", data)
	}
	if rps := got["rps"].(map[string]any)["actual"]; rps != 33.0 {
		t.Errorf("rps.actual %v", rps)
	}
	if avg := got["respTime"].(map[string]any)["avg"]; avg != 2.12346 {
		t.Errorf("respTime.avg %v", avg)
	}
}

func TestSummaryText(t *testing.T) {
	run := recordtest.Base()
	run.Name = "cars"
	text, err := Of(run).Text()
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(text, `"{},`) || strings.Contains(text, "\n\n") || strings.Contains(text, "\n  \n") {
		t.Errorf("marks of JSON or blank lines are left:\n%s", text)
	}
	for _, want := range []string{"  configName: cars\n", "  seed: 42\n", "  rps: \n    actual: 0\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}
