package postgres

import (
	"crypto/sha256"
	"encoding/hex"

	"brunt/internal/protocol"
)

// A pooler that gives a server's session to another client after each transaction (PgBouncer before 1.21, Odyssey
// without its support for prepared statements) doesn't know of prepared statements: they stay with the server's
// session. So a name that this client has given away may be known already (duplicatePrepared), or not be known any more
// (unknownPrepared). On a session of one's own neither can happen, unless the plan itself deallocates statements.
const (
	duplicatePrepared = "42P05" // duplicate_prepared_statement
	unknownPrepared   = "26000" // invalid_sql_statement_name
)

// nameOf returns the name under which a statement is prepared. Sessions of other clients may share the name space, so
// the name says what the statement is: two statements of one name have the same text.
func nameOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "brunt_" + hex.EncodeToString(sum[:12])
}

var _ protocol.Pooled = (*Driver)(nil)

// Pooled implements protocol.Pooled.
func (*Driver) Pooled(p *protocol.Program) bool { return planned(p).pooled.Load() }

// rename makes the statement refer to a name under which it is prepared.
func (st *statement) rename(name string) {
	if st.named != name {
		st.named = name
		st.template(name)
	}
}

// unnamed makes a statement be prepared together with each of its requests, as the unnamed statement. All messages up
// to Sync reach the same session of the server, so this is right behind every pooler. It costs the server a parse a
// request.
func (st *statement) unnamed() {
	st.named, st.stale, st.each = "", true, true
	st.resultFormats = nil
	st.template("")
}
