package postgres

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"brunt/internal/protocol"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

var _ protocol.Adder = (*codec)(nil)

// Add prepares a statement that isn't part of the session's program.
func (c *codec) Add(ctx context.Context, x protocol.Exchanger, req *protocol.Request) error {
	st, why := planOne(req)
	if why != "" {
		return protocol.Refused(req, "%s", why)
	}
	if req.Frames() && c.onPicodata(ctx, x) {
		return protocol.Refused(req, "Picodata has no transactions over several statements (it accepts BEGIN and undoes "+
			"nothing): put the statements into one DO $$ BEGIN … END $$")
	}
	if refused := c.prepare(ctx, x, &st); refused != nil {
		return refused
	}
	c.statements = protocol.Put(c.statements, req.ID, &st)
	return nil
}

// prepare prepares a statement under its name, in place of an earlier statement of the same request. If the types of
// its parameters aren't known, and so its name isn't, it is described first.
func (c *codec) prepare(ctx context.Context, x protocol.Exchanger, st *statement) *protocol.Error {
	var messages []pgproto3.FrontendMessage
	if id := st.req.ID; id < len(c.statements) && c.statements[id].prepared != nil {
		if old := c.statements[id].name(); old != "" && old != st.name() {
			messages = append(messages, &pgproto3.Close{ObjectType: 'S', Name: old})
		}
	}
	known := c.program.name(st)
	if !known || c.program.pooled.Load() || c.prepares(st) {
		st.named = "" // only its description is needed: of the same text as another, or behind a pooler
	}
	if st.preparable() {
		messages = append(messages, &pgproto3.Parse{Name: st.name(), Query: st.req.Text, ParameterOIDs: st.types},
			&pgproto3.Describe{ObjectType: 'S', Name: st.name()})
	}
	if len(messages) == 0 {
		return nil
	}
	description, idle := &pgconn.StatementDescription{}, false
	refusal, failure := c.converse(ctx, x, append(messages, &pgproto3.Sync{}), func(kind byte, content []byte) bool {
		ok := true
		switch kind {
		case 't':
			var m pgproto3.ParameterDescription
			ok = m.Decode(content) == nil
			description.ParamOIDs = slices.Clone(m.ParameterOIDs)
		case 'T':
			description.Fields, ok = parseFields(content)
		case 'Z':
			idle = string(content) == "I"
		}
		return ok
	})
	switch {
	case failure != nil:
		return failure
	case refusal != nil && c.pooledOrForgotten(refusal, st, known) && idle:
		return c.prepare(ctx, x, st)
	case refusal != nil:
		return st.notPrepared(refusal)
	case !st.preparable():
		return nil
	}
	if refused := st.described(description); refused != nil {
		return refused
	}
	switch {
	case c.program.pooled.Load():
		st.unnamed()
	case !known:
		c.program.types.Store(st.req.Text, st.learned())
		return c.prepare(ctx, x, st)
	default:
		c.program.name(st)
		st.template(st.named)
	}
	return nil
}

// pooledOrForgotten reports whether a statement that the server has refused to prepare can be prepared otherwise:
// without a name, because another client has prepared it on this session of the server, or with types that the
// server infers. Within a transaction, which the refusal has ended, that takes another attempt at the whole
// transaction.
func (c *codec) pooledOrForgotten(refusal *protocol.Error, st *statement, known bool) bool {
	if refusal.Code != duplicatePrepared || st.named == "" {
		return known && c.program.forget(refusal)
	}
	c.program.pooled.Store(true)
	refusal.Class = protocol.Retryable
	return true
}

// prepares reports whether another statement of the session is prepared under the name of st.
func (c *codec) prepares(st *statement) bool {
	return slices.ContainsFunc(c.statements, func(o *statement) bool {
		return o != nil && o.req.ID != st.req.ID && o.prepared != nil && !o.stale && o.named == st.named
	})
}

// onPicodata reports whether the server is Picodata. It asks the server once and keeps the answer.
func (c *codec) onPicodata(ctx context.Context, x protocol.Exchanger) bool {
	if c.product == "" {
		c.product = identifyServer("", func(query string) ([][]string, error) {
			var rows [][]string
			q := []pgproto3.FrontendMessage{&pgproto3.Query{String: query}}
			refusal, failure := c.converse(ctx, x, q, func(kind byte, content []byte) bool {
				var m pgproto3.DataRow
				if kind != 'D' {
					return true
				}
				if m.Decode(content) != nil {
					return false
				}
				texts := make([]string, len(m.Values))
				for i := range texts {
					texts[i] = string(m.Values[i])
				}
				rows = append(rows, texts)
				return true
			})
			if e := cmp.Or(failure, refusal); e != nil {
				return nil, e
			}
			return rows, nil
		}).Product
	}
	return c.product == "Picodata"
}

// converse sends messages, the last of which must make the server answer ReadyForQuery. It calls take with each
// message received except errors; take returns false if the message is invalid. refusal is the server's error,
// failure any other.
func (c *codec) converse(
	ctx context.Context, x protocol.Exchanger, messages []pgproto3.FrontendMessage,
	take func(kind byte, content []byte) bool,
) (refusal, failure *protocol.Error) {
	var out []byte
	for _, m := range messages {
		var err error
		if out, err = m.Encode(out); err != nil {
			return nil, protocol.Bad("%v", err)
		}
	}
	senseless := false
	failure = x.Exchange(ctx, out, func(buf []byte) (n int, done bool, need int) {
		if len(buf) < headerBytes {
			return 0, false, headerBytes
		}
		length := binary.BigEndian.Uint32(buf[1:])
		if length < 4 || length > maxWanted {
			senseless = true
			return 0, true, 0
		}
		end := 1 + int(length)
		if len(buf) < end {
			return 0, false, end
		}
		switch kind, content := buf[0], buf[headerBytes:end]; kind {
		case 'Z':
			senseless = !take(kind, content)
			return end, true, 0
		case 'E':
			if e, _ := c.errorResponse(content); refusal == nil {
				refusal, senseless = e, e == nil
			}
			return end, senseless || refusal.Fatal, 0
		default:
			senseless = !take(kind, content)
			return end, senseless, 0
		}
	})
	if failure == nil && senseless {
		failure = &protocol.Error{Class: protocol.Protocol, Fatal: true,
			Text: "the server sent a message that makes no sense"}
	}
	return refusal, failure
}
