package usage

import (
	"bytes"
	_ "embed" // for sections.txt
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// WriteManual writes the files that packages contain besides the binary into a folder: a manual page for every command,
// shell completions, and JSON Schemas of files for editors, by the names of the files' kinds.
func WriteManual(root *cobra.Command, dir string, schemaOf map[string][]byte) error {
	pages, shells, schemas := filepath.Join(dir, "man1"), filepath.Join(dir, "completions"), filepath.Join(dir, "schemas")
	for _, d := range []string{pages, shells, schemas} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	root.DisableAutoGenTag = true
	err := errors.Join(
		doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "brunt", Manual: "brunt"}, pages),
		completePages(pages),
		root.GenBashCompletionFileV2(filepath.Join(shells, "brunt"), true),
		root.GenZshCompletionFile(filepath.Join(shells, "_brunt")),
		root.GenFishCompletionFile(filepath.Join(shells, "brunt.fish"), true),
		root.GenPowerShellCompletionFileWithDesc(filepath.Join(shells, "brunt.ps1")),
	)
	for kind, schema := range schemaOf {
		err = errors.Join(err, os.WriteFile(filepath.Join(schemas, kind+".schema.json"), schema, 0o644))
	}
	return err
}

// Sections of manual pages: docs/exit-codes.md and docs/environment.md have more.
const (
	exitStatus  = "EXIT STATUS"
	environment = "ENVIRONMENT"
)

// meaning is an exit code or a variable, and its meaning.
type meaning struct{ word, means string }

//go:embed sections.txt
var sections string

// meanings returns the entries of a section of sections.txt.
func meanings(title string) (list []meaning) {
	_, text, _ := strings.Cut(sections, title+"\n")
	text, _, _ = strings.Cut(text, "\n\n")
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		word, means, _ := strings.Cut(line, "\t")
		list = append(list, meaning{word, means})
	}
	return list
}

// completePages adds the sections that hold for all commands to every manual page, in their usual place.
func completePages(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		return err
	}
	added := manualSection(exitStatus) + manualSection(environment)
	for _, path := range paths {
		page, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		const after = "\n.SH SEE ALSO\n"
		before, rest, found := bytes.Cut(page, []byte(after))
		text := strings.TrimRight(string(before), "\n") + "\n" + added
		if found {
			text += after[1:] + string(rest)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manualSection returns a section of a manual page in the format of man(7).
func manualSection(title string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".SH %s\n", title)
	for _, m := range meanings(title) {
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fP\n%s\n", m.word, strings.ReplaceAll(m.means, "-", `\-`))
	}
	return b.String()
}
