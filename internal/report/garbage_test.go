package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/internal/report/export"
)

// garbage are texts that a server, a plan or a record of somebody else may have as names and messages.
var garbage = map[string]string{
	"control characters": "a\x00b\x07c\x08d\x7fe\u0085f",
	"lines":              "a\nb\r\nc\td\u2028e\u2029f",
	"escape sequences":   "a\x1b[2J\x1b]0;title\x07b\x9b31mc",
	"directions":         "a\u202eb\u2066c\u200fd\ufeffe",
	"invalid UTF-8":      "a\xff\xfeb\xc3(\xed\xa0\x80c",
	"markup":             `a<script>alert(1)</script>"'&|*_]]>b`,
	"a formula":          `=1+2";"@x,y`,
	"long":               strings.Repeat("long ", 20_000),
	"one long word":      strings.Repeat("w", 100_000),
}

// escapeSequence matches the sequences that brunt's own output has.
var escapeSequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestGarbageHarmsNoOutput writes runs whose names and messages are garbage in every form.
func TestGarbageHarmsNoOutput(t *testing.T) {
	written := func(format string, o Options) func(*record.Run, []*measure.Interval) (string, error) {
		return func(run *record.Run, _ []*measure.Interval) (string, error) {
			var b bytes.Buffer
			err := Write(&b, format, run, o)
			return b.String(), err
		}
	}
	exported := func(format string) func(*record.Run, []*measure.Interval) (string, error) {
		return func(run *record.Run, all []*measure.Interval) (string, error) {
			var b bytes.Buffer
			f, err := export.NewFile(&b, format, run)
			if err != nil {
				return "", err
			}
			for _, iv := range all {
				if err := f.Interval(iv); err != nil {
					return "", err
				}
			}
			err = f.Close()
			return b.String(), err
		}
	}
	outputs := map[string]func(*record.Run, []*measure.Interval) (string, error){
		"text": written("text", Options{}), "text in colour": written("text", Options{Color: true}),
		"text in Russian": written("text", Options{Language: units.Russian}), "md": written("md", Options{}),
		"csv": written("csv", Options{}), "json": written("json", Options{}), "junit": written("junit", Options{}),
		"export csv": exported("csv"), "export influx": exported("influx"), "export prometheus": exported("prometheus"),
		"export hdr": exported("hdr"),
		"page": func(run *record.Run, all []*measure.Interval) (string, error) {
			var b bytes.Buffer
			err := HTML(&b, &Sheet{Results: []Result{{Run: run, Timeline: timelineOf(all), Path: run.Name}}}, Options{})
			return b.String(), err
		},
		"live page": func(run *record.Run, _ []*measure.Interval) (string, error) {
			_, page := LiveFragments(run, nil, units.English)
			return page, nil
		},
	}
	for name, text := range garbage {
		run, intervals := timesOfAll(t)
		run.Name, run.Operations[0].Name, run.Phases[0].Name = text, text, text
		run.Targets = []record.Target{{Address: text, Protocol: "pg", Product: text, Version: text}}
		run.Command = []string{"brunt", text}
		run.Failures = []record.FailureCount{{Class: text, Code: text, Text: text, Count: 1}}
		run.Thresholds = []record.Threshold{{Text: text}}
		run.Warnings = []record.Warning{{ID: text, Text: message.Literal(text), Remedy: message.Literal(text)}}
		run.Verdict = record.Verdict{Result: "fail", Reasons: []message.Message{message.Literal(text)}}
		run.Events = []record.Event{{AtNs: 1e9, Kind: "fault", Text: text}}
		run.Aborted = message.Literal(text)
		for _, iv := range intervals {
			iv.Phase = text
		}
		for output, write := range outputs {
			t.Run(name+" in "+output, func(t *testing.T) {
				got, err := write(run, intervals)
				if err != nil {
					t.Fatal(err)
				}
				harmless(t, output, got)
			})
		}
	}
}

// harmless reports what is wrong with an output.
func harmless(t *testing.T, output, got string) {
	t.Helper()
	if !utf8.ValidString(got) {
		t.Error("it isn't UTF-8")
	}
	plain := escapeSequence.ReplaceAllString(got, "")
	bad := strings.IndexFunc(plain, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	})
	if bad >= 0 {
		t.Errorf("a control character: %q", plain[max(bad-40, 0):min(bad+10, len(plain))])
	}
	bounded := strings.HasPrefix(output, "text") || output == "md" || output == "junit"
	if limit := 100_000; bounded && len(plain) > limit {
		t.Errorf("%d bytes, more than %d", len(plain), limit)
	}
	var err error
	switch output {
	case "json":
		if !json.Valid([]byte(got)) {
			t.Error("it isn't JSON")
		}
	case "csv", "export csv":
		_, err = csv.NewReader(strings.NewReader(got)).ReadAll()
	case "junit":
		for d := xml.NewDecoder(strings.NewReader(got)); err == nil; {
			_, err = d.Token()
		}
		if err == io.EOF {
			err = nil
		}
	}
	if err != nil {
		t.Error(err)
	}
	if strings.Contains(output, "page") && strings.Contains(got, "<script>alert") {
		t.Error("a script")
	}
}
