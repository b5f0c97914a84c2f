package report

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"brunt/test/testserver"
)

// BenchmarkPageOfADay builds the page of a run of 24 hours with intervals of a second, and opens it in Chromium until
// its charts are drawn.
func BenchmarkPageOfADay(b *testing.B) {
	run, line := day()
	path := filepath.Join(b.TempDir(), "day.html")
	browser := testserver.NewBrowser(b, b.TempDir())
	browser.Look(1180, 900, "screen", "light")
	var page bytes.Buffer
	var drawn []time.Duration
	for b.Loop() {
		page.Reset()
		if err := HTML(&page, &Sheet{Results: []Result{{Run: run, Timeline: line}}}, Options{}); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		browser.Open("file://" + path)
		browser.Wait(`document.documentElement.dataset.drawn`)
		drawn = append(drawn, time.Since(began))
	}
	b.ReportMetric(float64(page.Len())/1e6, "MB")
	b.ReportMetric(slices.Max(drawn).Seconds(), "s-drawn-at-most")
}
