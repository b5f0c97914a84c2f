package planfile

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/secret"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile/form"
)

// Texts of which parts are secret, as URLs with passwords are. The secrets of a list of such texts are numbered: the
// first has the list's name, the second that name and 2, and so on.

// numbered returns the name of a secret in a list, which is counted from 0.
func numbered(name string, k int) string {
	if k == 0 {
		return name
	}
	return fmt.Sprint(name, " ", k+1)
}

// hiddenParts returns the parts of a text that secret.Text hides, in order.
func hiddenParts(text string) (parts []string) {
	kept := strings.Split(secret.Text(text), secret.Hidden)
	rest := text[len(kept[0]):]
	for i, piece := range kept[1:] {
		end := len(rest) - len(piece)
		if i < len(kept)-2 {
			end = strings.Index(rest, piece)
		}
		parts, rest = append(parts, rest[:end]), rest[end+len(piece):]
	}
	return parts
}

// textNodes writes texts without their secrets.
func textNodes(texts []string, name string) (nodes []*yaml.Node) {
	k := 0
	for _, text := range texts {
		var names []string
		for range hiddenParts(text) {
			names = append(names, numbered(name, k))
			k++
		}
		nodes = append(nodes, marked(form.Text(secret.Text(text)), names...))
	}
	return nodes
}

// texts restores the secrets of texts.
func (s *unhider) texts(texts []string, name string, at plan.Position) {
	k := 0
	for i, text := range texts {
		kept := strings.Split(text, secret.Hidden)
		var b strings.Builder
		for j, piece := range kept {
			if j > 0 {
				b.WriteString(s.value(secret.Hidden, numbered(name, k), at))
				k++
			}
			b.WriteString(piece)
		}
		texts[i] = b.String()
	}
}

// texts adds the secrets of texts.
func (g *gatherer) texts(texts []string, name string) {
	k := 0
	for _, text := range texts {
		for _, part := range hiddenParts(text) {
			g.add(numbered(name, k), part)
			k++
		}
	}
}
