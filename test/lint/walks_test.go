package lint_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// named returns the Go files below internal/ that a page names in backquotes.
func named(page string) (paths []string) {
	for _, m := range regexp.MustCompile("`([a-z0-9_]+(?:/[a-z0-9_]+)*\\.go)`").FindAllStringSubmatch(page, -1) {
		paths = append(paths, m[1])
	}
	return paths
}

// The files that docs/contributing.md names exist, or are made by one of the examples.
func TestContributingNamesFilesThatAreThere(t *testing.T) {
	text, err := os.ReadFile("../../docs/contributing.md")
	if err != nil {
		t.Fatal(err)
	}
	files := named(string(text))
	if len(files) < 10 {
		t.Errorf("the page names only %d files of Go", len(files))
	}
	examples, err := filepath.Glob("../../examples/extending/*.diff")
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	var made strings.Builder
	for _, path := range examples {
		diff, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		made.Write(diff)
	}
	for _, name := range files {
		if strings.Contains(made.String(), "\n+++ b/internal/"+name+"\n") {
			continue
		}
		if _, err := os.Stat(filepath.Join("../../internal", name)); err != nil {
			t.Errorf("docs/contributing.md: %v", err)
		}
	}
}

// aside matches texts in parentheses, such as those about the other tier.
var aside = regexp.MustCompile(`(?s)\([^()]*\)`)

// The two walks in docs/architecture.md name files that exist, at most nine each.
func TestArchitectureNamesFilesThatAreThere(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range named(string(text)) {
		if _, err := os.Stat(filepath.Join("../../internal", name)); err != nil {
			t.Errorf("docs/architecture.md: %v", err)
		}
	}
	walks := regexp.MustCompile(`(?m)^### (.*, from .* to .*)$`).FindAllStringSubmatchIndex(string(text), -1)
	if len(walks) != 2 {
		t.Fatalf("docs/architecture.md has %d walks, want 2", len(walks))
	}
	for _, w := range walks {
		title, rest := string(text)[w[2]:w[3]], string(text)[w[1]:]
		if next := strings.Index(rest, "\n#"); next >= 0 {
			rest = rest[:next]
		}
		stops := regexp.MustCompile(`(?m)^\d+\. .*(\n   .*)*`).FindAllString(rest, -1)
		if len(stops) < 5 {
			t.Errorf("%s: %d stops", title, len(stops))
		}
		files := map[string]bool{}
		for _, s := range stops {
			if len(named(s)) == 0 {
				t.Errorf("%s: a stop without a file: %s", title, s)
			}
			for _, name := range named(aside.ReplaceAllString(s, "")) {
				files[name] = true
			}
		}
		if len(files) > 9 {
			t.Errorf("%s: %d files: %v", title, len(files), slices.Sorted(maps.Keys(files)))
		}
	}
}

// Each wing and each tool has a row in docs/architecture.md, and each row has a room.
func TestArchitectureListsTheRooms(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9/]+)(?:/<[a-z]+>)?` \\|").FindAllStringSubmatch(string(text),
		-1) {
		if listed[m[1]] = true; !isFolder(filepath.Join("../../internal", m[1])) && !isFolder(filepath.Join("../..", m[1])) {
			t.Errorf("docs/architecture.md lists %s, which isn't there", m[1])
		}
	}
	for parent, prefix := range map[string]string{"../../internal": "", "../../tools": "tools/"} {
		rooms, err := os.ReadDir(parent)
		if err != nil {
			t.Fatal(err)
		}
		for _, room := range rooms {
			if room.IsDir() && !listed[prefix+room.Name()] {
				t.Errorf("docs/architecture.md doesn't list %s", prefix+room.Name())
			}
		}
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
