// Package message has texts as values: which text, and the figures and names that fill it. A text is made where
// it is printed, in the reader's language, from the catalogue of that language: a file of this package.
package message

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"brunt/internal/units"
)

// Message is a text that hasn't been made yet. The zero value is no text.
type Message struct {
	ID   string // of the catalogues, or literal
	Args []Arg
}

// Arg fills a placeholder of a message. Its kind says what it is, and so how it is written.
type Arg struct {
	Name     string
	Kind     string    // one of the Kind constants, or a unit that units.Value knows
	Number   float64   // of figures
	Text     string    // of KindText
	Messages []Message // of KindMessage (one), KindList and KindSentences
}

// The kinds of arguments that are no plain figures.
const (
	KindSpan      = "span_ns"   // a length of time as people say it: 1 m 30 s
	KindNumber    = "number"    // a number with three significant digits
	KindSigned    = "signed"    // the same with its sign
	KindText      = "text"      // from elsewhere: a name, what a server said
	KindMessage   = "message"   // another message
	KindList      = "list"      // messages with commas between them
	KindSentences = "sentences" // messages with semicolons between them
)

// literal is the id of a text that is the same in every language.
const literal = "literal"

// New returns the message of an id. Its arguments must be those of the catalogues.
func New(id string, args ...Arg) Message { return Message{id, args} }

// Literal returns the message of a text that is the same in every language, the zero one of no text.
func Literal(text string) Message {
	if text == "" {
		return Message{}
	}
	return Message{literal, []Arg{Text("text", text)}}
}

// Sentences returns messages as one, with semicolons between them. Those without a text are left out.
func Sentences(messages ...Message) Message { return joined(KindSentences, messages) }

// List returns messages as one, with commas between them. Those without a text are left out.
func List(messages ...Message) Message { return joined(KindList, messages) }

func joined(kind string, messages []Message) Message {
	messages = slices.DeleteFunc(slices.Clone(messages), Message.IsZero)
	switch len(messages) {
	case 0:
		return Message{}
	case 1:
		return messages[0]
	}
	return Message{kind, []Arg{{Name: "of", Kind: kind, Messages: messages}}}
}

// Count is a number of things.
func Count[N int | int64 | uint64](name string, n N) Arg {
	return Arg{Name: name, Kind: "count", Number: float64(n)}
}

// Number is a number with three significant digits.
func Number(name string, x float64) Arg { return Arg{Name: name, Kind: KindNumber, Number: x} }

// Signed is a number with its sign.
func Signed(name string, x float64) Arg { return Arg{Name: name, Kind: KindSigned, Number: x} }

// Ns is a time in nanoseconds, of which the greatest whole number stands for one without end.
func Ns[N ~int | ~int64 | ~float64](name string, ns N) Arg {
	x := float64(ns)
	if x >= math.MaxInt64 {
		x = math.Inf(1)
	}
	return Arg{Name: name, Kind: "ns", Number: x}
}

// Span is a length of time as people say it.
func Span(name string, d time.Duration) Arg {
	return Arg{Name: name, Kind: KindSpan, Number: float64(d)}
}

// Rate is a number a second.
func Rate(name string, perS float64) Arg { return Arg{Name: name, Kind: "per_s", Number: perS} }

// Share is a part of a whole, 0 to 1. Outside of that it is a fault of who asks: see Faults.
func Share(name string, share float64) Arg { return Arg{Name: name, Kind: "share", Number: share} }

// Part is the share that a part has of a whole; 0 if that is nothing.
func Part[N int | int64 | uint64 | float64](name string, part, whole N) Arg {
	if whole == 0 {
		return Share(name, 0)
	}
	return Share(name, float64(part)/float64(whole))
}

// Change is a change as a share, with its sign.
func Change(name string, share float64) Arg { return Arg{Name: name, Kind: "change", Number: share} }

// Bytes is a size.
func Bytes[N int | int64 | uint64 | float64](name string, n N) Arg {
	return Arg{Name: name, Kind: "bytes", Number: float64(n)}
}

// Figure is a figure in a unit that units.Value knows.
func Figure(name string, x float64, unit string) Arg {
	return Arg{Name: name, Kind: unit, Number: x}
}

// Text is a text that is the same in every language.
func Text(name, text string) Arg { return Arg{Name: name, Kind: KindText, Text: text} }

// Nested is another message, or the zero one for nothing.
func Nested(name string, m Message) Arg {
	return Arg{Name: name, Kind: KindMessage, Messages: []Message{m}}
}

