package usage

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The documentation of exit codes and environment variables agrees with every manual page.
func TestManualIsDocumented(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var codes []string
	for _, m := range meanings(exitStatus) {
		codes = append(codes, m.word)
	}
	var documented []string
	rows := regexp.MustCompile(`(?m)^\| (\d+) \|`)
	for _, m := range rows.FindAllStringSubmatch(read("exit-codes.md"), -1) {
		documented = append(documented, m[1])
	}
	if !slices.Equal(codes, documented) {
		t.Errorf("the manual has the codes %v, exit-codes.md %v", codes, documented)
	}
	page := read("environment.md")
	for _, m := range meanings(environment) {
		for _, name := range strings.Split(m.word, ", ") {
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("environment.md lacks %s", name)
			}
		}
	}
}
