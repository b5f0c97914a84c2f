package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"brunt/internal/protocol"

	"github.com/jackc/pgx/v5/pgconn"
)

// preparedAtOnce is the maximum number of statements that are prepared, or described, before the first answer is
// read. A session prepares up to that many statements when it connects. In longer programs, each session
// prepares a statement in the same round trip as its first request, because every prepared statement costs time
// and memory in each of the server's sessions.
const preparedAtOnce = 1000

// sharedProgram is the state that all sessions of a program share.
type sharedProgram struct {
	statements []statement
	refused    *protocol.Error // why the protocol can't run the program, or nil
	prepared   int             // number of statements that can be prepared
	pooled     atomic.Bool     // sessions of the server are shared by others: see pooler.go
	types      sync.Map        // by text: []uint32, see statement.learned
	inferred   atomic.Bool     // the server infers the types, rather than being given them

	mu        sync.Mutex
	described int // number of statements described so far, if many
}

type programKey struct{}

// planned lays out a program's statements. It does so once for all sessions.
func planned(p *protocol.Program) *sharedProgram {
	return p.Share(programKey{}, func() any {
		all := &sharedProgram{statements: make([]statement, len(p.Requests))}
		for i := range p.Requests {
			st, why := planOne(&p.Requests[i])
			if why != "" {
				return &sharedProgram{refused: protocol.Refused(&p.Requests[i], "%s", why)}
			}
			if st.shared = true; st.preparable() {
				all.prepared++
			}
			all.statements[i] = st
		}
		return all
	}).(*sharedProgram)
}

// many reports whether sessions prepare each statement on its first use.
func (p *sharedProgram) many() bool { return p.prepared > preparedAtOnce }

// session returns the statements for a new session: its own copies or, if there are many, shared ones that are
// copied on first use.
func (p *sharedProgram) session() []*statement {
	out := make([]*statement, len(p.statements))
	for i := range out {
		out[i] = &p.statements[i]
	}
	if !p.many() {
		own := make([]statement, len(out))
		for i := range own {
			own[i] = *p.statements[i].own()
			out[i] = &own[i]
		}
	}
	return out
}

// Check asks the server whether it accepts the statements of a program. It does nothing for programs whose
// sessions prepare all statements when they connect. The whole check has no timeout as long as the server keeps
// answering. progress, if not nil, is called with the number of statements done and the total.
func (*Driver) Check(ctx context.Context, t protocol.Target, p *protocol.Program, progress func(done, all int)) error {
	all := planned(p)
	if all.refused != nil {
		return all.refused
	}
	if !all.many() {
		return nil
	}
	if e := all.describe(ctx, t, progress); e != nil {
		return e
	}
	return nil
}

// describe learns the parameter types of all statements over its own connection. A later call continues after
// the last statement described.
func (p *sharedProgram) describe(ctx context.Context, t protocol.Target, progress func(done, all int)) *protocol.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.described == len(p.statements) {
		return nil
	}
	connecting, cancel := t.Connecting(ctx)
	defer cancel()
	pg, err := connect(connecting, t)
	if err != nil {
		return protocol.AsError(err)
	}
	defer closeNow(pg)
	unnamed := func(*statement) string { return "" } // the server keeps only the last unnamed statement
	for p.described < len(p.statements) {
		if err := p.describeSome(ctx, t, pg, unnamed); err != nil {
			return err
		}
		if progress != nil {
			progress(p.described, len(p.statements))
		}
	}
	return nil
}

func (p *sharedProgram) describeSome(ctx context.Context, t protocol.Target, pg *pgconn.PgConn,
	name func(*statement) string) *protocol.Error {
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	var some []*statement
	for i := p.described; i < min(p.described+preparedAtOnce, len(p.statements)); i++ {
		some = append(some, &p.statements[i])
	}
	done, failure := prepare(ctx, pg, t.Password, some, name, nil)
	for _, st := range some[:done] {
		if st.prepared != nil {
			p.types.Store(st.req.Text, st.learned())
			p.name(st)
			st.unprepare()
		}
	}
	p.described += done
	return failure
}

// firstOwnType is the least OID of types that may differ between servers (FirstNormalObjectId in
// access/transam.h).
const firstOwnType = 16384

