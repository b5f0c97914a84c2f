package bind

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/grafana/sobek"

	"brunt/internal/dialect/k6/bind/bindtest"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func newVU() *VU { return NewVU(session.New(session.Options{None: true}), bindtest.NewVU()) }

// say runs a script that may call f(…) and returns the text of its result.
func say(t *testing.T, f Func, text string) string {
	t.Helper()
	v := newVU()
	if err := v.Runtime().Set("f", v.Function("f", f)); err != nil {
		t.Fatal(err)
	}
	got, err := v.Runtime().RunString(text)
	if err != nil {
		return "thrown: " + err.Error()
	}
	return got.String()
}

// Scripts can catch all errors of Go functions.
func TestFaultsBecomeExceptions(t *testing.T) {
	for want, f := range map[string]Func{
		"Error client  f: a fault of brunt's: runtime error: index out of range [3] with length 0": func(a *Args) (any,
			error) {
			return []int{}[len(a.name)+2], nil
		},
		"Error client  f: a fault of brunt's: anything": func(*Args) (any,
			error) {
			panic("anything")
		},
		"Error server 42 server 42: full": func(*Args) (any, error) {
			return nil, &protocol.Error{Class: protocol.Server, Code: "42", Text: "full"}
		},
		"Error client  wrong": func(*Args) (any, error) { return nil, errors.New("wrong") },
		"TypeError client  f: argument 1 (x) is missing; give a string": func(a *Args) (any,
			error) {
			return a.Text(0, "x"), nil
		},
	} {
		if got := say(
			t, f, "try { f() } catch (e) { e.name + ' ' + e.class + ' ' + e.code + ' ' + e.message }"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := say(t, func(*Args) (any, error) { panic("anything") },
		"Error = null; TypeError = 3; try { f() } catch (e) { e.class }"); got != "client" {
		t.Errorf("with a script's own Error: %q", got)
	}
}

// An exception that the script throws in a callback passes through.
func TestScriptsOwnExceptionsPass(t *testing.T) {
	got := say(t, func(a *Args) (any, error) {
		callback, _ := sobek.AssertFunction(a.At(0))
		_, err := callback(sobek.Undefined())
		return nil, err
	}, "try { f(() => { throw new RangeError('mine') }) } catch (e) { e.name + ' ' + e.message }")
	if got != "RangeError mine" {
		t.Errorf("got %q", got)
	}
}

func TestArguments(t *testing.T) {
	for call, want := range map[string]string{
		"f('a', 1, [2])":                 "a 1 1",
		"f('a', 1)":                      "a 1 0",
		"f('a', 1n, [])":                 "a 1 0",
		"f('a', 1.5)":                    "argument 2 (n) is the number 1.5; give a whole number from 0 to 9",
		"f('a', 10)":                     "argument 2 (n) is the number 10",
		"f('a', 12345678901234567890n)":  "argument 2 (n) is a BigInt",
		"f(() => 1, 1)":                  "argument 1 (s) is a function; give a string",
		"f('a', 1, {})":                  "argument 3 (l) is an object; give an array",
		"f('a', 1, [], {x: 1})":          `o: unknown "x"; there are time, flag`,
		"f('a', 1, [], {time: -1})":      `o: "time" is the number -1; give a time`,
		"f('a', 1, [], {time: 'x'})":     `o: "time" is "x"; give a time`,
		"f('a', 1, [], {time: [{}]})":    `o: "time" is an array; give a time`,
		"f('a', 1, [], {time: new Map})": `o: "time" is a Map; give a time`,
		"f('a', 1, [], {flag: 1})":       `o: "flag" is the number 1; give true or false`,
		"f('a', 1, [], 7)":               "argument 4 (o) is the number 7; give an object",
	} {
		got := say(t, func(a *Args) (any, error) {
			s, n, l := a.Text(0, "s"), a.Whole(1, "n", 0, 9), a.ListOr(2, "l")
			o := a.Settings(3, "o", "time", "flag")
			o.Time("time", 0)
			o.Flag("flag", false)
			return fmt.Sprint(s, " ", n, " ", len(l)), nil
		}, call)
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", call, got, want)
		}
	}
}

// Values have the same type and content after a round trip through JavaScript.
func TestValuesBothWays(t *testing.T) {
	v := newVU()
	for _, x := range []gen.Value{
		{Kind: gen.Null}, {Kind: gen.Bool, I: 1}, {Kind: gen.Int, I: math.MaxInt64}, {Kind: gen.Int, I: math.MinInt64},
		{Kind: gen.Int, I: -7},
		{Kind: gen.Int, I: maxSafe}, {Kind: gen.Int, I: maxSafe + 2}, {Kind: gen.Uint, I: -1}, {Kind: gen.Float, F: 0.1},
		{Kind: gen.Float, F: math.Inf(1)},
		{Kind: gen.Decimal, I: -1250, Scale: 2}, {Kind: gen.String, B: []byte("ж\"")}, {Kind: gen.Bytes, B: []byte{0, 255}},
		{Kind: gen.Datetime, I: 1700000000123000}, {Kind: gen.JSON, B: []byte(`{"a":[1,null]}`)},
	} {
		got, err := Generated(v.Value(&x).Export())
		if want := string(x.AppendText(nil)); err != nil || got.Kind != x.Kind || string(got.AppendText(nil)) != want {
			t.Errorf("%v %s came back as %v %s (%v)", x.Kind, want, got.Kind, got.AppendText(nil), err)
		}
	}
	if _, err := Generated(v.Runtime().NewObject().Export()); err != nil {
		t.Errorf("an object isn't JSON: %v", err)
	}
	loop := []any{nil}
	loop[0] = loop
	if _, err := Generated(loop); err == nil {
		t.Error("a list that holds itself was taken")
	}
	if now := time.Now(); v.Value(now).Export().(time.Time).UnixMilli() != now.UnixMilli() {
		t.Error("a time came back as another")
	}
}

// Errors use JavaScript's names for values that can't be sent.
func TestWhatCantBeSent(t *testing.T) {
	v := newVU()
	for source, want := range map[string]string{
		"() => 1":                   "a function can't be sent; give null, true",
		"2n ** 64n":                 "a BigInt of more than 64 bits can't be sent",
		"new Map([[1, 2]])":         "a Map can't be sent",
		"Promise.resolve(1)":        "a Promise can't be sent",
		"new Proxy({}, {})":         "a Proxy can't be sent",
		"new Float64Array(2)":       "a typed array can't be sent",
		"[1, { a: () => 1 }]":       "an array can't be sent: JSON can't hold a function",
		"({ a: [NaN] })":            "an object can't be sent: JSON can't hold the number NaN",
		"[-Infinity]":               "an array can't be sent: JSON can't hold the number -Infinity",
		"const l = []; l[0] = l; l": "an array can't be sent: arrays and objects hold themselves",
	} {
		t.Run(source, func(t *testing.T) {
			x, err := v.Runtime().RunString("(() => { return eval(" + strconv.Quote(source) + ") })()")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Values([]any{x.Export()}); err == nil || !strings.HasPrefix(err.Error(), "parameter 1: "+want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

func FuzzDecimal(f *testing.F) {
	for _, text := range []string{"0", "-12.50", "+1.", ".5", "1e3", "999999999999999999", "9999999999999999999",
		"--1", "."} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, ok := Decimal(text)
		if !ok {
			return
		}
		again, ok := Decimal(string(v.AppendText(nil)))
		if !ok || again.I != v.I || again.Scale != v.Scale {
			t.Errorf("%q is %d at scale %d, and then %d at %d (%v)", text, v.I, v.Scale, again.I, again.Scale, ok)
		}
	})
}
