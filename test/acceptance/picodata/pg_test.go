package picodata_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"brunt/test/testserver"
)

// pgStandIn is a PostgreSQL behind a proxy that answers as Picodata's pgproto does: it says PostgreSQL
// 15.0 and has no version(), takes Picodata's DDL, has no COPY, gives XX000 for every error in
// Picodata's words, and bounds the work of a statement.
func pgStandIn(t *testing.T) cluster {
	s := testserver.Postgres(t)
	ctx := context.Background()
	c, err := pgx.Connect(ctx, fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", s.User, s.Addr, s.Database))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	for _, text := range []string{
		`CREATE VIEW "_pico_table" AS SELECT relname::text AS "name" FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace`,
		`CREATE ROLE other LOGIN`, `GRANT CREATE ON SCHEMA public TO other`, `GRANT SELECT ON "_pico_table" TO other`,
		`CREATE VIEW "_pico_instance" AS SELECT 'default_1_1' AS "name", '25.3.1-0-gabcdef' AS "picodata_version"`,
	} {
		if _, err := c.Exec(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pgProxy{address: s.Addr}
	p.room.Store(1 << 30)
	t.Cleanup(func() {
		listener.Close()
		p.sessions.Wait()
		if n := p.torn.Load(); n > 0 {
			t.Errorf("%d sessions ended without a word: the server logs an error for each", n)
		}
	})
	p.sessions.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.sessions.Go(func() { p.serve(client) })
		}
	})
	return cluster{
		proto: "pg", user: s.User, addresses: listener.Addr().String(), flags: []string{"--database", s.Database},
		standIn: true, behind: &p.behind, room: &p.room,
	}
}

// pgProxy stands before a PostgreSQL.
type pgProxy struct {
	address string
	behind  atomic.Int64 // how many more times rows are counted on a replica that lacks some of them
	room    atomic.Int64 // how many more statements may be prepared, by all sessions

	sessions sync.WaitGroup
	torn     atomic.Int64 // sessions that the client ended without Terminate
}

// serve carries one connection's messages to and fro.
func (p *pgProxy) serve(client net.Conn) {
	defer client.Close()
	backend := pgproto3.NewBackend(client, client)
	first, err := backend.ReceiveStartupMessage()
	if _, ok := first.(*pgproto3.SSLRequest); ok {
		if _, err = client.Write([]byte{'N'}); err == nil {
			first, err = backend.ReceiveStartupMessage()
		}
	}
	if err != nil {
		return
	}
	server, err := net.Dial("tcp", p.address)
	if err != nil {
		return
	}
	defer server.Close()
	frontend := pgproto3.NewFrontend(server, server)
	switch m := first.(type) {
	case *pgproto3.StartupMessage:
		delete(m.Parameters, "options")
		frontend.Send(m)
	case *pgproto3.CancelRequest:
		packet := binary.BigEndian.AppendUint32(nil, 16)
		packet = binary.BigEndian.AppendUint32(packet, 80877102)
		server.Write(binary.BigEndian.AppendUint32(packet, m.ProcessID))
		server.Write(m.SecretKey)
		io.Copy(io.Discard, server)
		return
	}
	if frontend.Flush() != nil {
		return
	}
	p.sessions.Go(func() {
		defer server.Close()
		// A session that is given up while it is being made is closed by the client's library, without a word.
		used := false
		for {
			m, err := backend.Receive()
			if err != nil {
				ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
				if used && (ended || errors.Is(err, syscall.ECONNRESET)) {
					p.torn.Add(1)
				}
				return
			}
			switch m := m.(type) {
			case *pgproto3.Terminate:
				return
			case *pgproto3.Bind:
				used = true
			case *pgproto3.Query:
				m.String = p.toPostgres(m.String)
			case *pgproto3.Parse:
				if m.Query = p.toPostgres(m.Query); m.Name != "" && p.room.Add(-1) < 0 {
					m.Query = "STATEMENT STORAGE IS FULL"
				}
			}
			frontend.Send(m)
			if frontend.Flush() != nil {
				return
			}
		}
	})
	answer(backend, frontend)
}

