package iproto

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
)

// fake answers requests by their type: with an error number, or with an empty result for 0.
type fake map[byte]uint32

func (f fake) ask(_ context.Context, kind byte, _ []byte) (uint32, []byte, *protocol.Error) {
	if code := f[kind]; code != 0 {
		return errorBit | code, append([]byte{0x81, 0x31}, msgpack.AppendString(nil, "refused")...), nil
	}
	return 0, []byte{0x81, 0x30, 0x90}, nil
}

func TestChooseMode(t *testing.T) {
	for _, c := range []struct {
		server   fake
		picodata bool
		want     sqlMode
	}{
		{fake{}, false, prepared},
		{fake{}, true, byText},
		{fake{typeExecute: 48}, true, byCall},
		{fake{typeExecute: 48, typeCall: 33}, true, byText},
	} {
		if got, err := chooseMode(t.Context(), c.server, c.picodata); err != nil || got != c.want {
			t.Errorf("%v: got %s, %v; want %s", c.server, got, err, c.want)
		}
	}
}

// Options that the server does not accept after EXPLAIN are removed.
func TestWithoutOptions(t *testing.T) {
	for _, c := range []struct {
		text, want string
		ok         bool
	}{
		{`select 1`, `select 1`, true},
		{`select * from "t" OPTION (sql_vdbe_opcode_max = 100)`, `select * from "t" `, true},
		{`select $1 option(sql_motion_row_max=5, sql_vdbe_opcode_max=0);`, `select $1 `, true},
		{`select $1 option (sql_motion_row_max = $2)`, `select $1 `, false},
		{`select ? option (sql_motion_row_max = ?)`, `select ? `, false},
		{`select "option" from t -- option (x)`, `select "option" from t -- option (x)`, true},
	} {
		t.Run(c.text, func(t *testing.T) {
			if got, ok := withoutOptions(c.text); got != c.want || ok != c.ok {
				t.Errorf("%q, %v; want %q, %v", got, ok, c.want, c.ok)
			}
		})
	}
}

// If the explanation of a statement is refused, the statement is refused, unless the sample value of an argument may be
// the cause.
func TestRefusalsOfStatements(t *testing.T) {
	text, unknown := []gen.Kind{gen.String}, []gen.Kind{gen.Null}
	for _, c := range []struct {
		name   string
		text   string
		params []gen.Kind
		want   bool
	}{
		{"a name", `table with name "t" not found`, nil, true},
		{"a parse error", "expected EOI at 1:7", text, true},
		{"types", "could not resolve operator overload for =(int, text)", text, true},
		{"the count of columns", "invalid query: INSERT expects 3 columns, got 2", nil, true},
		{"a right", "Read access to space 't' is denied for user 'u'", text, true},
		{"a constant that doesn't convert", "invalid value: Failed to cast 'x' to integer.", nil, true},
		{"a sample that doesn't convert", "invalid value: Failed to cast '' to uuid.", text, false},
		{"an argument's type", "could not determine data type of parameter $1", text, true},
		{"an argument's type that nobody knows", "could not determine data type of parameter $1", unknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ofStatement(c.text, c.params); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// The expected scramble was computed by Python's hashlib for this password and salt.
func TestScramble(t *testing.T) {
	salt := []byte("0123456789abcdefghij")
	got := chapSHA1("brunt-test", salt)
	const want = "8c83e68bb2a7efe90bf0a20d266657679dceeff2"
	if hex.EncodeToString(got[:]) != want {
		t.Errorf("got %x, want %s", got, want)
	}
}

func TestClasses(t *testing.T) {
	for _, c := range []struct {
		code    uint32
		message string
		class   protocol.Class
		fatal   bool
	}{
		{3, "Duplicate key", protocol.Server, false}, {7, "read-only", protocol.Retryable, false},
		{33, "no proc", protocol.Server, false},
		{42, "denied", protocol.Server, false}, {97, "conflict", protocol.Retryable, false},
		{116, "loading", protocol.Retryable, false},
		{211, "gone", protocol.Retryable, false}, {159, "Failed to execute SQL statement: statement has expired",
			protocol.Retryable, false},
		{159, "Failed to execute", protocol.Server, false}, {78, "timeout", protocol.Timeout, false},
		{226, "", protocol.Retryable, false},
		{10001, "Compare-and-Swap: rejected", protocol.Retryable, false},
		{10001, "sbroad: something", protocol.Server, false}, {40_000_000, "?", protocol.Server, false},
	} {
		e := ServerError(c.code, c.message)
		if e.Class != c.class || e.Fatal != c.fatal {
			t.Errorf("%d %s: got %v, fatal %v", c.code, c.message, e.Class, e.Fatal)
		}
	}
	for code, want := range map[uint32]string{3: "3", 32: "32", 10000: "10000/no-such-thing", 10028: "10028/no-such-thing",
		20000: "20000"} {
		if e := ServerError(code, `no such thing "x"`); e.Code != want {
			t.Errorf("%d: %s, want %s", code, e.Code, want)
		}
	}
	if e := ServerError(1, strings.Repeat("ä\n", 1000)); len(e.Text) > 510 || strings.Contains(e.Text, "\n") {
		t.Errorf("a long message became %q", e.Text)
	}
}
