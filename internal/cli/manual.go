package cli

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"brunt/internal/planfile"
)

// newManual writes what packages contain beside the binary: a manual page for every command,
// completions for the shells, and what editors want to know of plans and campaigns.
func newManual() *cobra.Command {
	return &cobra.Command{
		Use:    "manual FOLDER",
		Short:  "Write manual pages, completions and JSON Schemas into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(cmd *cobra.Command, args []string) error { return writeManual(cmd.Root(), args[0]) },
	}
}

func writeManual(root *cobra.Command, dir string) error {
	pages, shells, schemas := filepath.Join(dir, "man1"), filepath.Join(dir, "completions"), filepath.Join(dir, "schemas")
	for _, d := range []string{pages, shells, schemas} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	root.DisableAutoGenTag = true
	return errors.Join(
		doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "brunt", Manual: "brunt"}, pages),
		root.GenBashCompletionFileV2(filepath.Join(shells, "brunt"), true),
		root.GenZshCompletionFile(filepath.Join(shells, "_brunt")),
		root.GenFishCompletionFile(filepath.Join(shells, "brunt.fish"), true),
		root.GenPowerShellCompletionFileWithDesc(filepath.Join(shells, "brunt.ps1")),
		os.WriteFile(filepath.Join(schemas, "plan.schema.json"), planfile.PlanSchema(), 0o644),
		os.WriteFile(filepath.Join(schemas, "campaign.schema.json"), planfile.CampaignSchema(), 0o644),
	)
}
