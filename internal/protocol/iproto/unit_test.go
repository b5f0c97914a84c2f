package iproto

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"

	"brunt/internal/protocol"
)

// fake answers requests by type with an error's number, or 0 for an empty result.
type fake map[byte]uint32

func (f fake) ask(_ context.Context, kind byte, _ []byte) (uint32, []byte, *protocol.Error) {
	if code := f[kind]; code != 0 {
		return errorBit | code, append([]byte{0x81, 0x31}, appendString(nil, "refused")...), nil
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

// The scramble is the one that Python's hashlib gives for this password and salt.
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
		{3, "Duplicate key", protocol.Server, false}, {7, "read-only", protocol.Retryable, false}, {33, "no proc", protocol.Server, false},
		{42, "denied", protocol.Server, false}, {97, "conflict", protocol.Retryable, false}, {116, "loading", protocol.Retryable, false},
		{211, "gone", protocol.Retryable, false}, {159, "Failed to execute SQL statement: statement has expired", protocol.Retryable, false},
		{159, "Failed to execute", protocol.Server, false}, {78, "timeout", protocol.Timeout, false}, {226, "", protocol.Retryable, false},
		{10001, "Compare-and-Swap: rejected", protocol.Retryable, false}, {10001, "sbroad: something", protocol.Server, false}, {40_000_000, "?", protocol.Server, false},
	} {
		e := ServerError(c.code, c.message)
		if e.Class != c.class || e.Fatal != c.fatal {
			t.Errorf("%d %s: got %v, fatal %v", c.code, c.message, e.Class, e.Fatal)
		}
	}
	if e := ServerError(1, strings.Repeat("ä\n", 1000)); len(e.Text) > 510 || strings.Contains(e.Text, "\n") {
		t.Errorf("a long message became %q", e.Text)
	}
}
