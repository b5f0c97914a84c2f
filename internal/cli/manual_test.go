package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brunt/internal/cli"
	"brunt/internal/dialect/tools"
)

// Every manual page contains the sections that apply to all commands.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	if code := cli.Main("test", []string{"brunt", "manual", dir}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs.String())
	}
	pages, err := filepath.Glob(filepath.Join(dir, "man1", "*.1"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	order := regexp.MustCompile(`(?s)\n\.SH EXIT STATUS\n.*\\fB104\\fP\n.*\n\.SH ENVIRONMENT\n.*` +
		`\\fBBRUNT_PASSWORD\\fP\n.*\n\.SH SEE ALSO\n`)
	for _, page := range pages {
		if text := contentsOf(t, page); !order.MatchString(text) || strings.Count(text, ".SH EXIT STATUS") != 1 {
			t.Errorf("%s lacks a section or has it in another place:\n%s", filepath.Base(page), text)
		}
	}
}

// A tool's name is recognized also with a suffix for a version or a system, and in no other case.
func TestDialectOf(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/slow_cooker": "slow_cooker", "slow_cooker_linux_amd64": "slow_cooker", "./slow_cooker-1.2": "slow_cooker",
		"k6.exe": "k6", "k6-v2.2.0-linux-amd64": "k6", "go-ycsb": "go-ycsb", "go-ycsb.1": "go-ycsb",
		"picostress_v2": "picostress", "brunt-1.2": "", "brunt": "", "k60": "", "my-k6": "",
	} {
		t.Run(path, func(t *testing.T) {
			if _, got := tools.All().Called(path); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// contentsOf reads a file.
func contentsOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
