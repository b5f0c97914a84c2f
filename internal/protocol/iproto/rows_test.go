package iproto

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/msgpack"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver"
)

// rowsOf returns the rows of an answer, one per line, or its failure.
func rowsOf(c protocol.Conn, req *protocol.Request, args ...gen.Value) string {
	var rows []string
	reply := protocol.Reply{Each: func(columns []string, row []gen.Value) {
		text := strings.Join(columns, ",")
		for i := range row {
			text += " " + protocoltest.Text(&row[i])
		}
		rows = append(rows, text)
	}}
	ctx, cancel := within()
	defer cancel()
	c.Do(ctx, req, args, &reply)
	if reply.Class != protocol.OK {
		return fmt.Sprintf("%v %s", reply.Class, reply.Text)
	}
	return strings.Join(rows, "\n")
}

// Arrays and maps in a row are JSON, for every type of value in them.
func TestValuesWithinRows(t *testing.T) {
	for name, c := range map[string]struct{ packed, want string }{
		"empty": {"\x92\x90\x80", `[] {}`},
		"all kinds": {
			"\x91\x95\xc0\xc3\xff\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00\xa1\"", `[null,true,-1,1.5,"\""]`},
		"a large number":       {"\x91\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff", `["18446744073709551615"]`},
		"no number":            {"\x91\x91\xcb\x7f\xf8\x00\x00\x00\x00\x00\x01", `["NaN"]`},
		"a map":                {"\x91\x82\x01\xa1a\xa1b\x91\x02", `{"1":"a","b":[2]}`},
		"bytes":                {"\x91\x91\xc4\x01a", `["a"]`},
		"as deep as it may be": {"\x91" + strings.Repeat("\x91", deepest-1) + "\x01", ""},
		"too deep":             {"\x91" + strings.Repeat("\x91", 1000*deepest) + "\x01", "!"},
		"cut off":              {"\x91\x92\x01", "!"},
		"endless":              {"\x91\xdd\xff\xff\xff\xff", "!"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			w := rowWriter{reader: read([]byte(c.packed)), each: func(_ []string, row []gen.Value) {
				for i := range row {
					if !json.Valid(row[i].B) || row[i].Kind != gen.JSON {
						t.Errorf("no JSON: %s", row[i].B)
					}
					got = append(got, string(row[i].B))
				}
			}}
			w.row()
			text := strings.Join(got, " ")
			if refused := c.want == "!"; refused != (w.Err != msgpack.Fine) {
				t.Errorf("refused: %v, want %v", w.Err, refused)
			} else if !refused && c.want != "" && text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
		})
	}
}

func FuzzRow(f *testing.F) {
	f.Add([]byte("\x92\x91\xcb\x7f\xf8\x00\x00\x00\x00\x00\x01\x81\xc4\x01\xff\x90"))
	f.Fuzz(func(t *testing.T, b []byte) {
		w := rowWriter{reader: read(b), each: func(_ []string, row []gen.Value) {
			for i := range row {
				if v := &row[i]; v.Kind == gen.JSON && !json.Valid(v.B) {
					t.Errorf("%x: no JSON: %s", b, v.B)
				}
			}
		}}
		w.row()
	})
}

