// Package message represents texts as values: the ID of a text and the arguments that fill it. The text is formatted
// where it is printed, in the reader's language, with the catalogue of that language, which is a file of this package.
package message

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"brunt/internal/render/units"
)

// Message is a text that has not been formatted yet. The zero value is no text.
type Message struct {
	ID   string // of a message in the catalogues, or literal, KindList or KindSentences
	Args []Arg
}

// Arg fills a placeholder of a message. Its Kind determines how it is formatted.
type Arg struct {
	Name     string
	Kind     string    // one of the Kind constants, or a unit that units.Value knows
	Number   float64   // value of figures
	Step     float64   // a figure has as many digits as show a difference of Step; 0: as usual
	Text     string    // value of KindText
	Messages []Message // values of KindMessage (one), KindList and KindSentences
}

// The kinds of arguments that are not plain figures.
const (
	KindSpan      = "span_ns"   // a duration in a form for humans: 1 m 30 s
	KindNumber    = "number"    // a number with three significant digits
	KindSigned    = "signed"    // a signed number with three significant digits
	KindText      = "text"      // external text: a name, or a message of a server
	KindMessage   = "message"   // another message
	KindList      = "list"      // messages separated by commas
	KindSentences = "sentences" // messages separated by semicolons
)

// literal is the ID of a text that is the same in every language.
const literal = "literal"

// New returns the message with an ID. Its arguments must be those of the catalogues.
func New(id string, args ...Arg) Message { return Message{id, args} }

// Literal returns a message with a text that is the same in every language; the zero message for "".
func Literal(text string) Message {
	if text == "" {
		return Message{}
	}
	return Message{literal, []Arg{Text("text", text)}}
}

// Sentences joins messages into one, separated by semicolons. Empty messages are left out.
func Sentences(messages ...Message) Message { return joined(KindSentences, messages) }

// List joins messages into one, separated by commas. Empty messages are left out.
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

// Count returns an argument with a number of things.
func Count[N int | int64 | uint64](name string, n N) Arg {
	return Arg{Name: name, Kind: "count", Number: float64(n)}
}

// Number returns an argument with a number of three significant digits.
func Number(name string, x float64) Arg { return Arg{Name: name, Kind: KindNumber, Number: x} }

// Signed returns an argument with a signed number.
func Signed(name string, x float64) Arg { return Arg{Name: name, Kind: KindSigned, Number: x} }

// Ns returns an argument with a time in nanoseconds. Values of at least math.MaxInt64 stand for infinity.
func Ns[N ~int | ~int64 | ~float64](name string, ns N) Arg {
	x := float64(ns)
	if x >= math.MaxInt64 {
		x = math.Inf(1)
	}
	return Arg{Name: name, Kind: "ns", Number: x}
}

// Span returns an argument with a duration, which is formatted for humans.
func Span(name string, d time.Duration) Arg {
	return Arg{Name: name, Kind: KindSpan, Number: float64(d)}
}

// Rate returns an argument with a rate per second.
func Rate(name string, perS float64) Arg { return Arg{Name: name, Kind: "per_s", Number: perS} }

// Share returns an argument with a fraction from 0 to 1. Other values are errors of the caller: see Faults.
func Share(name string, share float64) Arg { return Arg{Name: name, Kind: "share", Number: share} }

// Part returns an argument with the fraction part ÷ whole; 0 if whole is 0.
func Part[N int | int64 | uint64 | float64](name string, part, whole N) Arg {
	if whole == 0 {
		return Share(name, 0)
	}
	return Share(name, float64(part)/float64(whole))
}

// Change returns an argument with a relative change, which is formatted with its sign.
func Change(name string, share float64) Arg { return Arg{Name: name, Kind: "change", Number: share} }

// Bytes returns an argument with a size in bytes.
func Bytes[N int | int64 | uint64 | float64](name string, n N) Arg {
	return Arg{Name: name, Kind: "bytes", Number: float64(n)}
}

// Figure returns an argument with a figure in a unit of units.Value.
func Figure(name string, x float64, unit string) Arg {
	return Arg{Name: name, Kind: unit, Number: x}
}

