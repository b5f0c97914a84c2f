package acceptance_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/run/program"
	"brunt/test/shell"
)

// A campaign sends a test plan of JMeter as its load: each trial with its number as the property N. The service answers
// one request at a time, so that it has a maximum.
func TestCampaignOfATestPlan(t *testing.T) {
	t.Parallel()
	const answersPerS = 100 // about 3 times the plan's 34
	var turn sync.Mutex
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		turn.Lock()
		defer turn.Unlock()
		time.Sleep(time.Second / answersPerS)
	}))
	defer service.Close()
	at, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	book := filepath.Join("..", "..", "examples", "jmeter", "book.jmx")
	o := brunt(t, "convert", "jmeter", "-n", "-t", book, "-Jhost="+at.Hostname(), "-Jport="+at.Port(), "-Jduration=86400",
		"-Jthreads=2", "--scaled-by", "N=34")
	if o.code != 0 || !strings.Contains(o.out, "scaled_by: property.N") {
		t.Fatalf("%d: %s%s", o.code, o.err, o.out)
	}
	plan := shell.Plan(t, o.out)
	campaign := shell.File(t, "campaign.yml", "campaign: book\nplan: "+plan+`
steps:
  - search: {start: 1, min: 0.5, max: 16, trial: 1500ms, warm_up: 300ms, width: 0.4, trials: 5, max_sessions: 64}
  - confirm: {at: 1, ramp: 500ms, hold: 2s}
  - document: {lang: [en]}
`)
	dir := filepath.Join(t.TempDir(), "campaign")
	if o = brunt(t, "campaign", "run", campaign, "--bundle", dir, "--anyway"); !judged(o.code) {
		t.Fatalf("%d: %s%s", o.code, o.out, o.err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "01-search", "step.json"))
	if err != nil {
		t.Fatal(err)
	}
	var step struct {
		Search program.SearchLog `json:"search"`
	}
	if err := json.Unmarshal(text, &step); err != nil {
		t.Fatal(err)
	}
	passed, failed := 0, 0
	for i := range step.Search.Trials {
		r := &step.Search.Trials[i]
		t.Logf("N %g: %s, asked %g/s, achieved %g/s: %v", r.N, r.Verdict, r.AskedPerS, r.AchievedPerS, r.Why)
		if r.AskedPerS != 34*r.N {
			t.Errorf("trial at N %g asked for %g/s", r.N, r.AskedPerS)
		}
		if r.AchievedPerS > 1.3*r.AskedPerS {
			t.Errorf("trial at N %g sent %g/s", r.N, r.AchievedPerS)
		}
		switch r.Verdict {
		case "pass":
			passed++
		case "fail":
			if failed++; r.N < 1 {
				t.Errorf("N %g failed: %v", r.N, r.Why)
			}
		}
		if r.Verdict == "pass" && 34*r.N > 1.5*answersPerS {
			t.Errorf("N %g passed, which is more than the service answers", r.N)
		}
	}
	if passed == 0 || failed == 0 {
		t.Errorf("%d trials passed, %d failed: %s", passed, failed, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "report-en.html")); err != nil {
		t.Error(err)
	}
}