// answer carries the server's messages to the client, with its rows held back until their number is
// known.
func answer(backend *pgproto3.Backend, frontend *pgproto3.Frontend) {
	steps, skip := 0, false
	var rows []pgproto3.BackendMessage
	for {
		m, err := frontend.Receive()
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *pgproto3.ReadyForQuery:
			skip, rows, steps = false, nil, 0
		case *pgproto3.DataRow:
			steps += len(m.Values) + 3
			held := pgproto3.DataRow{}
			for _, v := range m.Values {
				if v != nil {
					v = append([]byte{}, v...)
				}
				held.Values = append(held.Values, v)
			}
			rows = append(rows, &held)
			continue
		case *pgproto3.CommandComplete:
			if steps > 45000 {
				backend.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "XX000", Message: overLimit})
				skip, rows, steps = true, nil, 0
			}
			for _, row := range rows {
				if !skip {
					backend.Send(row)
				}
			}
			rows, steps = nil, 0
		case *pgproto3.ParameterStatus:
			if m.Name == "server_version" {
				m.Value = "15.0"
			}
		case *pgproto3.ErrorResponse:
			m.Message, m.Code = fromPostgres(m), "XX000"
		case *pgproto3.AuthenticationOk:
			backend.SetAuthType(pgproto3.AuthTypeOk)
		}
		if skip {
			continue
		}
		backend.Send(m)
		if backend.Flush() != nil {
			return
		}
	}
}

const overLimit = `sbroad: lua error: Lua error (dispatch IR): LuaError(ExecutionError("{\"code\":32,\"message\":\"Error on replicaset 48922332-0a76-4ea1-a44e-1f999a022756: sbroad: invalid tarantool: Tarantool module error occurred: Tarantool(BoxError { code: 267, message: Some(\\\"Reached a limit on max executed vdbe opcodes. Limit: 45000\\\"), error_type`

// toPostgres puts a statement of Picodata's into PostgreSQL's SQL.
func (p *pgProxy) toPostgres(q string) string {
	if strings.HasPrefix(q, `SELECT COUNT(*) FROM "brunt_cars"`) && p.behind.Add(-1) >= 0 {
		return strings.Replace(q, "COUNT(*)", "COUNT(*) - 1500", 1)
	}
	if strings.HasPrefix(q, "COPY") {
		return "NO COPY"
	}
	if strings.Contains(q, "version()") {
		return "SELECT no_such_version()"
	}
	for _, r := range [][2]string{
		{` OPTION \((TIMEOUT = [\d.]+|sql_[\w =,]+)\)`, ""}, {` DISTRIBUTED BY \([^)]*\)`, ""}, {` DISTRIBUTED GLOBALLY`, ""},
		{` IN TIER "[^"]*"`, ""},
		{` USING (memtx|TREE)`, ""}, {` WITH \(HINT = \w+\)`, ""}, {`(?i)::string`, "::text"},
		{`(?i)::datetime`, "::timestamptz"},
	} {
		q = regexp.MustCompile(r[0]).ReplaceAllString(q, r[1])
	}
	if strings.HasPrefix(q, "CREATE TABLE") {
		q = strings.NewReplacer(" INTEGER", " BIGINT", " DATETIME", " TIMESTAMPTZ", " DOUBLE", " DOUBLE PRECISION").Replace(q)
	}
	return q
}

// fromPostgres words an error as Picodata does.
func fromPostgres(e *pgproto3.ErrorResponse) string {
	switch e.Code {
	case "42P01":
		name := strings.Trim(strings.TrimSuffix(strings.TrimPrefix(e.Message, "relation "), " does not exist"), `"`)
		return fmt.Sprintf("sbroad: table with name %q not found", name)
	case "42601":
		if strings.Contains(e.Message, "STATEMENT") {
			return `Statement storage is full. Current size limit: 1024. Please, increase storage limit using: ALTER SYSTEM SET "pg_statement_max" TO <new-limit>`
		}
		return "sbroad: rule parsing error:  --> 1:1\n  |\n1 | …\n  | ^---\n  |\n  = expected EOI"
	case "42883":
		return "sbroad: SQL function no_such_version not found"
	case "23505":
		return `sbroad: Lua error (IR dispatch): LuaError(ExecutionError("sbroad: invalid transaction: Transaction error occurred: RolledBack(FailedTo(Insert, Some(Space), \"TupleFound: Duplicate key exists in unique index \\\"pk\\\" in space \\\"cars\\\" with old tuple - [1] and new tuple - [1]\"))"))`
	}
	return "sbroad: " + e.Message
}