// Requests that are added during a run return rows: of spaces, of SQL, of functions and of programs.
func TestRowsOfAddedRequests(t *testing.T) {
	s := testserver.Tarantool(t,
		testserver.Lua(lua+`box.space.kv:replace{1, 'one', 1.5} box.space.kv:replace{2, box.NULL, {1}}`))
	ours, err := New().Dial(t.Context(), target(s), program())
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	for name, c := range map[string]*blocking.Conn{
		"whole": ours.(*blocking.Conn), "in single bytes": protocoltest.Take(t, New(), target(s), program(), 1),
	} {
		for i, step := range []struct {
			request protocol.Request
			want    string
		}{
			{protocol.Request{Verb: protocol.Select, Text: "kv"},
				"id,name,n 2:1 6:\"one\" 4:1.5\nid,name,n 2:2 null 10:\"[1]\""},
			{protocol.Request{Verb: protocol.SQL, Text: `SELECT "id", "name" FROM "kv" ORDER BY 1 LIMIT 1`},
				`id,name 2:1 6:"one"`},
			{protocol.Request{Verb: protocol.SQL, Text: `SELECT "id" FROM "kv" WHERE "id" = 2`, Simple: true}, `id 2:2`},
			{protocol.Request{Verb: protocol.Call, Text: "many", Params: kinds(0)}, "server"},
			{protocol.Request{Verb: protocol.Eval, Text: "return many(2)"}, "1,2 2:1 6:\"name1\"\n1,2 2:2 6:\"name2\""},
			{protocol.Request{Verb: protocol.Call, Text: "tuples"},
				"1,2,3 2:1 6:\"one\" 4:1.5\n1,2,3 2:2 null 10:\"[1]\""},
			{protocol.Request{Verb: protocol.Call, Text: "one"}, `1,2,3 2:1 6:"one" 4:1.5`},
			{protocol.Request{Verb: protocol.Call, Text: "field"}, `answer 2:42`},
			{protocol.Request{Verb: protocol.Call, Text: "push"}, `1 2:7`},
			{protocol.Request{Verb: protocol.Eval, Text: "return 1, 'two', true"}, `1,2,3 2:1 6:"two" 1:1`},
			{protocol.Request{Verb: protocol.Eval, Text: "return {{a = 1}, {a = 2}}"}, "a 2:1\na 2:2"},
			{protocol.Request{Verb: protocol.Eval, Text: "return {}"}, ""},
			{protocol.Request{Verb: protocol.Eval, Text: "return"}, ""},
			{protocol.Request{Verb: protocol.Eval, Text: "return string.rep('x', 200000)"}, `1 6:"` +
				strings.Repeat("x", 200000) + `"`},
		} {
			step.request.ID = i
			if err := c.Add(t.Context(), &step.request); err != nil {
				t.Fatalf("%s: %q: %v", name, step.request.Text, err)
			}
			if got := rowsOf(c, &step.request); got != step.want &&
				!(step.want == "server" && strings.HasPrefix(got, step.want)) {
				t.Errorf("%s: %q:\n got %.300s\nwant %.300s", name, step.request.Text, got, step.want)
			}
		}
	}
}

