//go:build !nok6

package k6x

import (
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"
)

// renamer writes k6's help and version, in which k6 calls itself by the name of the program's file.
type renamer struct {
	to   io.Writer
	file *regexp.Regexp
	name string
}

// newRenamer returns a writer that puts name where a command line or a sentence of k6 begins with file.
func newRenamer(to io.Writer, file, name string) *renamer {
	return &renamer{to: to, file: regexp.MustCompile(`(^|\$ |  |")` + regexp.QuoteMeta(file) + ` `), name: name}
}

// Write implements io.Writer.
func (r *renamer) Write(p []byte) (int, error) {
	if _, err := r.to.Write(r.file.ReplaceAll(p, []byte("${1}"+r.name+" "))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// hints adds to k6's messages what is different here.
type hints struct{ known []string }

// Levels implements logrus.Hook.
func (h *hints) Levels() []logrus.Level { return []logrus.Level{logrus.ErrorLevel} }

// Fire implements logrus.Hook.
func (h *hints) Fire(e *logrus.Entry) error {
	switch {
	case strings.Contains(e.Message, "unknown module"):
		e.Message += "; this binary has " + strings.Join(h.known, ", ") + ", and downloads nothing"
	case strings.Contains(e.Message, `no metric name "brunt_`):
		e.Message += `; import one of brunt's modules, such as "k6/x/brunt", to have its metrics`
	}
	return nil
}

// known are the extension modules that scripts can import.
func (r *run) known() (names []string) {
	for name := range moduleTable(r.session) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
