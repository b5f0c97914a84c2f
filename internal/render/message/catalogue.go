package message

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/render/units"
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

// texts are the texts of a language. A message is compiled when it is first used. Safe for use by several goroutines.
type texts struct {
	*file
	tag     language.Tag
	builder *catalog.Builder
	printer *message.Printer

	mu   sync.Mutex
	args map[string][]string // of each compiled message, in the order of their positions
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
	data, err := files.ReadFile(string(l) + ".yaml")
	t := &texts{file: &file{}, tag: language.Make(string(l)), args: map[string][]string{}}
	if err == nil {
		err = yaml.Unmarshal(data, t.file)
	}
	if err != nil {
		panic(fmt.Sprintf("the catalogue of %s: %v", l, err))
	}
	t.builder = catalog.NewBuilder(catalog.Fallback(t.tag))
	t.printer = message.NewPrinter(t.tag, message.Catalog(t.builder))
	return t
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

// names returns the names of a message's arguments, in the order of their positions. ok is false if the catalogue
// doesn't have the message.
func (t *texts) names(id string) (names []string, ok bool) {
	text, ok := t.Messages[id]
	if !ok {
		return nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if names, ok = t.args[id]; !ok {
		var err error
		if names, err = t.compile(id, text); err != nil {
			panic(fmt.Sprintf("the catalogue of %s: %v", t.tag, err))
		}
		t.args[id] = names
	}
	return names, true
}

// compile compiles a message. Each argument has two positions: its text, and its number for the choice of plurals.
func (t *texts) compile(id, text string) (names []string, err error) {
	var variants []catalog.Message
	text = placeholder().ReplaceAllStringFunc(strings.ReplaceAll(text, "%", "%%"), func(found string) string {
		parts := placeholder().FindStringSubmatch(found)
		name, noun := parts[1], parts[2]
		at := slices.Index(names, name)
		if at < 0 {
			at = len(names)
			names = append(names, name)
		}
		figure := fmt.Sprintf("%%[%d]s", 2*at+1)
		if noun == "" {
			return figure
		}
		if t.Nouns[noun] == nil {
			err = fmt.Errorf("%s: no noun %q", id, noun)
		}
		var cases []any
		for _, form := range pluralForms {
			if s, ok := t.Nouns[noun][form.name]; ok {
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
	if err == nil {
		err = t.builder.Set(t.tag, id, append(variants, catalog.String(text))...)
	}
	return names, err
}

// known reports whether m is empty or consists of arguments only, or the catalogues have its ID.
func known(m Message) bool {
	switch m.ID {
	case "", literal, KindList, KindSentences:
		return true
	}
	return of(units.English).Messages[m.ID] != ""
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
	names, ok := t.names(m.ID)
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
