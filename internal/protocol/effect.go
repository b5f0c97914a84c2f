package protocol

import (
	"slices"
	"strings"
)

// Effect is what is known about the effect of a write that was sent.
type Effect uint8

// The effects. Unsure means that it isn't known whether the write was applied.
const (
	Unsure       Effect = iota // it may have been applied, or may still be applied
	Applied                    // the server acknowledged it
	NotApplied                 // it failed; no part of it was or will be applied
	AppliedAgain               // acknowledged, but an earlier attempt is Unsure and may still be applied later
	NumEffects   = int(AppliedAgain) + 1
)

// Effect returns the effect of request r, given this failure or its absence. If the server reports a problem of
// its own rather than of the request, the effect is Unsure.
func (f *Failure) Effect(r *Request) Effect {
	switch f.Class {
	case OK:
		return Applied
	case Connect:
		if f.Code == "" || f.Code == RefusedCode {
			return NotApplied // nothing was sent
		}
	case Timeout:
		if f.Code == "" || f.Code == "57014" { // not sent; PostgreSQL's own time limit, which rolls back
			return NotApplied
		}
	case Server:
		if f.certain(r) {
			return NotApplied
		}
	case Retryable:
		// writes that a leader had begun before it stopped may have been replicated
		if !strings.Contains(f.Text, "server stopped") && !strings.Contains(f.Text, "leader changed") {
			return NotApplied
		}
	case Client:
		if !f.Fatal {
			return NotApplied
		}
	}
	return Unsure
}

// certain reports whether an error reported by the server is caused by the request itself, so that nothing was
// applied.
func (f *Failure) certain(r *Request) bool {
	if r.Verb == HTTP {
		return len(f.Code) == 3 && f.Code[0] == '4' && f.Code != "408"
	}
	if f.Fatal || slices.Contains([]string{"Unknown", "Internal", "DataLoss", "Aborted"}, f.Code) { // of gRPC
		return false
	}
	return len(f.Code) != 5 || !slices.ContainsFunc([]string{"40", "57", "58", "XX"}, func(class string) bool {
		return strings.HasPrefix(f.Code, class) // SQLSTATEs: roll-backs of unknown outcome, operators, the system, bugs
	})
}

// Conflicts reports whether a write was refused because its key exists already.
func (f *Failure) Conflicts() bool {
	return f.Class == Server && slices.Contains([]string{
		"23505",      // SQL: unique_violation
		"3",          // Tarantool: ER_TUPLE_FOUND
		"409", "412", // HTTP: Conflict, Precondition Failed
		"1062",               // MySQL: ER_DUP_ENTRY
		"1555", "2067", "19", // SQLite: constraints
		"11000", // MongoDB: DuplicateKey
		NothingInserted,
	}, f.Code)
}
