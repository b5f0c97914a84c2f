package protocol

import (
	"slices"
	"strconv"
	"strings"
)

// PicodataError is an error of Picodata's SQL, freed from the errors that wrap it: the router's, the storage's
// and Tarantool's.
type PicodataError struct {
	Cause   string // the innermost text, with a hint if there is one
	Group   string // equal for errors that differ only in names and numbers, such as "peer-closed"; may be ""
	Passing bool   // a temporary state of the cluster: the request may be sent again
}

// ofReplicaset begins an error that the router reports about a storage.
const ofReplicaset = "Error on replicaset "

// Picodata parses an error message. A message that isn't wrapped is its own cause.
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
		// This is all that the router says about a storage that it has lost.
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

// Of returns the code and text for a driver's error. Picodata uses one code for all errors of its SQL, so Of
// appends the group to it, as in "XX000/peer-closed".
func (e PicodataError) Of(code string) (groupCode, text string) {
	if e.Group != "" {
		code += "/" + e.Group
	}
	return code, e.Cause
}

// unwrap removes one layer of wrapping: it returns what Rust's debug format or a JSON object holds between
// quotes, or what follows the name of a layer. Other text is returned unchanged.
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

// quotedText returns s up to the next quote that isn't escaped by a backslash, with backslashes removed. If the
// message was cut off, it returns the rest of s.
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

// withoutNames removes quoted names. An apostrophe within a word doesn't begin a quotation.
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

// group returns the first six words of a cause, without names and numbers, joined by hyphens.
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

// passes reports whether a cause is a temporary state of the cluster. The phrases come from Picodata's governor
// and raft, from vshard and from Tarantool's net.box.
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

// PicodataPeers returns the statement that asks Picodata for the addresses of its instances. Each row has one
// column, host:port. kind is "iproto" or "pgproto". Expelled instances aren't included. See "System tables",
// _pico_peer_address, in Picodata's manual.
func PicodataPeers(kind string) string {
	return `SELECT "address" FROM "_pico_peer_address" WHERE "connection_type" = '` + kind + `'`
}
