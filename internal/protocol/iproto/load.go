package iproto

import (
	"context"
	"fmt"

	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"
	"brunt/internal/protocol/sqlconn"
)

// Limits of a load. Two batches are in flight: the server processes one while the other is generated.
const (
	batchBytes = 64 << 10
	batchRows  = 512
	// insertValues is the number of values in one INSERT of Picodata. Its default limits per statement are 5000 rows
	// moved and 45000 steps of its virtual machine.
	insertValues    = 1000
	insertsInFlight = 8
	progressRows    = 4096
)

// Load inserts a chunk: on Tarantool with pipelined INSERT or REPLACE requests, on Picodata, which refuses
// these, with multi-row INSERT statements. With replace, rows whose key exists already are overwritten.
func (a *admin) Load(ctx context.Context, chunk *protocol.Chunk, replace bool) (int64, error) {
	defer a.watch(ctx)()
	if a.picodata || a.mode == byCall {
		return a.insertStatements(ctx, chunk, replace)
	}
	places, sp, err := a.layout(ctx, chunk)
	if err != nil {
		return 0, err
	}
	l := loading{admin: a, chunk: chunk, places: places, space: sp, kind: typeInsert,
		values: make([]gen.Value, len(chunk.Columns))}
	if replace {
		l.kind = typeReplace
	}
	return l.run(ctx)
}

// layout returns, for each field of the space, the number of its column in the chunk, or -1 for null.
func (a *admin) layout(ctx context.Context, chunk *protocol.Chunk) ([]int, *space, *protocol.Error) {
	sp, err := lookup(ctx, a.link, chunk.Table)
	if err != nil {
		return nil, nil, err
	}
	if sp == nil {
		return nil, nil, unknownSpace(chunk.Table)
	}
	names := chunk.Names()
	places, err := placesOf(&protocol.Request{Fields: names, Params: make([]gen.Kind, len(names))}, sp)
	return places, sp, err
}

// loading is a load in progress.
type loading struct {
	*admin
	chunk  *protocol.Chunk
	places []int
	space  *space
	kind   byte
	values []gen.Value
	told   int64
}

// run sends all rows, with two batches in flight.
func (l *loading) run(ctx context.Context) (done int64, err error) {
	next, end := l.chunk.First, l.chunk.First+l.chunk.Rows
	var pending []int
	for next < end || len(pending) > 0 {
		if next < end {
			n, err := l.batch(&next, end)
			if err != nil {
				return done, err
			}
			if err := l.flush(); err != nil {
				return done, protocol.Unanswered(ctx, nil, err, "")
			}
			pending = append(pending, n)
		}
		if len(pending) == 2 || next == end {
			if err := l.settle(ctx, l.chunk.Table, pending[0]); err != nil {
				return done, err
			}
			done += int64(pending[0])
			pending = pending[1:]
			l.tell(done, next == end && len(pending) == 0)
		}
	}
	return done, nil
}

func (l *loading) tell(done int64, last bool) {
	if l.chunk.Progress != nil && (done-l.told >= progressRows || last) && done > l.told {
		l.chunk.Progress(uint64(done - l.told))
		l.told = done
	}
}

// batch queues a batch of requests and returns their number.
func (l *loading) batch(next *uint64, end uint64) (n int, err error) {
	for *next < end && n < batchRows && len(l.out) < batchBytes {
		l.chunk.Row(l.values, *next)
		*next++
		n++
		l.sync++
		at := len(l.out)
		out := msgpack.AppendMap(appendHeader(l.out, l.kind, l.sync), 2)
		out = msgpack.AppendUint(append(out, keySpace), l.space.id)
		out = msgpack.AppendArray(append(out, keyTuple), len(l.places))
		var failure *protocol.Error
		for _, p := range l.places {
			if p < 0 {
				out = append(out, 0xc0)
			} else if out, failure = msgpack.AppendValue(out, &l.values[p]); failure != nil {
				return n, failure
			}
		}
		setLength(out, at)
		l.out = out
	}
	return n, nil
}

// settle reads the next n answers to requests that fill a table, in any order.
func (a *admin) settle(ctx context.Context, table string, n int) error {
	for ; n > 0; n-- {
		code, _, answer, err := a.receive()
		if err != nil {
			return protocol.Unanswered(ctx, nil, err, "")
		}
		if failure := refusal(code, answer); failure != nil {
			failure.Text = fmt.Sprintf("load %s: %s", table, failure.Text)
			a.Close() // further answers may be in flight
			failure.Fatal = true
			return failure
		}
	}
	return nil
}

// insertStatements loads with SQL, with several statements in flight: the router executes them concurrently, and
// most of a statement's time is spent on the round trip to the storages.
func (a *admin) insertStatements(ctx context.Context, chunk *protocol.Chunk, replace bool) (done int64, err error) {
	columns := len(chunk.Columns)
	perStatement := uint64(max(1, insertValues/max(1, columns)))
	values := make([]gen.Value, columns)
	var pending []uint64 // number of rows of each statement
	next, end := chunk.First, chunk.First+chunk.Rows
	for next < end || len(pending) > 0 {
		for next < end && len(pending) < insertsInFlight {
			rows := min(perStatement, end-next)
			kind, out, failure := a.insertBody(chunk, replace, next, rows, values)
			if failure != nil {
				a.Close() // answers may be in flight
				failure.Fatal = true
				return done, failure
			}
			a.queue(kind, out)
			next, pending = next+rows, append(pending, rows)
		}
		if err := a.flush(); err != nil {
			return done, protocol.Unanswered(ctx, nil, err, "")
		}
		if err := a.settle(ctx, chunk.Table, 1); err != nil {
			return done, err
		}
		// It doesn't matter which statement was answered: all belong to the same chunk.
		rows := pending[0]
		pending = pending[1:]
		done += int64(rows)
		if chunk.Progress != nil {
			chunk.Progress(rows)
		}
	}
	return done, nil
}

// insertBody returns the request for one statement.
func (a *admin) insertBody(chunk *protocol.Chunk, replace bool, first, rows uint64, values []gen.Value) (kind byte,
	out []byte, failure *protocol.Error) {
	text := sqlconn.Numbered(sqltext.Quote(chunk.Table), chunk.Names(), int(rows), replace)
	var b body
	kind = b.sql(a.mode, text, int(rows)*len(chunk.Columns))
	out = b.now
	for n := first; n < first+rows; n++ {
		chunk.Row(values, n)
		for i := range values {
			if out, failure = msgpack.AppendValue(out, &values[i]); failure != nil {
				return kind, out, failure
			}
		}
	}
	return kind, out, nil
}
