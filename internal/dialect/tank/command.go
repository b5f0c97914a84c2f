// Package tank is Yandex Tank (github.com/yandex/yandex-tank, 2.0.11): its load.yaml with phantom, Pandora or BFG as
// the generator, its lists of requests and schedules, autostop, and the phout.
package tank

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/httpload"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/result"
	"brunt/internal/plan/script"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

//go:embed help/*.txt
var helpFiles embed.FS

// Tool declares Yandex Tank.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: "yandex-tank", Formats: []string{"yandex-tank"}, Programs: []string{"yandex-tank"},
		Commands: []dialect.Command{{Name: "tank", New: newCommand}},
		Results:  []result.Format{Results()}, Languages: []script.Language{Language{}},
		Advice: func(word string) string {
			if word == "load.yaml" {
				return "brunt tank -c load.yaml"
			}
			return ""
		},
		File: func(name string, text []byte) []string {
			if !generatorKey().Match(text) {
				return nil
			}
			return []string{"tank", "-c", name}
		},
		Instead: func(_ string, text []byte) string { return instead(text) },
	}
}

// instead says what a file of requests needs; "" if it isn't one.
func instead(text []byte) string {
	const needs = ", which a load.yaml names beside a target and a schedule; write brunt tank -c load.yaml, or " +
		"brunt convert load.yaml for its plan"
	switch {
	case isScenarios(text):
		return "a file of Pandora's scenarios" + needs
	case isList(text):
		return "a list of requests of Yandex Tank" + needs
	}
	return ""
}

// isScenarios reports whether text holds Pandora's scenarios, in YAML, JSON or HCL.
func isScenarios(text []byte) bool {
	if hclScenario().Match(text) && hclRequest().Match(text) {
		return true
	}
	n, err := parseYAML(text)
	if err != nil || n.Kind != yaml.MappingNode {
		return false
	}
	lists := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		lists[n.Content[i].Value] = resolve(n.Content[i+1]).Kind == yaml.SequenceNode
	}
	return lists["scenarios"] && (lists["requests"] || lists["calls"])
}

var (
	hclScenario = lazyregexp.New(`(?m)^\s*scenario\s+"[^"]*"\s*\{`)
	hclRequest  = lazyregexp.New(`(?m)^\s*(request|call)\s+"[^"]*"\s*\{`)
)

// isList reports whether text begins as a list of requests in one of Tank's formats. Other formats of requests begin
// with a method, or are JSON with other keys.
func isList(text []byte) bool { return listForm().Match(text) }

// listForm has an alternative for each format: uri, with fields in brackets; uripost; phantom and raw; grpc/json and
// http/json.
var listForm = lazyregexp.New(`^(\s*\[[\w-]+:[^\]\n]*\][ \t]*\r?\n)*(\s*/\S*([ \t]\S+)?[ \t]*(\r?\n|$)` +
	`|\s*\d+ /\S*([ \t]\S+)?[ \t]*\r?\n|\s*\d+([ \t]\S+)?[ \t]*\r?\n[A-Z]+ \S+ HTTP/` +
	`|\s*\{[^\n]*"(call|uri)"\s*:)`)

// generatorKey matches a line that configurations have, and plans haven't.
var generatorKey = lazyregexp.New(`(?m)^(phantom|pandora|bfg|yandextank):`)

func newCommand(s *command.Env) *cobra.Command {
	texts := command.Texts{Files: helpFiles, Folder: "help"}
	cmd := texts.New("tank", nil, func(_ *cobra.Command, args []string) error { return execute(s, args) })
	cmd.DisableFlagParsing = true
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { usage(cmd.OutOrStdout()) })
	return command.HasPlan(cmd)
}

// exitFailed is Tank's exit code for a test that can't be carried out.
const exitFailed = 1

func usage(w io.Writer) {
	_, _ = io.WriteString(w, `Usage: yandex-tank [options] [ammofile]

Options:
  -c, --config FILE      configuration in YAML (load.yaml); several are merged
  -o, --option SECTION.KEY=VALUE
                         an option of the configuration, such as phantom.address=host:80
  -p, --patch-cfg YAML   a piece of configuration
  -m, --manual-start     wait for Enter before the load
  -q, --quiet            no line for each second
      --version          print the version
  -n, --no-rc, -f, --fail-lock, -i, --ignore-lock, -k, --lock-dir DIR,
  -l, --log FILE, --error_log FILE, -s, --scheduled-start TIME, -v, --verbose
                         accepted

`+httpload.OwnHelp())
}

// execute executes a command line.
func execute(s *command.Env, args []string) error {
	replacing := s.Program != ""
	own, args, err := httpload.TakeOwn(args)
	if err != nil {
		return httpload.Refused(err, replacing, exitFailed)
	}
	o, err := Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		usage(s.Out)
		return nil
	case err != nil:
		return httpload.Refused(err, replacing, exitFailed)
	case o.Version:
		fmt.Fprintf(s.Out, "YandexTank/2.0.11 [brunt %s]\n", s.Version)
		return nil
	}
	c, err := Load(o)
	if err != nil {
		return httpload.Refused(err, replacing, exitFailed)
	}
	workers := own.Workers.Workers.Number > 0
	p, err := c.Plan()
	if err == nil {
		err = own.Apply(p)
	}
	if err == nil && workers {
		err = c.spread(o.Manual)
	}
	if err != nil {
		return httpload.Refused(err, replacing, exitFailed)
	}
	s.Flags = map[string]string{"threshold": "--threshold"}
	e := &execution{config: c, o: o, stdin: s.In, replacing: replacing, quiet: own.Quiet || o.Quiet,
		began: time.Now(), version: s.Version}
	if workers {
		e.afar = &afar{}
	}
	for _, note := range append(o.Notes, c.notes...) {
		if !s.PlanOnly {
			fmt.Fprintf(s.Err, "brunt: %s\n", note)
		}
	}
	l := &loadtest.Test{
		Plan: p, Process: s.Process(), Workers: own.Workers.Workers,
		Options: runner.Options{NoSetup: true, StartDown: true,
			Recording: runner.Recording{Extra: map[string]string{"dialect": "yandex-tank"}}},
		Record: own.Record, Live: own.Live, Quiet: e.quiet || replacing, Hooks: e.hooks,
		Beyond: c.beyond(o),
	}
	err = l.Perform(s.Out, s.Err)
	if code, ok := errors.AsType[*exitcode.Error](err); ok && replacing && code.Err != nil {
		return exitcode.With(exitFailed, code.Err)
	}
	return err
}

// beyond says what no plan describes.
func (c *Config) beyond(o *Options) []string {
	all := []string{"the folder of artifacts with " + c.phout + ", and Tank's report: brunt run prints its own"}
	for _, rule := range c.autostop {
		all = append(all, "autostop "+rule.kind()+": thresholds of plans are other rules")
	}
	if o.Manual {
		all = append(all, "--manual-start: brunt run begins at once")
	}
	return slices.Concat(all, o.Notes, c.notes)
}
