package usage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"brunt/internal/password"
	"brunt/internal/planfile"
	"brunt/internal/verdict/exitcode"
)

// WriteManual writes the files that packages contain besides the binary into a folder: a manual page for every command,
// shell completions, and the schemas of plans and campaigns for editors.
func WriteManual(root *cobra.Command, dir string) error {
	pages, shells, schemas := filepath.Join(dir, "man1"), filepath.Join(dir, "completions"), filepath.Join(dir, "schemas")
	for _, d := range []string{pages, shells, schemas} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	root.DisableAutoGenTag = true
	return errors.Join(
		doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "brunt", Manual: "brunt"}, pages),
		completePages(pages),
		root.GenBashCompletionFileV2(filepath.Join(shells, "brunt"), true),
		root.GenZshCompletionFile(filepath.Join(shells, "_brunt")),
		root.GenFishCompletionFile(filepath.Join(shells, "brunt.fish"), true),
		root.GenPowerShellCompletionFileWithDesc(filepath.Join(shells, "brunt.ps1")),
		os.WriteFile(filepath.Join(schemas, "plan.schema.json"), planfile.PlanSchema(), 0o644),
		os.WriteFile(filepath.Join(schemas, "campaign.schema.json"), planfile.CampaignSchema(), 0o644),
	)
}

// meaning is an exit code or a variable, and its meaning.
type meaning struct{ word, means string }

// exitMeanings returns short descriptions of the exit codes; docs/exit-codes.md has more.
func exitMeanings() []meaning {
	return []meaning{
		{fmt.Sprint(exitcode.Pass), "Every threshold held and the result can be trusted."},
		{fmt.Sprint(exitcode.Other), "Anything not named below, such as a full disk."},
		{fmt.Sprint(exitcode.Regression), "A comparison found a regression."},
		{fmt.Sprint(exitcode.Invalid), "The result is invalid: the generator limited it, or a search found no bracket."},
		{fmt.Sprint(exitcode.Threshold), "A threshold failed."},
		{fmt.Sprint(exitcode.BadPlan), "The plan or the flags are bad; nothing was sent."},
		{fmt.Sprint(exitcode.Interrupted), "Interrupted; the record is complete up to then."},
		{fmt.Sprint(exitcode.Unreachable), "No target could be reached, or it refused the credentials."},
	}
}

// variables returns the environment variables that brunt's own commands read; docs/environment.md has more.
func variables() []meaning {
	return []meaning{
		{password.Variable, "Password of the target, if no flag gives one."},
		{"PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE",
			"Of protocol pg: what neither the flags nor the plan say."},
		{"BRUNT_RESULTS, BRUNT_BUNDLE, BRUNT_SEED, BRUNT_EXPORT, BRUNT_METRICS_ADDR",
			"With k6: --results, --bundle, --seed, --export and --metrics-addr of the other commands."},
		{"INFLUX_USERNAME, INFLUX_PASSWORD, INFLUX_TOKEN", "Credentials for --export influx=URL."},
		{"BRUNT_PROMETHEUS_TOKEN", "Token for --export prometheus=URL."},
		{"OTEL_EXPORTER_OTLP_HEADERS", "Headers for --export otlp=URL."},
		{"HTTP_PROXY, HTTPS_PROXY, NO_PROXY", "Proxies of HTTP loads, in capitals or small letters."},
		{"NO_COLOR, TERM, COLUMNS", "How reports look on a terminal."},
		{"GOGC", "How often garbage is collected, in place of the program's own choice."},
	}
}

// completePages adds the sections that hold for all commands to every manual page, in their usual place.
func completePages(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		return err
	}
	sections := manualSection("EXIT STATUS", exitMeanings()) + manualSection("ENVIRONMENT", variables())
	for _, path := range paths {
		page, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		const after = "\n.SH SEE ALSO\n"
		before, rest, found := bytes.Cut(page, []byte(after))
		text := strings.TrimRight(string(before), "\n") + "\n" + sections
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
func manualSection(title string, list []meaning) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".SH %s\n", title)
	for _, m := range list {
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fP\n%s\n", m.word, strings.ReplaceAll(m.means, "-", `\-`))
	}
	return b.String()
}