// In TestPicodataExecutes Picodata accepts EXECUTE if the header has the version of the schema, and names columns by
// text keys.
func TestPicodataExecutes(t *testing.T) {
	var kinds []byte
	address := picodata(t, func(kind byte, versioned bool, body string) (code uint32, answer []byte) {
		kinds = append(kinds, kind)
		switch {
		case kind == typeCall && strings.Contains(body, ".proc_version_info"):
			return 0, []byte("\x81\x30\x91\x81\xb0picodata_version\xa625.3.1")
		case kind == typeExecute && !versioned:
			return errorBit | 102, []byte("\x81\x31\xacno version!!")
		case kind == typeExecute && strings.Contains(body, "VALUES (1)"):
			return 0, []byte("\x82\x32\x91\x82\xa4name\xa5COL_1\xa4type\xa7integer\x30\x91\x91\x01")
		case kind == typeExecute && strings.HasPrefix(body, "\x82\x40\xa6INSERT"):
			return 0, []byte("\x81\x42\x81\xa9row_count\x03")
		case kind == typeExecute:
			return 0, []byte(
				"\x82\x32\x92\x82\xa4name\xa2id\xa4type\xa7integer\x82\xa4name\xa1v\xa4type\xa4text\x30\x92\x92\x01\xa1a\x92\x02\xa1b")
		}
		return errorBit | 48, []byte("\x81\x31\xa7unknown")
	})
	c, err := New().Dial(t.Context(), protocol.Target{Address: address}, program())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	read := protocol.Request{ID: 0, Verb: protocol.SQL, Text: "SELECT id, v FROM t"}
	write := protocol.Request{ID: 1, Verb: protocol.SQL, Text: "INSERT"}
	for _, r := range []*protocol.Request{&read, &write} {
		if err := c.(protocol.AdHoc).Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := rowsOf(c, &read), "id,v 2:1 6:\"a\"\nid,v 2:2 6:\"b\""; got != want {
		t.Errorf("rows:\n got %s\nwant %s", got, want)
	}
	var reply protocol.Reply
	c.Do(t.Context(), &write, nil, &reply)
	if reply.Class != protocol.OK || reply.Affected != 3 {
		t.Errorf("a change: %+v", reply)
	}
	if want := byte(typeExecute); kinds[len(kinds)-1] != want || bytes.Count(kinds, []byte{want}) < 4 {
		t.Errorf("statements went as requests of the kinds %v", kinds)
	}
}

// picodata starts a server that answers requests by f.
func picodata(t *testing.T, f func(kind byte, versioned bool, body string) (code uint32, answer []byte)) (
	address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		greeting := fmt.Sprintf("%-63s\n%-63s\n", "Tarantool 2.11.5 (Binary) 00000000-0000-0000-0000-000000000000",
			strings.Repeat("QUJD", 11))
		if _, err := io.WriteString(c, greeting); err != nil {
			return
		}
		for {
			prefix := make([]byte, 5)
			if _, err := io.ReadFull(c, prefix); err != nil {
				return
			}
			length := read(prefix)
			packet := make([]byte, length.Uint())
			if _, err := io.ReadFull(c, packet); err != nil {
				return
			}
			r := read(packet)
			var kind byte
			var sync uint64
			versioned := false
			for n := r.Map(); n > 0; n-- {
				switch r.Uint() {
				case 0:
					kind = byte(r.Uint())
				case 1:
					sync = r.Uint()
				case 5:
					versioned = r.Uint() == 0
				}
			}
			code, answer := f(kind, versioned, string(packet[r.At:]))
			header := append(msgpack.AppendUint([]byte{0x82, 0}, uint64(code)), 1)
			out := append([]byte{0xce, 0, 0, 0, 0}, msgpack.AppendUint(header, sync)...)
			if kind == typeExecute && sync > mostSmall { // as Picodata up to 26.3 does: the marker of another length
				out = append([]byte{0xce, 0, 0, 0, 0}, append(header, 0xcc)...)
				out = binary.NativeEndian.AppendUint64(out, sync)
			}
			out = append(out, answer...)
			setLength(out, 0)
			if _, err := c.Write(out); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { l.Close(); <-over })
	return l.Addr().String()
}

// Picodata can't number answers to EXECUTE beyond 127, so requests are numbered from 1 again, for any number of them
// and of questions that brunt asks itself.
func TestRequestsOfPicodataHaveSmallNumbers(t *testing.T) {
	address := picodata(t, func(kind byte, _ bool, body string) (code uint32, answer []byte) {
		switch {
		case kind == typeCall && strings.Contains(body, ".proc_version_info"):
			return 0, []byte("\x81\x30\x91\x81\xb0picodata_version\xa625.3.3")
		case kind == typeExecute:
			return 0, []byte("\x82\x32\x91\x82\xa4name\xa5COL_1\xa4type\xa7integer\x30\x91\x91\x01")
		}
		return errorBit | 48, []byte("\x81\x31\xa7unknown")
	})
	c, err := New().Dial(t.Context(), protocol.Target{Address: address}, program())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var reply protocol.Reply
	for i := range 300 {
		r := protocol.Request{ID: i % 3, Verb: protocol.SQL, Text: fmt.Sprintf("SELECT %d FROM t", i%3)}
		if i < 3 || i%50 == 0 {
			if err := c.(protocol.AdHoc).Add(t.Context(), &r); err != nil {
				t.Fatalf("statement %d: %v", i, err)
			}
		}
		if c.Do(t.Context(), &r, nil, &reply); reply.Class != protocol.OK || reply.Rows != 1 {
			t.Fatalf("request %d: %+v", i, reply)
		}
	}
}

// Numbers that are in flight are not given twice, and a request that has none is refused.
func TestNumbersInFlight(t *testing.T) {
	p := program(protocol.Request{Verb: protocol.Call, Text: "f"})
	statements, _, failure := compile(t.Context(), nil, options{sql: "call"}, p)
	if failure != nil {
		t.Fatal(failure)
	}
	c := &codec{statements: statements, small: true}
	seen := map[uint64]bool{}
	for range mostSmall {
		if _, err := c.Encode(nil, &p.Requests[0], nil); err != nil || seen[c.Tag()] || c.Tag() > mostSmall {
			t.Fatalf("number %d after %d others: %v", c.Tag(), len(seen), err)
		}
		seen[c.Tag()] = true
	}
	if _, err := c.Encode(nil, &p.Requests[0], nil); err == nil || err.Class != protocol.Client {
		t.Errorf("one request more: %v", err)
	}
}
