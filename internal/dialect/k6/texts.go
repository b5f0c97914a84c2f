//go:build !nok6

package k6x

import (
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/base/secret"
	k6output "brunt/internal/dialect/k6/output"
)

// renamer replaces the program's name in k6's help and version. k6 uses the name of the program's file there.
type renamer struct {
	to   io.Writer
	file *regexp.Regexp
	name string
}

// newRenamer returns a writer that replaces file by name at the beginning of a command line or sentence.
func newRenamer(to io.Writer, file, name string) *renamer {
	return &renamer{to: to, file: regexp.MustCompile(`(^|\$ |  |")` + regexp.QuoteMeta(file) + ` `), name: name}
}

// Lines in the output of k6 version that name an extension by its package or function.
var (
	ownProbe = lazyregexp.New(`(?m)^ +brunt/internal/dialect/k6\S* *, (?:` + probeName + ` \[subcommand\]|` +
		k6output.TagsName + ` \[output\])\n`)
	ownExtension = lazyregexp.New(`(?m)^( +)brunt/internal/dialect/k6\S* *, `)
)

// Write implements io.Writer.
func (r *renamer) Write(p []byte) (int, error) {
	text := r.file.ReplaceAll(p, []byte("${1}"+r.name+" "))
	text = ownExtension().ReplaceAll(ownProbe().ReplaceAll(text, nil), []byte("$1"))
	if _, err := r.to.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// redactor hides secrets in URLs of k6's own warnings and errors. What a script prints stays as it is.
type redactor struct{}

// Levels implements logrus.Hook.
func (redactor) Levels() []logrus.Level { return []logrus.Level{logrus.ErrorLevel, logrus.WarnLevel} }

// Fire implements logrus.Hook.
func (redactor) Fire(e *logrus.Entry) error {
	if e.Data["source"] == "console" {
		return nil
	}
	e.Message = shown(e.Message)
	for key, value := range e.Data {
		switch v := value.(type) {
		case string:
			e.Data[key] = shown(v)
		case error:
			if text := v.Error(); shown(text) != text {
				e.Data[key] = errors.New(shown(text))
			}
		}
	}
	return nil
}

// wrongPort matches what net/url says of a URL whose password ends at an unescaped /, ? or #: it is no port.
var wrongPort = lazyregexp.New(`(://[^/?#\s@:"]*:)[^\s"\\]*(\\*": invalid port \\*":)[^"\\]*`)

// shown returns a text of k6 without secrets.
func shown(text string) string {
	return secret.Text(wrongPort().ReplaceAllString(text, "${1}"+secret.Hidden+"${2}"+secret.Hidden))
}

// hints adds information about this binary to k6's messages.
type hints struct {
	name  string // name that k6 uses for itself
	known []string
	threw func() // called for each iteration that throws
}

var (
	unknownCommand = lazyregexp.New(`^unknown command "([^"]*)" for "[^"]*"`)
	noScript       = lazyregexp.New(`'[^']*\.ya?ml': could not load JS test`)
)

// Levels implements logrus.Hook.
func (h *hints) Levels() []logrus.Level { return []logrus.Level{logrus.ErrorLevel} }

// Fire implements logrus.Hook.
func (h *hints) Fire(e *logrus.Entry) error {
	switch {
	case e.Data["source"] == "stacktrace" && e.Data["executor"] != nil:
		h.threw()
	case strings.Contains(e.Message, "unknown module"):
		e.Message += "; this binary has " + strings.Join(h.known, ", ") + ", and downloads nothing"
	case unknownCommand().MatchString(e.Message):
		m := unknownCommand().FindStringSubmatch(e.Message)
		e.Message = strings.Replace(e.Message, m[0], fmt.Sprintf("unknown command %q for %q", m[1], h.name), 1) +
			h.instead(m[1])
	case noScript().MatchString(e.Message):
		e.Message += "; it is no script: if it is a plan, run it by brunt run, or by the executor brunt-native of a script"
	case strings.Contains(e.Message, `no metric name "brunt_`):
		e.Message += `; import one of brunt's modules, such as "k6/x/brunt", to have its metrics`
	}
	return nil
}

// instead returns how to run a file that was given in place of a command.
func (h *hints) instead(file string) string {
	switch path.Ext(file) {
	case ".js", ".ts", ".tar":
		return fmt.Sprintf("; run a script by %s run %s", h.name, file)
	case ".yml", ".yaml":
		return fmt.Sprintf("; run a plan by brunt run %s, or by the executor brunt-native of a script", file)
	}
	return ""
}

// known returns the extension modules that scripts can import.
func (r *run) known() (names []string) {
	for name := range moduleTable(r.session) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
