package report

import (
	"bytes"
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"brunt/internal/measure/timeline"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// ownNames are the Latin words that Russian reports may contain: names of programs, flags, metrics and units, and the
// stable ids of warnings, which are in brackets.
var ownNames = strings.Fields(
	`brunt GOMAXPROCS CPU RSS CSV JSON INVALID ANALYZE VACUUM OFFSET WHERE ORDER LIMIT CREATE INDEX EXTENSION GRANT COMMIT FOR UPDATE SKIP LOCKED
	output text errors ndjson response Little MSER connect dropped threshold vu loops UTC csv last performance results alert TIMESTAMPNS`)

var (
	latinWord = regexp.MustCompile(`[A-Za-z]{3,}`)
	warningID = regexp.MustCompile(`\[[a-z-]+\]`)
	tags      = regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<svg.*?>|<[^>]*>`)
)

// english returns the Latin words of a text that are neither names nor part of the run's data.
func english(t *testing.T, text string, run *record.Run) (left []string) {
	t.Helper()
	data := *run
	data.Warnings, data.Verdict.Reasons, data.Timing, data.TierReason, data.LoadModel = nil, nil, message.Message{},
		message.Message{}, ""
	data.Thresholds = nil
	for i := range run.Thresholds {
		data.Events = append(data.Events, record.Event{Text: run.Thresholds[i].Text})
	}
	raw, err := json.Marshal(&data)
	if err != nil {
		t.Fatal(err)
	}
	// Keys of JSON are not data, except those of settings.
	values := regexp.MustCompile(`"[a-z_0-9]+":`).ReplaceAllString(string(raw), "")
	known := append(latinWord.FindAllString(values, -1), ownNames...)
	for i := range run.Targets {
		for setting := range run.Targets[i].Settings {
			known = append(known, latinWord.FindAllString(setting, -1)...)
		}
	}
	for _, word := range latinWord.FindAllString(warningID.ReplaceAllString(text, ""), -1) {
		if !slices.Contains(known, word) && !slices.Contains(left, word) {
			left = append(left, word)
		}
	}
	return left
}

// Russian reports contain no English words in any format.
func TestReportsAreInRussian(t *testing.T) {
	all := map[string]*Result{"shown": shown(t)}
	for name, run := range fixtures() {
		all[name] = &Result{Run: run(), Timeline: timeline.New(0)}
	}
	o := Options{Language: units.Russian}
	for name, r := range all {
		var text, md, page bytes.Buffer
		if err := Terminal(&text, r.Run, o); err != nil {
			t.Fatal(err)
		}
		if err := cell.WriteMarkdown(&md, units.Russian, Tables(r.Run, o)...); err != nil {
			t.Fatal(err)
		}
		if err := HTML(&page, &Sheet{Results: []Result{*r}}, o); err != nil {
			t.Fatal(err)
		}
		plain := html.UnescapeString(tags.ReplaceAllString(page.String(), " "))
		plain = strings.ReplaceAll(plain, string(r.Plan), "")
		for form, text := range map[string]string{"text": text.String(), "md": md.String(), "html": plain} {
			if left := english(t, text, r.Run); len(left) > 0 {
				t.Errorf("%s as %s is still English: %q", name, form, left)
			}
		}
	}
}
