package tools_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"brunt/internal/record"
	"brunt/test/shell"
)

// sampled is a server that counts its requests by path, and calls arrived with each before it answers.
type sampled struct {
	*httptest.Server
	mu      sync.Mutex
	counts  map[string]int
	arrived func(path string, n int, gone <-chan struct{})
}

func newSampled(t *testing.T) *sampled {
	s := &sampled{counts: map[string]int{}, arrived: func(string, int, <-chan struct{}) {}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.counts[r.URL.Path]++
		n := s.counts[r.URL.Path]
		s.mu.Unlock()
		s.arrived(r.URL.Path, n, r.Context().Done())
		_, _ = io.WriteString(w, "x")
	}))
	t.Cleanup(s.Close)
	return s
}

// seen returns how many requests there were for a path.
func (s *sampled) seen(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[path]
}

// group returns a thread group with one sampler, whose path is its name.
func (s *sampled) group(class, name string, threads, loops int, more string) string {
	host, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	text := func(name, value string) string { return `<stringProp name="` + name + `">` + value + `</stringProp>` }
	return fmt.Sprintf(`<%s testname="%s"><elementProp name="ThreadGroup.main_controller" elementType="LoopController">`,
		class, name) + text("LoopController.loops", fmt.Sprint(loops)) +
		`<boolProp name="LoopController.continue_forever">false</boolProp></elementProp>` +
		text("ThreadGroup.num_threads", fmt.Sprint(threads)) + "</" + class + `><hashTree>` +
		`<HTTPSamplerProxy testname="` + name + `">` + text("HTTPSampler.domain", host) + text("HTTPSampler.port", port) +
		text("HTTPSampler.path", "/"+name) + `</HTTPSamplerProxy><hashTree/>` + more + `</hashTree>`
}

// testPlan writes a test plan.
func testPlan(t *testing.T, tearsDown bool, groups ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.jmx")
	text := fmt.Sprintf(`<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree><TestPlan testname="P">`+
		`<boolProp name="TestPlan.tearDown_on_shutdown">%t</boolProp></TestPlan><hashTree>`, tearsDown)
	text += strings.Join(groups, "\n") + `</hashTree></hashTree></jmeterTestPlan>`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// After an interrupt, the samples under way end, and the tear down groups run if the plan says so. A second interrupt
// ends everything.
func TestJMeterTearsDown(t *testing.T) {
	const long = `<ConstantTimer testname="t"><stringProp name="ConstantTimer.delay">3600000</stringProp>` +
		`</ConstantTimer><hashTree/>`
	for name, c := range map[string]struct {
		tearsDown, again bool
		after            int // requests of the tear down group
	}{
		"torn down":     {tearsDown: true, after: 3},
		"not torn down": {},
		"twice":         {tearsDown: true, again: true, after: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSampled(t)
			process := make(chan int, 1)
			s.arrived = func(path string, n int, gone <-chan struct{}) {
				switch {
				case path == "/main" && n == 5, path == "/after" && c.again:
					pid := <-process
					process <- pid
					shell.Send(t, pid, syscall.SIGINT)
				}
				if path == "/after" && c.again {
					<-gone
				}
			}
			plan := testPlan(t, c.tearsDown, s.group("SetupThreadGroup", "before", 1, 2, ""),
				s.group("ThreadGroup", "main", 2, -1, ""), s.group("ThreadGroup", "waiting", 1, -1, long),
				s.group("PostThreadGroup", "after", 1, 3, ""))
			bundle := filepath.Join(t.TempDir(), "bundle")
			folder := filepath.Join(t.TempDir(), "report")
			cmd, output := shell.Start(t, nil, "brunt", "jmeter", "-n", "-t", plan, "--bundle", bundle, "-e", "-o", folder)
			process <- cmd.Process.Pid
			_ = cmd.Wait() // the code says it
			if code, said := cmd.ProcessState.ExitCode(), shell.Said(t, output); code != 105 ||
				!strings.Contains(said, "... end of run") {
				t.Errorf("exit %d", code)
			}
			if s.seen("/before") != 2 || s.seen("/main") < 5 || s.seen("/waiting") != 0 || s.seen("/after") != c.after {
				t.Errorf("requests %v", s.counts)
			}
			page, err := os.ReadFile(filepath.Join(folder, "index.html"))
			if !c.again && (err != nil || !strings.Contains(string(page), ">main<")) {
				t.Errorf("the report of -e has no line of the sampler: %v", err)
			}
			b, err := record.Open(record.OS{}, bundle)
			if err != nil {
				t.Fatal(err)
			}
			if !b.Run.Interrupted || !b.Run.Complete {
				t.Errorf("interrupted %t, complete %t", b.Run.Interrupted, b.Run.Complete)
			}
		})
	}
}

// The threads of a plan are spread over workers, and each sends all its samples.
func TestJMeterOnWorkers(t *testing.T) {
	s := newSampled(t)
	plan := testPlan(t, false, s.group("ThreadGroup", "one", 3, 4, ""), s.group("ThreadGroup", "two", 2, 5, ""))
	bundle := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, nil, "brunt", "jmeter", "-n", "-t", plan, "--workers", "2", "--bundle", bundle)
	_ = cmd.Wait() // the code says it
	said := shell.Said(t, output)
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 98 { // 98: this machine was too busy
		t.Errorf("exit %d", code)
	}
	if s.seen("/one") != 12 || s.seen("/two") != 10 {
		t.Errorf("requests %v", s.counts)
	}
	b, err := record.Open(record.OS{}, bundle)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{12, 10} {
		if o := &b.Run.Operations[i]; o.Counts.OK != want {
			t.Errorf("%s: %d, want %d", o.Name, o.Counts.OK, want)
		}
	}
	if b.Run.Sessions != 5 || len(b.Run.Parts) != 2 {
		t.Errorf("%d sessions in %d parts\n%s", b.Run.Sessions, len(b.Run.Parts), said)
	}
}
