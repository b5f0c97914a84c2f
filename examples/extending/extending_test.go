package extending_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// diffs are the changes, each with the files that it touches.
var diffs = map[string][]string{
	"protocol": {"internal/protocol/all/all.go", "internal/protocol/lines/lines.go"},
	"dialect":  {"internal/dialect/pelt/pelt.go", "internal/dialect/pelt/help/pelt.txt", "internal/dialect/tools/pelt.go"},
	"counter":  {"internal/measure/counts.go", "internal/protocol/facts.go"},
	"section": {"internal/render/message/ru.yaml", "internal/report/attempts.go",
		"internal/report/sections.go"},
}

// changed is a folder with the files that the changes touch, after them.
type changed struct {
	root, dir string
	overlay   map[string]string // for the build: a file of the tree, and the one in its place
}

// apply applies the changes to copies of the files.
func apply(t *testing.T) changed {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	c := changed{root, t.TempDir(), map[string]string{}}
	for name, files := range diffs {
		for _, file := range files {
			old, err := os.ReadFile(filepath.Join(root, file))
			if err == nil {
				err = os.MkdirAll(filepath.Dir(filepath.Join(c.dir, file)), 0o755)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(c.dir, file), old, 0o600)
			}
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			c.overlay[filepath.Join(root, file)] = filepath.Join(c.dir, file)
		}
		diff, err := filepath.Abs(name + ".diff")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("git", "apply", "--whitespace=error", diff)
		cmd.Dir = c.dir
		cmd.Env = append(os.Environ(), "GIT_DIR=/dev/null") // the folder is in no repository
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s.diff doesn't apply: %v\n%s", name, err, out)
		}
	}
	return c
}

// build builds brunt with the changes.
func (c *changed) build(t *testing.T) (brunt string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"Replace": c.overlay})
	if err != nil {
		t.Fatal(err)
	}
	overlay, brunt := filepath.Join(t.TempDir(), "overlay.json"), filepath.Join(t.TempDir(), "brunt")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-overlay", overlay, "-o", brunt, "brunt/cmd/brunt")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath") // as make build, whose cache it shares
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return brunt
}

// run runs a command of brunt in a folder, and returns what it prints. It must exit with one of the codes.
func run(t *testing.T, brunt, dir, line string, codes ...int) string {
	t.Helper()
	cmd := exec.Command(brunt, strings.Fields(line)...)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput()
	if !slices.Contains(codes, cmd.ProcessState.ExitCode()) {
		t.Fatalf("brunt %s: exit %d\n%s", line, cmd.ProcessState.ExitCode(), out)
	}
	return string(out)
}

// plan is a load for the protocol of the example. The server answers each third request with an error that is worth
// another attempt.
const plan = `config_name: words
retries: 3
retry_errors: true
queries:
  - {name: say, command: [SAY, hello], count: 30}
`

// serve answers lines, each third one by an error.
func serve(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var asked atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					answer := lines.Text()
					if asked.Add(1)%3 == 0 {
						answer = "ERROR try again"
					}
					fmt.Fprintln(c, answer)
				}
			}()
		}
	}()
	return l.Addr().String()
}

// Each change applies, all of them compile, and what they add works.
func TestChangesWork(t *testing.T) {
	t.Parallel()
	c := apply(t)
	brunt, dir := c.build(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plan.yml"), []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	judged := []int{0, 98} // a busy machine makes a result invalid
	run(t, brunt, dir, "run plan.yml --bundle bundle --quiet --proto lines -a "+serve(t), judged...)
	says := func(t *testing.T, line, pattern string) {
		t.Helper()
		if out := run(t, brunt, dir, line, judged...); !regexp.MustCompile(pattern).MatchString(out) {
			t.Errorf("brunt %s doesn't say %q:\n%s", line, pattern, out)
		}
	}
	t.Run("protocol", func(t *testing.T) {
		says(t, "version", `(?m)^library .* lines `)
		says(t, "report bundle", `30 operations`)
	})
	t.Run("counter", func(t *testing.T) {
		says(t, "report bundle --output json", `"rows": ?30,`)
		says(t, "export bundle --format prometheus", `(?m)^brunt_rows_total\{.*\} 30`)
		says(t, "export bundle --format influx", `rows=30`)
	})
	t.Run("section", func(t *testing.T) {
		says(t, "report bundle", `(?m)ATTEMPTS[\s\S]*say +30 +1[0-9]`)
		says(t, "report bundle --lang ru", `ПОПЫТКИ`)
		says(t, "report bundle --html -", `id="attempts"`)
	})
	t.Run("dialect", func(t *testing.T) {
		var asked atomic.Int64
		service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
		defer service.Close()
		says(t, "version", `(?m)^dialects .* pelt`)
		says(t, "--help", `(?m)^  pelt +Load a URL as pelt does`)
		says(t, "as pelt -n 20 -c 2 "+service.URL+"/", `20 operations`)
		if n := asked.Load(); n < 20 {
			t.Errorf("%d requests", n)
		}
	})
}

// The page names the files of each change, and shows what it adds to files that were there before.
func TestPageShowsTheChanges(t *testing.T) {
	text, err := os.ReadFile("../../docs/contributing.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	for _, name := range slices.Sorted(maps.Keys(diffs)) {
		diff, err := os.ReadFile(name + ".diff")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page, "examples/extending/"+name+".diff") {
			t.Errorf("the page doesn't name %s.diff", name)
		}
		for _, part := range strings.Split(string(diff), "\ndiff --git ") {
			file := regexp.MustCompile(`(?m)^\+\+\+ b/(.*)$`).FindStringSubmatch(part)[1]
			if !slices.Contains(diffs[name], file) {
				t.Errorf("%s.diff touches %s, too", name, file)
			}
			if strings.Contains(part, "new file mode") {
				continue
			}
			for _, line := range regexp.MustCompile(`(?m)^\+[^+].*$`).FindAllString(part, -1) {
				added := strings.Join(strings.Fields(line[1:]), " ")
				if !strings.HasPrefix(added, "//") && !strings.Contains(page, added) {
					t.Errorf("%s.diff adds a line to %s that the page doesn't show: %s", name, file, added)
				}
			}
		}
	}
}
