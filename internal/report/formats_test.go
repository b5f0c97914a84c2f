package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

func TestJSONIsTheRunAndItsExitCode(t *testing.T) {
	run := fixture(t, "fail")
	var b bytes.Buffer
	if err := Write(&b, "json", run, Options{}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		record.Run
		ExitCode int `json:"exit_code"`
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.ExitCode != 99 || got.Schema != record.SchemaVersion || got.Total.Done != run.Total.Done ||
		got.Verdict.Result != verdict.Fail {
		t.Errorf("exit %d, schema %d, %d done, %s", got.ExitCode, got.Schema, got.Total.Done, got.Verdict.Result)
	}
	if h, err := got.Total.Response.Histogram(); err != nil || h.Count() != run.Total.OK {
		t.Errorf("histogram: %v", err)
	}
}

func TestCSVHasALineForEachOperation(t *testing.T) {
	var b bytes.Buffer
	run := fixture(t, "addresses")
	if err := Write(&b, "csv", run, Options{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 5 || rows[1][0] != "all" || rows[1][1] != "72500" || rows[3][0] != "車を追加する" {
		t.Errorf("got %q", rows)
	}
	for i, name := range rows[0] {
		if name == "response_p99_ns" && rows[1][i] != strconv.FormatInt(int64(run.Total.Response.P99Ns), 10) {
			t.Errorf("response_p99_ns %s", rows[1][i])
		}
	}
}

func TestMarkdownGolden(t *testing.T) {
	run := fixture(t, "fail")
	run.Operations[1].Name = "insert | *car*"
	var b bytes.Buffer
	if err := Write(&b, "md", run, Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "fail.md", b.Bytes())
	if strings.Contains(b.String(), "insert | ") {
		t.Error("a name breaks the table")
	}
}

func TestUnknownFormat(t *testing.T) {
	err := Write(&bytes.Buffer{}, "xml", fixture(t, "pass"), Options{})
	if err == nil || !strings.Contains(err.Error(), "text, brief, json, csv, md") {
		t.Errorf("got %v", err)
	}
}

func TestTimeLostIsInEveryFormForPeople(t *testing.T) {
	run := fixture(t, "time-lost")
	for format, want := range map[string]string{
		"text": "time lost  20.1 s of 1 m (33.5 %)  nothing succeeded: 4 times, the longest 5.1 s\n",
		"md":   "\n**Time lost: 20.1 s of 1 m (33.5 %)**; nothing succeeded: 4 times, the longest 5.1 s.\n",
		"json": "\"standstill\": {\n    \"total_ns\": 20100000000,\n    \"count\": 4,\n    \"longest_ns\": 5100000000,\n",
	} {
		var b bytes.Buffer
		if err := Write(&b, format, run, Options{}); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s doesn't have %q: %v\n%s", format, want, err, b.String())
		}
	}
	run.Standstill = record.Standstill{}
	for _, format := range []string{"text", "md"} {
		var b bytes.Buffer
		if err := Write(&b, format, run, Options{}); err != nil || strings.Contains(strings.ToLower(b.String()),
			"time lost") {
			t.Errorf("%s tells of time lost: %v", format, err)
		}
	}
}

// An operation that lost time while others succeeded is named. One that lost only the time that all lost is not.
func TestTimeLostByOperations(t *testing.T) {
	const all = "nothing succeeded: 4 times, the longest 5.1 s"
	for name, c := range map[string]struct {
		all, second   int64 // ns
		first, wanted string
	}{
		"as all did":        {20_100_000_000, 20_300_000_000, all, ""},
		"more than all did": {20_100_000_000, 50_000_000_000, all, "50 s of 1 m (83.3 %)"},
		"alone":             {0, 30_000_000_000, "", "30 s of 1 m (50.0 %)"},
	} {
		t.Run(name, func(t *testing.T) {
			run := fixture(t, "time-lost")
			if run.Standstill.TotalNs = c.all; c.all == 0 {
				run.Standstill = record.Standstill{}
			}
			run.Operations[1].Name = "insert | car"
			run.Operations[1].Standstill = record.Standstill{TotalNs: c.second, Count: 2, LongestNs: 29e9, LeastNs: 400e6}
			const note = "no insert | car succeeded: 2 times, the longest 29 s"
			for format, want := range map[string]string{
				"text": "time lost  " + c.wanted + "  " + note + "\n",
				"md":   "\n**Time lost: " + c.wanted + "**; " + strings.ReplaceAll(note, "|", `\|`) + ".\n",
			} {
				var b bytes.Buffer
				if err := Write(&b, format, run, Options{}); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(b.String(), all) != (c.first != "") {
					t.Errorf("%s: of all operations:\n%s", format, b.String())
				}
				if c.wanted == "" && strings.Contains(b.String(), "no insert") {
					t.Errorf("%s names an operation:\n%s", format, b.String())
				}
				if c.wanted != "" && !strings.Contains(b.String(), want) {
					t.Errorf("%s doesn't have %q:\n%s", format, want, b.String())
				}
			}
		})
	}
}

// The brief report contains the figures and the verdict, and names the warnings.
func TestBrief(t *testing.T) {
	run := passing()
	remedy := message.Literal("do something")
	run.Warnings = []record.Warning{
		{ID: "short-run", Text: message.Literal("the load lasted only 1 s"), Remedy: remedy},
		{ID: "reconnects", Text: message.Literal("first of them"), Remedy: remedy},
		{ID: "reconnects", Text: message.Literal("second of them"), Remedy: remedy},
		{ID: "record-damaged", Text: message.Literal("a line can't be read"), Remedy: remedy},
	}
	var b strings.Builder
	if err := Brief(&b, run, Options{Path: "results/x"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"TOTAL", "LATENCY", "━━ PASS ", "also: short-run",
		"first of them [reconnects], and 1 more of this kind", "record results/x: brunt report says more"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	for _, no := range []string{"CONFIGURATION", "ENVIRONMENT", "GENERATOR", "lasted only", "second of them"} {
		if strings.Contains(b.String(), no) {
			t.Errorf("%q is in\n%s", no, b.String())
		}
	}
	damage, other := strings.Index(b.String(), "can't be read"), strings.Index(b.String(), "first of them")
	if damage > other {
		t.Errorf("the damage isn't named first:\n%s", b.String())
	}
}

// A brief report of a run with very much to say fits a screen.
func TestBriefFitsAScreen(t *testing.T) {
	run := passing()
	for i := range 60 {
		op := run.Operations[0]
		op.Name = fmt.Sprintf("operation %d", i)
		run.Operations = append(run.Operations, op)
		run.Failures = append(run.Failures, record.FailureCount{Class: "server", Code: fmt.Sprint(i), Text: "no", Count: 1})
		run.Thresholds = append(run.Thresholds, record.Threshold{Text: "p(99) < 1s", Pass: i != 50, Unit: "ns"})
		run.Warnings = append(run.Warnings, record.Warning{ID: fmt.Sprintf("w%d", i%9), Text: message.Literal("text"),
			Remedy: message.Literal("remedy")})
	}
	var b strings.Builder
	if err := Brief(&b, run, Options{Path: "results/x"}); err != nil {
		t.Fatal(err)
	}
	const screen = 55
	if lines := strings.Count(b.String(), "\n"); lines > screen {
		t.Errorf("%d lines:\n%s", lines, b.String())
	}
	if !strings.Contains(b.String(), "✘") {
		t.Errorf("the rule that doesn't hold isn't shown:\n%s", b.String())
	}
}
