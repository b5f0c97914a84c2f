package message

import (
	"embed"
	"fmt"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"

	"brunt/internal/lazyregexp"
	"brunt/internal/units"
)

// files are the catalogues, one per language.
//
//go:embed en.yaml ru.yaml
var files embed.FS

// file is the content of a catalogue. A text refers to an argument by ${name}, or by ${name:noun} to an argument
// followed by a noun that agrees with its number. A noun has a text for each plural form of the language (one, few,
// many, other), in which # is the number.
type file struct {
	Nouns    map[string]map[string]string `yaml:"nouns"`
	Messages map[string]string            `yaml:"messages"`
	Labels   map[string]string            `yaml:"labels"`   // by the English text; see Label
	Failures map[string]string            `yaml:"failures"` // by the English text; see Failure
	Counted  map[string]map[string]string `yaml:"counted"`  // by the English plural and the form; see Plural
}

// texts are the compiled texts of a language.
type texts struct {
	printer  *message.Printer
	args     map[string][]string // of each message, in the order of their positions
	labels   map[string]string
	failures map[string]string
	counted  map[string]map[string]string
}

// languages maps languages to functions that load their catalogues once.
var languages = map[units.Language]func() *texts{
	units.English: sync.OnceValue(func() *texts { return mustLoad(units.English) }),
	units.Russian: sync.OnceValue(func() *texts { return mustLoad(units.Russian) }),
}

// of returns the catalogue of a language. The zero value, and unknown languages, mean English.
func of(l units.Language) *texts {
	if load := languages[l]; load != nil {
		return load()
	}
	return languages[units.English]()
}

// mustLoad loads a catalogue. It panics on errors, which are bugs of the program.
func mustLoad(l units.Language) *texts {
	f, err := readFile(l)
	if err == nil {
		var t *texts
		if t, err = compile(l, f); err == nil {
			return t
		}
	}
	panic(fmt.Sprintf("the catalogue of %s: %v", l, err))
}

func readFile(l units.Language) (*file, error) {
	data, err := files.ReadFile(string(l) + ".yaml")
	if err != nil {
		return nil, err
	}
	f := &file{}
	return f, yaml.Unmarshal(data, f)
}

// placeholder matches an argument in a text, with its noun if it has one.
var placeholder = lazyregexp.New(`\$\{(\w+)(?::([^}]+))?\}`)

// pluralForm is a plural form with its name in the catalogues.
type pluralForm struct {
	name string
	form plural.Form
}

// pluralForms are the plural forms. The last one, other, covers all forms that a noun doesn't list.
var pluralForms = []pluralForm{{"one", plural.One}, {"few", plural.Few}, {"many", plural.Many}, {"other", plural.Other}}

// compile compiles a catalogue. Each argument has two positions: its text, and its number for the choice of plurals.
func compile(l units.Language, f *file) (*texts, error) {
	tag := language.Make(string(l))
	builder := catalog.NewBuilder(catalog.Fallback(tag))
	out := &texts{args: map[string][]string{}, printer: message.NewPrinter(tag, message.Catalog(builder)),
		labels: f.Labels, failures: f.Failures, counted: f.Counted}
	for id, text := range f.Messages {
		positions := map[string]int{}
		var variants []catalog.Message
		var fault error
		text = placeholder().ReplaceAllStringFunc(strings.ReplaceAll(text, "%", "%%"), func(found string) string {
			parts := placeholder().FindStringSubmatch(found)
			name, noun := parts[1], parts[2]
			at, ok := positions[name]
			if !ok {
				at = len(positions)
				positions[name] = at
				out.args[id] = append(out.args[id], name)
			}
			figure := fmt.Sprintf("%%[%d]s", 2*at+1)
			if noun == "" {
				return figure
			}
			if f.Nouns[noun] == nil {
				fault = fmt.Errorf("%s: no noun %q", id, noun)
			}
			var cases []any
			for _, form := range pluralForms {
				if s, ok := f.Nouns[noun][form.name]; ok {
					cases = append(cases, form.form, strings.ReplaceAll(strings.ReplaceAll(s, "%", "%%"), "#", figure))
				}
			}
			if len(cases) > 0 {
				cases[len(cases)-2] = plural.Other
			}
			variable := fmt.Sprintf("v%d", len(variants))
			variants = append(variants, catalog.Var(variable, plural.Selectf(2*at+2, "%d", cases...)))
			return "${" + variable + "}"
		})
		if fault == nil {
			fault = builder.Set(tag, id, append(variants, catalog.String(text))...)
		}
		if fault != nil {
			return nil, fault
		}
		if out.args[id] == nil {
			out.args[id] = []string{}
		}
	}
	return out, nil
}

// known reports whether m is empty or consists of arguments only, or the catalogues have its ID.
func known(m Message) bool {
	switch m.ID {
	case "", literal, KindList, KindSentences:
		return true
	}
	_, ok := of(units.English).args[m.ID]
	return ok
}

// In returns the text in a language.
func (m Message) In(l units.Language) string {
	switch m.ID {
	case "":
		return ""
	case literal, KindList, KindSentences:
		return m.Args[0].in(l)
	}
	t := of(l)
	names, ok := t.args[m.ID]
	if !ok {
		return m.ID
	}
	args := make([]any, 0, 2*len(names))
	for _, name := range names {
		text, number := "", uint64(0)
		for i := range m.Args {
			if a := &m.Args[i]; a.Name == name {
				text, number = a.in(l), uint64(min(max(a.Number, 0), 1<<53))
			}
		}
		args = append(args, text, number)
	}
	return t.printer.Sprintf(message.Key(m.ID, m.ID), args...)
}