// IsZero reports whether there is no text.
func (m Message) IsZero() bool { return m.ID == "" }

// Equal reports whether two messages say the same.
func (m Message) Equal(o Message) bool { return m.ID == o.ID && m.String() == o.String() }

// String is the text in English.
func (m Message) String() string { return m.In(units.English) }

// Strings are the texts of messages in a language.
func Strings(l units.Language, messages []Message) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = m.In(l)
	}
	return out
}

// in writes an argument in a language.
func (a *Arg) in(l units.Language) string {
	switch a.Kind {
	case KindText:
		return units.Clean(a.Text)
	case KindMessage, KindList:
		return strings.Join(Strings(l, a.Messages), ", ")
	case KindSentences:
		return strings.Join(Strings(l, a.Messages), "; ")
	case KindSpan:
		return l.Figure(units.Span(time.Duration(a.Number)))
	case KindNumber:
		return l.Figure(units.Rate(a.Number))
	case KindSigned:
		return l.Figure(units.Signed(a.Number))
	case "share", "fraction":
		return l.Value(min(max(a.Number, 0), 1), a.Kind)
	}
	return l.Value(a.Number, a.Kind)
}

// isFigure reports whether an argument is a number.
func (a *Arg) isFigure() bool {
	switch a.Kind {
	case KindText, KindMessage, KindList, KindSentences:
		return false
	}
	return true
}

// MarshalJSON writes the text in English, as it stands in files: what it is made of stands in their Table.
func (m Message) MarshalJSON() ([]byte, error) { return marshal(m.String()) }

// UnmarshalJSON reads a text; see Table.Resolve.
func (m *Message) UnmarshalJSON(data []byte) error {
	var text string
	err := json.Unmarshal(data, &text)
	*m = Literal(text)
	return err
}

// Table says of the texts of a file, which are English, what they are made of.
type Table map[string]Value

// Value is a message as files have it whole.
type Value struct {
	ID   string           `json:"id"`
	Args map[string]value `json:"args,omitempty"`
}

// value is an argument under its kind: a number (null if it has no end), a text, or messages.
type value map[string]any

// value is a message whole.
func (m Message) value() Value {
	out := Value{ID: m.ID}
	for i := range m.Args {
		if out.Args == nil {
			out.Args = map[string]value{}
		}
		a := &m.Args[i]
		var v any
		switch {
		case a.Kind == KindText:
			v = a.Text
		case !a.isFigure():
			values := make([]Value, len(a.Messages))
			for k, n := range a.Messages {
				values[k] = n.value()
			}
			v = values
		case !math.IsInf(a.Number, 0) && !math.IsNaN(a.Number):
			v = a.Number
		}
		out.Args[a.Name] = value{a.Kind: v}
	}
	return out
}

// message is what value wrote.
func (v Value) message() (Message, error) {
	m := Message{ID: v.ID}
	for _, name := range sortedKeys(v.Args) {
		for kind, x := range v.Args[name] {
			a := Arg{Name: name, Kind: kind}
			switch x := x.(type) {
			case nil:
				a.Number = math.Inf(1)
			case float64:
				a.Number = x
			case string:
				a.Text = x
			default:
				again, err := json.Marshal(x)
				var values []Value
				if err == nil {
					err = json.Unmarshal(again, &values)
				}
				if err != nil {
					return m, fmt.Errorf("argument %s of message %s: %w", name, v.ID, err)
				}
				for _, n := range values {
					nested, err := n.message()
					if err != nil {
						return m, err
					}
					a.Messages = append(a.Messages, nested)
				}
			}
			m.Args = append(m.Args, a)
		}
	}
	return m, nil
}

// Error is a message that is an error.
type Error struct{ Message }

// Error is the text in English.
func (e *Error) Error() string { return e.String() }

// Errorf returns the error of a message; see New.
func Errorf(id string, args ...Arg) error { return &Error{New(id, args...)} }

// OfError is what an error says: the message that it is, or its text, the same in every language.
func OfError(err error) Message {
	if e, ok := err.(*Error); ok {
		return e.Message
	}
	return Literal(err.Error())
}

// NewOr returns the message of an id without arguments, or a text that is the same in every language where the
// catalogues have none.
func NewOr(id, text string) Message {
	if m := New(id); known(m) {
		return m
	}
	return Literal(text)
}

// Parts are the messages of Sentences, or the message itself; none of the zero one.
func (m Message) Parts() []Message {
	switch m.ID {
	case "":
		return nil
	case KindSentences:
		return slices.Clone(m.Args[0].Messages)
	}
	return []Message{m}
}
