package protocol

import (
	"slices"
	"strconv"
	"strings"
)

// PicodataError is what an error of Picodata's SQL says once it has been taken out of those that
// carry it: the router's around the storage's around Tarantool's.
type PicodataError struct {
	Cause   string // the innermost text, with a hint where there is one
	Group   string // the same for errors that differ in names and numbers only: "peer-closed"; "" of a text without words
	Passing bool   // a state of the cluster that passes: the request may be sent again
}

// ofReplicaset begins an error that a storage answered the router with.
const ofReplicaset = "Error on replicaset "

// Picodata takes an error's message apart. One that nothing carries is its own cause.
func Picodata(message string) PicodataError {
	text := strings.Join(strings.Fields(message), " ")
	wrapped := strings.Contains(text, "sbroad: ")
	const deepest = 16
	for range deepest {
		inner := unwrap(text)
		if inner == text {
			break
		}
		text = inner
	}
	e := PicodataError{Cause: text, Group: group(text), Passing: passes(text)}
	if text == "Unknown error" && strings.Contains(message, ofReplicaset) {
		// All that the router says of a storage that it lost.
		e.Cause, e.Passing = "unknown error on a replicaset", true
	}
	switch {
	case strings.Contains(text, "max executed vdbe opcodes"):
		e.Cause += "; raise sql_vdbe_opcode_max, or ask for fewer rows"
	case wrapped && strings.Contains(text, "rows") && strings.Contains(text, "virtual table"):
		e.Cause += "; raise sql_motion_row_max, or ask for fewer rows"
	}
	return e
}

// Of is the code and text of a driver's error whose code says little: Picodata has one for all errors of its SQL.
// The group goes behind it, as in "XX000/peer-closed".
func (e PicodataError) Of(code string) (groupCode, text string) {
	if e.Group != "" {
		code += "/" + e.Group
	}
	return code, e.Cause
}

// unwrap takes one layer off: what a debugging text of Rust's or a JSON object holds between quotes,
// or what follows a layer's name.
func unwrap(text string) string {
	for _, opening := range []string{`ExecutionError("`, `message: Some("`, `"message":"`} {
		if _, rest, ok := strings.Cut(text, opening); ok {
			return quotedText(rest)
		}
	}
	if _, rest, ok := strings.Cut(text, "FailedTo("); ok {
		if _, rest, ok = strings.Cut(rest, `"`); ok {
			return quotedText(rest)
		}
	}
	for _, layer := range []string{
		"sbroad: ", "lua error: ", "invalid tarantool: ", "Tarantool module error occurred: ", "invalid transaction: ",
		"Transaction error occurred: ", "TupleFound: ", "unexpected number of values: ",
	} {
		if rest, ok := strings.CutPrefix(text, layer); ok {
			return rest
		}
	}
	if rest, ok := strings.CutPrefix(text, ofReplicaset); ok {
		if _, rest, ok = strings.Cut(rest, ": "); ok {
			return rest
		}
	}
	if rest, ok := strings.CutPrefix(text, "rule parsing error: "); ok {
		if i := strings.LastIndex(rest, " = "); i >= 0 {
			at, _, _ := strings.Cut(strings.TrimPrefix(rest[:i], "--> "), " ")
			return rest[i+len(" = "):] + " at " + at
		}
		return rest
	}
	text, _, _ = strings.Cut(text, " with old tuple - ")
	return text
}

// quotedText is the text up to the next quote that no backslash precedes, or to the end where the
// message was cut off, without its backslashes.
func quotedText(s string) string {
	var b strings.Builder
	for i := 0; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
			if s[i] == 'n' || s[i] == 't' {
				b.WriteByte(' ')
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return strings.TrimSpace(b.String())
}

// withoutNames leaves out what stands between quotes, which people chose. An apostrophe within a word is none.
func withoutNames(text string) string {
	var b strings.Builder
	var open byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case open == 0 && (c == '"' || c == '\'' && (i == 0 || !isLetter(text[i-1]))):
			open = c
		case open == c:
			open = 0
		case open == 0:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// group is the first words of a cause, without names and numbers.
func group(cause string) string {
	const most = 6
	var words []string
	separates := func(r rune) bool { return strings.ContainsRune(" ,:;.()[]=<>-", r) }
	for _, w := range strings.FieldsFunc(withoutNames(cause), separates) {
		w = strings.ToLower(w)
		if _, err := strconv.Atoi(w); err == nil || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") != "" {
			continue
		}
		if words = append(words, w); len(words) == most {
			break
		}
	}
	return strings.Join(words, "-")
}

// passes says whether a cause is a state of the cluster that passes. The signs are those of
// Picodata's governor and its raft, its vshard and Tarantool's net.box.
func passes(cause string) bool {
	m := strings.ToLower(withoutNames(cause))
	return slices.ContainsFunc([]string{
		"not leader", "not a leader", "no leader", "leader is unknown", "leader is not known", "raft",
		"timeout", "timed out", "peer closed", "connection is not established", "connection closed", "connection refused",
		"connection reset", "broken pipe", "no route to host", "network is unreachable",
		"bucket is locked", "bucket cannot be", "transfer is in progress", "is transferring to", "rebalanc", "wrong bucket",
		"master is not", "missing master", "is not a master", "is unreachable", "replicaset is locked", "in backoff",
		"no active replicas", "no router found for tier", "storage is disabled", "read-only mode", "read-only instance",
		"instance is read-only", "compare-and-swap", "conflictfound", "term mismatch", "entrytermmismatch", "different term",
		"schema version", "uninitialized yet",
	}, func(sign string) bool { return strings.Contains(m, sign) })
}

// PicodataPeers is the statement that asks a Picodata for the addresses of its instances, host:port each in a row of
// one column. kind is "iproto" or "pgproto". Expelled instances aren't among them. See Picodata's manual, "System
// tables", _pico_peer_address.
func PicodataPeers(kind string) string {
	return `SELECT "address" FROM "_pico_peer_address" WHERE "connection_type" = '` + kind + `'`
}
