package planfile

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/secret"
	"brunt/internal/plan/planfile/form"
)

// inspectSecret is the name of the credentials of servers to inspect.
const inspectSecret = "inspect"

// inspectForm returns the form of Plan.Inspect: a word, or a list of words.
func inspectForm() form.Form {
	return form.Custom[[]string]{
		In: func(r *form.Reader, key string, n *yaml.Node, to *[]string) {
			addressesIn(r, key, n, to)
			for _, text := range *to {
				if text != "auto" && !strings.Contains(text, "=") {
					r.ProblemAt(n, "write auto, or the kind of a server, = and how to connect, such as redis=redis://host:6379",
						"%s: %s names no server", key, secret.Text(text))
				}
			}
		},
		Out: func(all *[]string) *yaml.Node {
			out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
			out.Content = textNodes(*all, inspectSecret)
			switch len(out.Content) {
			case 0:
				return nil
			case 1:
				return out.Content[0]
			}
			return out
		},
		As: form.AnyOf(form.Name(), form.List{Of: form.Words{}, Full: true}),
	}
}
