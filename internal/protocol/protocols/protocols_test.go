package protocols

import (
	"context"
	"errors"
	"strings"
	"testing"

	"brunt/internal/protocol"
)

// named is a driver that only has a name.
type named string

func (n named) Name() string { return string(n) }

func (named) Dial(context.Context, protocol.Target, *protocol.Program) (protocol.Conn, error) {
	return nil, errors.New("no server")
}

func (named) Describe(context.Context, protocol.Target) (protocol.ServerInfo, error) {
	return protocol.ServerInfo{}, nil
}

func declared(driver string, names ...string) protocol.Declaration {
	return protocol.Declaration{Names: names, Open: func() protocol.Driver { return named(driver) }}
}

// brunts returns a list with some protocols of brunt.
func brunts() *List {
	l := &List{}
	l.Link(declared("pg", "pg", "postgres"), declared("iproto", "iproto", "tarantool"), declared("noop", "noop"))
	return l
}

// A declaration that can't be used is refused with one line, and adds nothing.
func TestUnusableDeclarationsAreRefused(t *testing.T) {
	var none protocol.Driver
	for _, c := range []struct {
		name string
		give protocol.Declaration
		want string
	}{
		{"no name", declared("x"), "a protocol has no name"},
		{"empty name", declared("", ""), "begins with a letter"},
		{"upper case", declared("X", "X"), "begins with a letter"},
		{"not for a URL", declared("x", "x", "my_x"), `protocol "my_x"`},
		{"with a slash", declared("x", "x://"), "begins with a letter"},
		{"a line break", declared("x", "x\ny"), "begins with a letter"},
		{"a name twice", declared("x", "x", "y", "x"), "names x twice"},
		{"no constructor", protocol.Declaration{Names: []string{"x"}}, "protocol x: it has no driver"},
		{"no driver", protocol.Declaration{Names: []string{"x"}, Open: func() protocol.Driver { return none }},
			"protocol x: it has no driver"},
		{"another name", declared("y", "x"), `protocol x: its driver calls itself "y"`},
		{"a name of brunt's", declared("pg", "pg"), "protocol pg has the name pg already; choose another name"},
		{"an alias of brunt's", declared("x", "x", "tarantool"), "protocol x: protocol iproto has the name tarantool already"},
		{"a name of another", declared("first", "first"), "protocol first has the name first already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := brunts()
			if err := l.Add(declared("first", "first", "st")); err != nil {
				t.Fatal(err)
			}
			before := len(l.All())
			err := l.Add(c.give)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
			if got := len(l.All()); got != before {
				t.Errorf("%d protocols, before it was %d", got, before)
			}
		})
	}
}

// A registered protocol is found by all of its names, as brunt's own are.
func TestRegisteredProtocolsAreFound(t *testing.T) {
	l := brunts()
	d := declared("mine", "mine", "my.own")
	if err := l.Add(d); err != nil {
		t.Fatal(err)
	}
	d.Names[0] = "changed"
	for _, name := range []string{"mine", "MINE", "my.own"} {
		found, err := l.Find(name)
		if err != nil || found.Name() != "mine" || found.Open().Name() != "mine" {
			t.Errorf("%s: got %q, %v", name, found.Names, err)
		}
	}
	_, err := l.Find("other")
	if err == nil || !strings.Contains(err.Error(), "this program has pg, iproto, noop, mine; to add your own, register it") {
		t.Errorf("an unknown name: %v", err)
	}
}

// Brunt's protocols stand in front, whichever package is initialised first, and are linked once. A registered protocol
// that has the name of one of brunt's is a fault of the program.
func TestLinkedProtocols(t *testing.T) {
	l := &List{}
	_, err := l.Find("pg")
	if err == nil || !strings.Contains(err.Error(), "this program has none; import brunt/protocols") {
		t.Errorf("nothing is linked: %v", err)
	}
	if err := l.Add(declared("mine", "mine")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l.Link(declared("pg", "pg"), declared("noop", "noop"))
	}
	if got := strings.Join(l.Names(), " "); got != "pg noop mine" || l.Faults() != nil {
		t.Errorf("%s: %v", got, l.Faults())
	}
	l.Link(declared("theirs", "theirs", "mine"))
	if err := l.Faults(); err == nil || !strings.Contains(err.Error(), "protocol mine has the name mine already") {
		t.Errorf("%v", err)
	}
}
