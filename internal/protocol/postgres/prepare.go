package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"brunt/internal/protocol"

	"github.com/jackc/pgx/v5/pgconn"
)

// preparedAtOnce is how many statements are prepared, or described, before the first answer is awaited. A
// session prepares so many when it connects. Of longer programs each session prepares a statement with its
// first request, in the same round trip: every one costs each of the server's sessions time and memory.
const preparedAtOnce = 1000

// sharedProgram is what all sessions of a driver.Program share.
type sharedProgram struct {
	statements []statement
	refused    *protocol.Error // why the protocol can't do it, if so
	prepared   int             // how many of the statements can be prepared

	mu        sync.Mutex
	described int // so many of the statements have been described, if there are many
}

type programKey struct{}

// planned lays out a program's statements, once for all its sessions.
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

// many says whether sessions prepare statements only when they first use them.
func (p *sharedProgram) many() bool { return p.prepared > preparedAtOnce }

// session returns the statements for one more session: its own copies, or those that all share until it
// uses them.
func (p *sharedProgram) session() []*statement {
	out := make([]*statement, len(p.statements))
	for i := range out {
		out[i] = &p.statements[i]
	}
	if !p.many() {
		own := make([]statement, len(out))
		for i := range own {
			own[i] = p.statements[i]
			own[i].shared = false
			out[i] = &own[i]
		}
	}
	return out
}

// Check asks the server whether it takes the statements of a program that has so many that sessions
// prepare them only when they first use them. It may take long as long as the server answers. progress,
// unless it is nil, is told how many of how many statements are done.
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

// describe learns the types of all statements' parameters over a connection of its own. It goes on where
// an earlier call failed.
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
	unnamed := func(*statement) string { return "" } // the server keeps the last one only
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
	done, failure := prepare(ctx, pg, t.Password, some, name)
	for _, st := range some[:done] {
		st.unprepare()
	}
	p.described += done
	return failure
}

// firstOwnType is the least number of a type that isn't the same on all servers (access/transam.h:
// FirstNormalObjectId).
const firstOwnType = 16384

// unprepare keeps of a statement's description what sessions need to prepare it, on any server.
func (st *statement) unprepare() {
	if st.prepared == nil {
		return
	}
	for i, oid := range st.prepared.ParamOIDs {
		if oid >= firstOwnType {
			st.prepared.ParamOIDs[i] = 0 // the server finds out
		}
	}
	st.prepared.Fields, st.fields, st.captures, st.stale = nil, nil, nil, true
	st.asTexts()
}

// prepare prepares statements on a session in one go, and makes their templates. done is how many were
// before one failed, those that needn't be prepared included.
func prepare(ctx context.Context, pg *pgconn.PgConn, secret string, statements []*statement,
	name func(*statement) string) (done int, failure *protocol.Error) {
	pipeline := pg.StartPipeline(ctx)
	defer pipeline.Close() // what it could fail by, the results have told
	n := 0
	for _, st := range statements {
		if st.preparable() {
			pipeline.SendPrepare(name(st), st.req.Text, nil)
			pipeline.SendPipelineSync() // one that is refused is alone in that
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
	return len(statements), nil
}

// result is the next thing that a pipeline answers, which must be a T.
func result[T any](p *pgconn.Pipeline) (T, error) {
	results, err := p.GetResults()
	as, ok := results.(T)
	if err == nil && !ok {
		err = fmt.Errorf("the server's answers are out of order: %T", results)
	}
	return as, err
}

// notPrepared is the failure to prepare a statement; nil if that was to be expected.
func (st *statement) notPrepared(e *protocol.Error) *protocol.Error {
	if st.req.ExpectError && e.Class == protocol.Server && !e.Fatal && st.asText() == "" {
		return nil
	}
	if e.Class == protocol.Server && strings.Contains(e.Text, "storage is full") {
		e.Class = protocol.Connect // all sessions of a Picodata's node share pg_statement_max
	}
	if e.Class == protocol.Timeout {
		e.Text = "the server hasn't prepared it within the time for connecting; see what it waits for, or give it longer (timeouts: {connect: 30s})"
	}
	e.Text = fmt.Sprintf("request %q: %s", st.req.Name, e.Text)
	return e
}
