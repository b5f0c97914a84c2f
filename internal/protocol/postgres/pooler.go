package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"brunt/internal/protocol"

	"github.com/jackc/pgx/v5/pgconn"
)

// A pooler that gives a server's session to another client after each transaction (PgBouncer before 1.21, Odyssey
// without its support for prepared statements) doesn't know of prepared statements: they stay with the server's
// session. So a name that this client has given away may be known already (duplicatePrepared), or not be known any more
// (unknownPrepared). On a session of one's own neither can happen, unless the plan itself deallocates statements.
const (
	duplicatePrepared = "42P05" // duplicate_prepared_statement
	unknownPrepared   = "26000" // invalid_sql_statement_name
)

// nameOf returns the name under which a statement is prepared. Sessions of other clients may share the name space, and
// statements that earlier runs prepared stay there, so the name says what the statement is: two statements of one name
// have the same text and the same types of parameters.
func nameOf(text string, types []uint32) string {
	hash := sha256.New()
	hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
	hash.Write([]byte(text))
	for _, oid := range types {
		hash.Write(binary.BigEndian.AppendUint32(nil, oid))
	}
	return "brunt_" + hex.EncodeToString(hash.Sum(nil)[:12])
}

// learned returns the types of a described statement's parameters, by which other sessions can prepare it. Types that
// may differ between servers are 0: the server infers them.
func (st *statement) learned() []uint32 {
	types := slices.Clone(st.prepared.ParamOIDs)
	for i, oid := range types {
		if oid >= firstOwnType {
			types[i] = 0
		}
	}
	return types
}

// prepare prepares a session's statements, each under the name that its text and types have. If the server refuses
// types that another session has learned, because tables have changed since, it learns them again.
func (p *sharedProgram) prepare(ctx context.Context, pg *pgconn.PgConn, secret string,
	statements []*statement) *protocol.Error {
	failure := p.learn(ctx, pg, secret, statements)
	if failure == nil {
		_, failure = prepare(ctx, pg, secret, statements, (*statement).name, &p.pooled)
	}
	if failure != nil && p.forget(failure) {
		return p.prepare(ctx, pg, secret, statements)
	}
	return failure
}

// forget forgets the learned types, if the server may have refused a statement because of them, and sends them no more.
func (p *sharedProgram) forget(failure *protocol.Error) bool {
	if failure.Class != protocol.Server || failure.Fatal || p.inferred.Swap(true) {
		return false
	}
	p.types.Clear()
	return true
}

// learn describes the statements whose types of parameters no session of the program knows, and names all statements.
func (p *sharedProgram) learn(ctx context.Context, pg *pgconn.PgConn, secret string,
	statements []*statement) *protocol.Error {
	var unknown []*statement
	for _, st := range statements {
		if _, known := p.types.Load(st.req.Text); st.preparable() && !known {
			unknown = append(unknown, st)
		}
	}
	unnamed := func(*statement) string { return "" }
	if _, failure := prepare(ctx, pg, secret, unknown, unnamed, nil); failure != nil {
		return failure
	}
	for _, st := range unknown {
		if st.prepared != nil {
			p.types.Store(st.req.Text, st.learned())
		}
	}
	for _, st := range statements {
		p.name(st)
	}
	return nil
}

// name gives a statement the name that its text and types have, and reports whether they are known.
func (p *sharedProgram) name(st *statement) bool {
	known, ok := p.types.Load(st.req.Text)
	if !ok {
		return false
	}
	types := known.([]uint32)
	if st.named = nameOf(st.req.Text, types); !p.inferred.Load() {
		st.types = types
	}
	return true
}

var _ protocol.Pooled = (*Driver)(nil)

// Pooled implements protocol.Pooled.
func (*Driver) Pooled(p *protocol.Program) bool { return planned(p).pooled.Load() }

// unnamed makes a statement be prepared together with each of its requests, as the unnamed statement. All messages up
// to Sync reach the same session of the server, so this is right behind every pooler. It costs the server a parse a
// request.
func (st *statement) unnamed() {
	st.named, st.stale, st.each = "", true, true
	st.resultFormats = nil
	st.template("")
}
