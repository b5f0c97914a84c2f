package script

import (
	"fmt"
	"strconv"
	"strings"

	"brunt/internal/base/secret"
)

// secretOption begins the names of options that hold secrets of scripts. Plans are written without their values.
const secretOption = "secret."

// moreSecrets is the option that holds the secrets, a line each, beyond the first mostNamed.
const (
	moreSecrets = secretOption + "more"
	mostNamed   = 100
)

// Veil moves secrets out of the scripts of a plan: each is replaced by a mark, and becomes an option. A plan is written
// without the values of such options, as without those of other secrets. A Language puts them back with Unveil.
type Veil struct {
	options map[string]string
	marks   map[string]string // by secret
	used    map[string]int    // the highest number that was given to an option of a name
	more    []string
}

// NewVeil returns a Veil that adds options to those of a plan's scripts.
func NewVeil(options map[string]string) *Veil {
	return &Veil{options: options, marks: map[string]string{}, used: map[string]int{}}
}

// Secret returns the mark of a secret, which is the value of something with this name and has no line breaks.
func (v *Veil) Secret(name, value string) string {
	if mark, ok := v.marks[value]; ok {
		return mark
	}
	option := ""
	if len(v.marks) < mostNamed {
		option = v.name(name)
		v.options[option] = value
	} else {
		option = moreSecrets + strconv.Itoa(len(v.more))
		v.more = append(v.more, value)
	}
	mark := "{{" + option + "}}"
	v.marks[value] = mark
	return mark
}

// name returns an option's name that isn't used yet.
func (v *Veil) name(of string) string {
	option := secretOption + strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, strings.ToLower(of))
	for {
		name := option
		if v.used[option]++; v.used[option] > 1 {
			name = fmt.Sprint(option, "_", v.used[option])
		}
		if _, taken := v.options[name]; !taken { // the second token, and the first token_2
			return name
		}
	}
}

// Text returns a text with marks instead of the secrets that are found in it.
func (v *Veil) Text(text string) string {
	var b strings.Builder
	at := 0
	for _, f := range secret.Find(text) {
		b.WriteString(text[at:f.From])
		b.WriteString(v.Secret(f.Name, text[f.From:f.To]))
		at = f.To
	}
	b.WriteString(text[at:])
	return b.String()
}

// Value returns the value of something with this name, with marks instead of secrets.
func (v *Veil) Value(name, value string) string {
	if value != "" && secret.Name(name) && !strings.ContainsAny(value, "\n") && !strings.Contains(value, "{{") {
		return v.Secret(name, value)
	}
	return v.Text(value)
}

// Close sets the option with the secrets that have none of their own.
func (v *Veil) Close() {
	if len(v.more) > 0 {
		v.options[moreSecrets] = strings.Join(v.more, "\n")
	}
}

// Unveil returns a function that replaces the marks of a Veil in a text by the secrets.
func (s *Source) Unveil() func(text string) string {
	more := strings.Split(s.Options[moreSecrets], "\n")
	return func(text string) string {
		var b strings.Builder
		for {
			before, rest, found := strings.Cut(text, "{{"+secretOption)
			name, after, closed := strings.Cut(rest, "}}")
			if !found || !closed {
				break
			}
			value, known := s.Options[secretOption+name]
			if k, ok := strings.CutPrefix(secretOption+name, moreSecrets); ok && !known {
				if n, err := strconv.Atoi(k); err == nil && n >= 0 && n < len(more) {
					value, known = more[n], true
				}
			}
			b.WriteString(before)
			if text = after; !known {
				b.WriteString("{{" + secretOption)
				text, value = rest, ""
			}
			b.WriteString(value)
		}
		if b.Len() == 0 {
			return text
		}
		b.WriteString(text)
		return b.String()
	}
}
