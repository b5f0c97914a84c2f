package lint_test

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// concurrent lists where a file starts goroutines.
func concurrent(s *source) (faults []string) {
	if s.test {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		starts := false
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			starts = ok && (f.Sel.Name == "Go" || f.Sel.Name == "AfterFunc")
		}
		if starts {
			faults = append(faults, fmt.Sprintf(
				"%s: starts a goroutine, so its tests belong under the race detector: see SINGLE in the Makefile", s.at(n.Pos())))
		}
		return true
	})
	return faults
}

// The rooms that `make test` tests without the race detector start no goroutine.
func TestWhatIsTestedWithoutTheRaceDetectorHasNoRaces(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^SINGLE +:= (.+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("the Makefile names no such rooms")
	}
	rooms := strings.Fields(string(found[1]))
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if name := strings.TrimPrefix(s.room, "internal/"); slices.Contains(rooms, name) {
			seen[name] = true
			report(t, concurrent(s))
		}
	}
	for _, name := range rooms {
		if !seen[name] {
			t.Errorf("the Makefile names %s, which isn't there", name)
		}
	}
}

func TestGoroutinesAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"func f() { go g() }": 1, "func f() { all.Go(g) }": 1, "func f() { time.AfterFunc(1, g) }": 1,
		"func f() { g.Goes(); Go() }": 0,
	} {
		if got := concurrent(parse(t, "internal/a/x.go", []byte("package p\n\n"+text+"\n"))); len(got) != want {
			t.Errorf("%q: got %q, want %d faults", text, got, want)
		}
	}
}
