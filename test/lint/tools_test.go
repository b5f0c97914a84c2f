package lint_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"brunt/internal/dialect/tools"
)

// toolsKept lists the files outside of the tools' folders that may import one, and why.
var toolsKept = map[string]string{
	"internal/plan/planfile/dialects_test.go": "writes the plans of tools and reads them back",
	"test/acceptance/article_test.go":         "reads Picostress' summary as its users do",
}

// toolNames are all names by which tools are known, besides those of commands that are words.
func toolNames() map[string]bool {
	names := map[string]bool{}
	for _, t := range tools.All() {
		names[t.Name] = true
		for _, name := range slices.Concat(t.Formats, t.Programs) {
			names[name] = true
		}
		for _, c := range t.Commands {
			names[c.Name] = true
		}
	}
	return names
}

// shared are the rooms of the wing of dialects that belong to no tool.
var shared = strings.Fields("calls command endpoints service tools")

// importsTool lists the imports of tools by a file outside of the wing of dialects.
func importsTool(s *source) (faults []string) {
	if under(s.room, "internal/dialect") || toolsKept[s.path] != "" {
		return nil
	}
	for _, imported := range s.imports() {
		room, ok := strings.CutPrefix(imported, "brunt/internal/dialect/")
		if tool, _, _ := strings.Cut(room, "/"); ok && !slices.Contains(shared, tool) {
			faults = append(faults, fmt.Sprintf("%s imports %s: tools are reached through their dialect.Tool", s.path,
				path.Join("dialect", room)))
		}
	}
	return faults
}

func TestToolsAreReachedThroughTheirDeclarations(t *testing.T) {
	names, seen := toolNames(), map[string]bool{}
	for _, s := range sources(t) {
		report(t, importsTool(s))
		report(t, decidesByName(s, toolRule(names)))
		seen[s.path] = true
	}
	for path := range toolsKept {
		if !seen[path] {
			t.Errorf("%s may import tools, and isn't there", path)
		}
	}
}