// unprepare keeps only the parts of a statement's description that sessions need to prepare it on any server.
func (st *statement) unprepare() {
	st.prepared.ParamOIDs = st.learned()
	st.prepared.Fields, st.fields, st.captures, st.stale = nil, nil, nil, true
	st.asTexts()
}

// prepare prepares statements on a session in one pipeline, and builds their message templates. done is the
// number of statements, including those that need no preparing, before the first failure. pooled, which may be nil, is
// set if the server's session has a statement that this client hasn't prepared on it.
func prepare(ctx context.Context, pg *pgconn.PgConn, secret string, statements []*statement,
	name func(*statement) string, pooled *atomic.Bool) (done int, failure *protocol.Error) {
	pipeline := pg.StartPipeline(ctx)
	defer pipeline.Close() // any error has already been reported by the results
	n := 0
	var known []*statement // another client has prepared them
	twice := map[string]bool{}
	for _, st := range statements {
		if st.preparable() {
			as := name(st)
			if twice[as] { // of the same text, which is prepared already and only to be described
				as = ""
			}
			twice[as] = true
			pipeline.SendPrepare(as, st.req.Text, st.types)
			pipeline.SendPipelineSync() // so that a refused statement doesn't affect the others
			n++
		}
	}
	if n == 0 {
		return len(statements), nil
	}
	broken := pipeline.Flush()
	for i, st := range statements {
		if !st.preparable() {
			continue
		}
		description, err := (*pgconn.StatementDescription)(nil), broken
		if err == nil {
			description, err = result[*pgconn.StatementDescription](pipeline)
		}
		switch {
		case isCode(err, duplicatePrepared):
			known = append(known, st)
		case err != nil:
			failure = st.notPrepared(libraryError(ctx, nil, err, pg.IsClosed(), secret))
		default:
			failure = st.described(description)
		}
		if failure != nil {
			return i, failure
		}
		if _, err := result[*pgconn.PipelineSync](pipeline); err != nil {
			return i, st.notPrepared(libraryError(ctx, nil, err, pg.IsClosed(), secret))
		}
	}
	if len(known) == 0 {
		return len(statements), nil
	}
	// The name stands for text and types, so the unnamed statement has the same parameters and columns.
	pipeline.Close()
	pooled.Store(true)
	unnamed := func(*statement) string { return "" }
	if _, failure = prepare(ctx, pg, secret, known, unnamed, nil); failure != nil {
		return slices.Index(statements, known[0]), failure
	}
	return len(statements), nil
}

// isCode reports whether the server answered with a SQLSTATE.
func isCode(err error, code string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == code
}

// result returns the pipeline's next result, which must be a T.
func result[T any](p *pgconn.Pipeline) (T, error) {
	results, err := p.GetResults()
	as, ok := results.(T)
	if err == nil && !ok {
		err = fmt.Errorf("the server's answers are out of order: %T", results)
	}
	return as, err
}

// notPrepared returns the failure to prepare a statement, or nil if the plan expects one.
func (st *statement) notPrepared(e *protocol.Error) *protocol.Error {
	if st.req.ExpectError && e.Class == protocol.Server && !e.Fatal && st.asText() == "" {
		return nil
	}
	if e.Class == protocol.Server && strings.Contains(e.Text, "storage is full") {
		e.Class = protocol.Connect // all sessions of a Picodata node share pg_statement_max
	}
	if e.Class == protocol.Timeout {
		e.Text = "the server hasn't prepared it within the time for connecting; see what it waits for, or give it longer (timeouts: {connect: 30s})"
	}
	e.Text = fmt.Sprintf("request %q: %s%s", st.req.Name, e.Text, hintOf(e, st.req))
	return e
}

// hintOf returns what to write instead of a text that can't be prepared, because it holds several statements.
func hintOf(e *protocol.Error, req *protocol.Request) string {
	const syntaxError = "42601"
	if e.Code != syntaxError || !strings.Contains(e.Text, "multiple commands") {
		return ""
	}
	if len(req.Params) > 0 {
		return "; write a transaction with several statements"
	}
	return "; write simple: true to send them as text, or a transaction with several statements"
}
