package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brunt/internal/dialect/tools"
	"brunt/test/testserver"
)

// tags returns the build tags that leave out tools, each with the file that has it.
func tags(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if tag := regexp.MustCompile(`(?m)^//go:build !(\w+)$`).FindSubmatch(text); tag != nil {
			all[string(tag[1])] = file
		}
	}
	return all
}

func goTool(t *testing.T, args ...string) {
	t.Helper()
	testserver.SkipQuick(t)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath") // as make build, whose cache it shares
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// All tools have a tag, with which their list compiles; k6 has it in its own folder, since what reads its results
// remains. No other package imports a tool, so that no other one depends on tags.
func TestEachToolHasATag(t *testing.T) {
	all := tags(t)
	if len(all) != len(tools.All())-1 {
		t.Errorf("%d tags for %d tools: %v", len(all), len(tools.All()), all)
	}
	for tag := range all {
		t.Run(tag, func(t *testing.T) {
			t.Parallel()
			goTool(t, "build", "-tags", tag, "brunt/internal/dialect/tools")
		})
	}
}

// What the binary says that it is follows from the tools that it has.
func TestBinaryWithoutTools(t *testing.T) {
	t.Parallel()
	all := []string{"nok6"}
	for tag := range tags(t) {
		all = append(all, tag)
	}
	brunt := filepath.Join(t.TempDir(), "brunt")
	goTool(t, "build", "-tags", strings.Join(all, ","), "-o", brunt, "brunt/cmd/brunt")
	for _, c := range []struct{ args, has, lacks string }{
		{"version", `(?m)^dialects  plan$`, "ycsb"},
		{"version", `(?m)^k6 +none: built with the tag nok6$`, ""},
		{"--help", `(?m)^  rate `, `(?m)^  (ycsb|cook) `},
		{"help run", "--output", "picostress"},
		{"run --help-all", "--output", "picostress|summary-dir"},
		{"slow_cooker http://127.0.0.1:1/", `unknown command "slow_cooker" for "brunt"; see`, "brunt as"},
		{"ycsb", `unknown command "ycsb" for "brunt"`, ""},
		{"cook http://127.0.0.1:1/", `unknown command "cook" for "brunt"`, ""},
		{"run plan.yml --output picostress", "--output picostress: use text, brief, json, csv, md, junit", ""},
		{"as go-ycsb", `brunt replaces no "go-ycsb"; write one of: k6`, ""},
		{"compare testdata/ycsb.txt testdata/ycsb.txt", "not a result", "pgbench|YCSB"},
	} {
		t.Run(c.args, func(t *testing.T) {
			out, _ := exec.Command(brunt, strings.Fields(c.args)...).CombinedOutput()
			if !regexp.MustCompile(c.has).Match(out) {
				t.Errorf("it doesn't say %q:\n%s", c.has, out)
			}
			if c.lacks != "" && regexp.MustCompile(c.lacks).Match(out) {
				t.Errorf("it says %q:\n%s", c.lacks, out)
			}
		})
	}
}
