package planfile

import (
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan/planfile/form"
	"brunt/internal/protocol"
)

// rpcMapping returns the form of a gRPC call.
func rpcMapping() *form.Mapping {
	message := func(*form.Definitions) form.Schema { return form.Schema{"type": []string{"object", "string"}} }
	m := form.NewMapping("grpc", "grpc",
		form.Required("method", "Method", form.Name(), "package.Service/Method"),
		form.Key("message", "", form.Custom[protocol.RPC]{In: messageIn, Out: messageNode, As: message},
			"the message, as fields or as a text in JSON; empty"),
		form.Key("messages", "", form.Custom[protocol.RPC]{In: messagesIn, Out: messagesNode,
			As: func(d *form.Definitions) form.Schema { return form.Schema{"type": "array", "items": message(d)} }},
			"the messages of a stream, in order"),
		form.Key("metadata", "Metadata", form.Custom[[][2]string]{In: headersIn, Out: headersNode,
			As: func(*form.Definitions) form.Schema {
				plain := []string{"string", "number", "boolean"}
				return form.Schema{"type": "object", "additionalProperties": form.Schema{"anyOf": []any{
					form.Schema{"type": plain}, form.Schema{"type": "array", "items": form.Schema{"type": "string"}},
				}}}
			}}, "in order; a list sends one name several times"),
		form.Key("deadline", "Deadline", form.Span{Above: true}, "that the server is told; none"),
		form.Key("receive", "Receive", form.Whole(1, 1_000_000_000),
			"end the call after so many messages; the server ends it"),
		form.Key("send", "Send", form.Whole(1, 1_000_000_000), "how many messages are sent, the list over and over; each once"),
		form.Key("interval", "Interval", form.Span{Above: true}, "between messages; they are sent at once"),
		form.Key("duration", "Duration", form.Span{Above: true},
			"after which no further message is sent; a call whose method takes one message ends then; none"),
	)
	m.After = func(r *form.Reader, o *form.Object, _ any) {
		if o.Has("message") && o.Has("messages") {
			r.ProblemAt(o.Get("messages"), "keep one", "grpc has both message and messages")
		}
	}
	return m
}

// rpcIn reads a gRPC call: a method, or a mapping.
func rpcIn(r *form.Reader, m *form.Mapping, n *yaml.Node, key string, q *protocol.Request) {
	q.RPC = &protocol.RPC{}
	if n.Kind == yaml.ScalarNode {
		q.RPC.Method = r.TextOf(n, key)
		return
	}
	m.Read(r, key, n, form.ValueOf(q.RPC))
}

func rpcNode(m *form.Mapping, q *protocol.Request) *yaml.Node {
	if q.RPC == nil {
		return pairs()
	}
	return m.Write(form.ValueOf(q.RPC))
}

func messageIn(r *form.Reader, key string, n *yaml.Node, c *protocol.RPC) {
	c.Messages = append(c.Messages, jsonOf(r, key, n))
}

func messagesIn(r *form.Reader, key string, n *yaml.Node, c *protocol.RPC) {
	if n.Kind != yaml.SequenceNode {
		r.ProblemAt(n, "write a list", "%s is %s instead of a list", key, form.KindName(n))
		return
	}
	for _, e := range n.Content {
		messageIn(r, "a message", form.Resolve(e), c)
	}
}

// jsonOf returns a message as JSON: a text is JSON already.
func jsonOf(r *form.Reader, key string, n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		text := r.TextOf(n, key)
		if form.TagIs(n, "!!str") && !json.Valid([]byte(text)) {
			r.ProblemAt(n, "write fields, or a text in JSON", "%s isn't JSON", key)
		}
		return text
	}
	var b strings.Builder
	if !appendJSON(&b, n, 0) {
		r.ProblemAt(n, "write plain fields", "%s can't be written as JSON", key)
	}
	return b.String()
}

// deepestMessage bounds the depth of messages.
const deepestMessage = 100

// appendJSON writes a node as JSON. ok is false for what JSON doesn't have.
func appendJSON(b *strings.Builder, n *yaml.Node, depth int) (ok bool) {
	if depth > deepestMessage {
		return false
	}
	n = form.Resolve(n)
	quoted := func(text string) {
		q, _ := json.Marshal(text)
		b.Write(q)
	}
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			quoted(form.Resolve(n.Content[i]).Value)
			b.WriteByte(':')
			if !appendJSON(b, n.Content[i+1], depth+1) {
				return false
			}
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, e := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if !appendJSON(b, e, depth+1) {
				return false
			}
		}
		b.WriteByte(']')
	case yaml.ScalarNode:
		switch {
		case form.TagIs(n, "!!null"):
			b.WriteString("null")
		case form.TagIs(n, "!!int", "!!float", "!!bool") && json.Valid([]byte(n.Value)):
			b.WriteString(n.Value)
		default:
			quoted(n.Value)
		}
	default:
		return false
	}
	return true
}

// messageOf returns the node of a message: its fields, or its text if it isn't an object.
func messageOf(text string) *yaml.Node {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil || len(n.Content) != 1 ||
		n.Content[0].Kind != yaml.MappingNode || !json.Valid([]byte(text)) {
		return form.Text(text)
	}
	return n.Content[0]
}

func messageNode(c *protocol.RPC) *yaml.Node {
	if len(c.Messages) != 1 {
		return nil
	}
	return markedParts(messageOf(c.Messages[0]), messagePart, c.Messages[0])
}

func messagesNode(c *protocol.RPC) *yaml.Node {
	if len(c.Messages) < 2 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, m := range c.Messages {
		n.Content = append(n.Content, markedParts(messageOf(m), messagePart, m))
	}
	return n
}
