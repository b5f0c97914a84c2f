package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brunt/internal/testserver"
)

// TestHTTPDocumentsRun runs every command that the documents about HTTP show, against a real nginx,
// and looks for the lines that they show of the output, numbers apart.
func TestHTTPDocumentsRun(t *testing.T) {
	for _, name := range []string{"cook.md", "http.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("../../docs", name))
			if err != nil {
				t.Fatal(err)
			}
			addresses := strings.NewReplacer(
				"127.0.0.1:8080", testserver.Nginx(t).Addr, "127.0.0.1:8443", testserver.Nginx(t, testserver.TLS()).Addr)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "body.json"), []byte(`{"a": 1}`), 0o600); err != nil {
				t.Fatal(err)
			}
			shown := consoleCommands(string(text))
			if len(shown) < 5 {
				t.Fatalf("%d commands", len(shown))
			}
			for _, c := range shown {
				c.try(t, dir, addresses)
			}
		})
	}
}

// shownCommand is a command of a console block and the output that is shown of it.
type shownCommand struct {
	command string
	output  []string
}

// consoleCommands reads the blocks marked console: commands begin with "$ ".
func consoleCommands(text string) (all []shownCommand) {
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for _, line := range strings.Split(strings.TrimSuffix(block[1], "\n"), "\n") {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				all = append(all, shownCommand{command: command})
			} else if len(all) > 0 {
				last := &all[len(all)-1]
				last.output = append(last.output, line)
			}
		}
	}
	return all
}

// try runs the command in a shell. A file that it shows with cat is made first.
func (c *shownCommand) try(t *testing.T, dir string, addresses *strings.Replacer) {
	t.Helper()
	if file, ok := strings.CutPrefix(c.command, "cat "); ok {
		content := addresses.Replace(strings.Join(c.output, "\n") + "\n")
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", addresses.Replace(c.command))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	// On a busy machine the generator may have been late, which makes a result invalid.
	if err != nil && cmd.ProcessState.ExitCode() != exitInvalid {
		t.Fatalf("%s: %v\n%s", c.command, err, out)
	}
	got := alike(string(out))
	for _, line := range c.output {
		want := alike(addresses.Replace(line))
		if want == "" || want == "…" || strings.Contains(got, want) {
			continue
		}
		t.Errorf("%s doesn't print %q:\n%s", c.command, line, out)
	}
}

// alike makes texts equal that differ in numbers, times and the width of columns only.
func alike(s string) string {
	for _, r := range [][2]string{
		{`[0-9]+(\.[0-9]+)?`, "9"}, {`9-9-9T9:9:9(Z|[+-]9:9)`, "TIME"}, {`[ \t]+`, " "}, {` [-+]*\n`, "\n"}, {` [-+]*$`, ""},
	} {
		s = regexp.MustCompile(r[0]).ReplaceAllString(s, r[1])
	}
	return s
}