// Beside returns an argument like Figure, with as many digits as show that x isn't limit.
func Beside(name string, x, limit float64, unit string) Arg {
	a := Figure(name, x, unit)
	a.Step = units.Apart(x, limit, unit)
	return a
}

// Text returns an argument with a text that is the same in every language.
func Text(name, text string) Arg { return Arg{Name: name, Kind: KindText, Text: text} }

// Nested returns an argument with another message, which may be the zero message.
func Nested(name string, m Message) Arg {
	return Arg{Name: name, Kind: KindMessage, Messages: []Message{m}}
}

// IsZero reports whether m is the zero message, no text.
func (m Message) IsZero() bool { return m.ID == "" }

// Equal reports whether two messages have the same ID and text.
func (m Message) Equal(o Message) bool { return m.ID == o.ID && m.String() == o.String() }

// String returns the text in English.
func (m Message) String() string { return m.In(units.English) }

// Strings returns the texts of messages in a language.
func Strings(l units.Language, messages []Message) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = m.In(l)
	}
	return out
}

// in formats an argument in a language.
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
		return l.Figure(units.To(min(max(a.Number, 0), 1), a.Step, a.Kind))
	}
	if a.Step > 0 {
		return l.Figure(units.To(a.Number, a.Step, a.Kind))
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

// MarshalJSON writes the text in English, as stored in files. Its ID and arguments are stored in the file's Table.
func (m Message) MarshalJSON() ([]byte, error) { return marshal(m.String()) }

// UnmarshalJSON reads a text as a literal; Table.Resolve restores its ID and arguments.
func (m *Message) UnmarshalJSON(data []byte) error {
	var text string
	err := json.Unmarshal(data, &text)
	*m = Literal(text)
	return err
}

// Table maps the English texts of a file to their messages.
type Table map[string]Value

// Value is the complete form of a message in files.
type Value struct {
	ID   string           `json:"id"`
	Args map[string]value `json:"args,omitempty"`
}

// value maps an argument's kind to its value: a number (null if it is infinite or NaN), a text, or messages.
type value map[string]any

// stepKey is the key of Arg.Step next to an argument's kind.
const stepKey = "step"

// value returns the complete form of a message.
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
		if a.Step > 0 {
			out.Args[a.Name][stepKey] = a.Step
		}
	}
	return out
}

// renamed has the present IDs of messages by those that files of older versions have.
var renamed = map[string]string{
	"inspect-mysql-servers":        "inspect-servers",
	"inspect-mysql-servers.remedy": "inspect-servers.remedy",
}

// message is the inverse of Message.value.
func (v Value) message() (Message, error) {
	m := Message{ID: cmp.Or(renamed[v.ID], v.ID)}
	for _, name := range sortedKeys(v.Args) {
		step, _ := v.Args[name][stepKey].(float64)
		for kind, x := range v.Args[name] {
			if kind == stepKey {
				continue
			}
			a := Arg{Name: name, Kind: kind, Step: step}
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

// Error is an error with a message as its text.
type Error struct{ Message }

// Error returns the text in English.
func (e *Error) Error() string { return e.String() }

// Errorf returns an error with a message; see New.
func Errorf(id string, args ...Arg) error { return &Error{New(id, args...)} }

// OfError returns the message of an error: its own if it is an *Error, otherwise its text as a literal.
func OfError(err error) Message {
	if e, ok := err.(*Error); ok {
		return e.Message
	}
	return Literal(err.Error())
}

// NewOr returns the message with an ID and without arguments, or text as a literal if the catalogues don't have the ID.
func NewOr(id, text string) Message {
	if m := New(id); known(m) {
		return m
	}
	return Literal(text)
}

// Parts returns the messages joined by Sentences, otherwise the message itself; nil for the zero message.
func (m Message) Parts() []Message {
	switch m.ID {
	case "":
		return nil
	case KindSentences:
		return slices.Clone(m.Args[0].Messages)
	}
	return []Message{m}
}
