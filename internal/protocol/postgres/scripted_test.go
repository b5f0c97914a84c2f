package postgres

import (
	"fmt"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
)

// scriptedRequests are statements of scripts in all ways of sending them.
func scriptedRequests() []protocol.Request {
	verbatim := func(all protocol.Row) protocol.Request {
		return protocol.Request{Verb: protocol.SQL, Text: "text", Verbatim: true, CaptureAll: all,
			Params: []gen.Kind{gen.String}}
	}
	late := sql("SELECT $1::int + $2 AS sum, NULL AS nothing", gen.String, gen.Int)
	late.Late, late.CaptureAll = true, protocol.FirstRow
	unnamed := late
	unnamed.Late, unnamed.Unnamed = false, true
	pipeline := protocol.Request{Verb: protocol.SQL, Params: []gen.Kind{gen.Int, gen.Int}, Late: true,
		Pipeline: []protocol.PipelinePart{{Text: "BEGIN"}, {Text: "INSERT INTO piped VALUES ($1)", Params: 1},
			{Text: "COMMIT", Sync: true}, {}, {Text: "INSERT INTO piped VALUES ($1)", Params: 1}, {Text: "SELECT 1"}}}
	piped := pipeline
	piped.Late, piped.Unnamed = false, true
	known := protocol.Request{Verb: protocol.SQL, Text: "SELECT 5 AS five", Simple: true, CaptureAll: protocol.FirstRow}
	whole := verbatim(protocol.AllRows)
	parsed := verbatim(protocol.AllRows)
	parsed.Unnamed, parsed.Params = true, []gen.Kind{gen.String, gen.Int}
	return []protocol.Request{verbatim(protocol.NoRow), verbatim(protocol.FirstRow), verbatim(protocol.LastRow), late,
		unnamed,
		pipeline, piped, late, known, whole, parsed}
}

func said(r *protocol.Reply) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows", r.Rows)
	for i, name := range r.Columns {
		fmt.Fprintf(&b, " %s=%s", name, protocoltest.Text(&r.Captured[i]))
	}
	values := r.Captured
	for _, result := range r.Results {
		fmt.Fprintf(&b, " [%d of %d, %d affected", result.Captured, result.Rows, result.Affected)
		for row := range result.Captured {
			b.WriteString(";")
			for i, name := range result.Columns {
				fmt.Fprintf(&b, " %s/%d=%s", name, result.Types[i], protocoltest.Text(&values[row*len(result.Columns)+i]))
			}
		}
		values = values[result.Captured*len(result.Columns):]
		b.WriteString("]")
	}
	if r.InBlock {
		b.WriteString(" in block")
	}
	if r.Class != protocol.OK {
		fmt.Fprintf(&b, " %s %s", r.Code, r.Text)
	}
	return b.String()
}

func TestScriptedStatements(t *testing.T) {
	target := targetOf(server(t))
	execute(t, openAdmin(t, target), "DROP TABLE IF EXISTS piped", "CREATE TABLE piped (i int)")
	cases := []struct {
		request int
		args    []gen.Value
		want    string
	}{
		{0, []gen.Value{text("SELECT 1 AS a, 2; SELECT 3")}, "2 rows"},
		{1, []gen.Value{text("SELECT 1 AS a; SELECT 'x' AS b, NULL AS c, 5 AS b")}, `1 rows b=6:"x" c=null b=6:"5"`},
		{1, []gen.Value{text("SELECT 1 AS a; SET work_mem = '1MB'")}, "0 rows"},
		{1, []gen.Value{text("SELECT generate_series(1, 3) AS g")}, `3 rows g=6:"1"`},
		{1, []gen.Value{text(";")}, "0 rows"},
		{1, []gen.Value{text("SELECT 1 WHERE false")}, "0 rows"},
		{2,
			[]gen.Value{text("SELECT generate_series(1, 3) AS g; SET work_mem = '1MB'; SELECT 7 AS h; SELECT 1 AS i WHERE false")},
			`4 rows g=6:"3" h=6:"7"`},
		{0, []gen.Value{text("BEGIN")}, "0 rows in block"},
		{0, []gen.Value{text("SELECT 1/0")}, "0 rows in block 22012 division by zero"},
		{0, []gen.Value{text("ROLLBACK")}, "0 rows"},
		{3, []gen.Value{text("40"), integer(2)}, `1 rows sum=6:"42" nothing=null`},
		{3, []gen.Value{text("-1"), {}}, `1 rows sum=null nothing=null`},
		{3, []gen.Value{text("many"), integer(2)}, `0 rows 22P02 invalid input syntax for type integer: "many"`},
		{4, []gen.Value{text("40"), integer(2)}, `1 rows sum=6:"42" nothing=null`},
		{5, []gen.Value{integer(1), integer(2)}, "1 rows"},
		{5, []gen.Value{integer(1), integer(2)}, "1 rows"},
		{6, []gen.Value{integer(1), integer(2)}, "1 rows"},
		{7, []gen.Value{text("40"), integer(3)}, `1 rows sum=6:"43" nothing=null`}, // prepared for request 3
		{8, nil, `1 rows five=6:"5"`},
		{9, []gen.Value{text("SELECT g, g > 1 AS b, NULL AS n FROM generate_series(1, 2) AS g; SET work_mem = '1MB'; ;" +
			`INSERT INTO piped SELECT 9 WHERE false RETURNING 1 AS r; SELECT '\x4142'::bytea, 1.50, now()::date WHERE false`)},
			`2 rows [2 of 2, 0 affected; g/1=6:"1" b/5=6:"f" n/0=null; g/1=6:"2" b/5=6:"t" n/0=null] [0 of 0, 0 affected]` +
				` [0 of 0, 0 affected] [0 of 0, 0 affected]`},
		{9, []gen.Value{text(`SELECT '\x4142'::bytea AS b, 1.5::real AS r, 2::float8 AS d`)},
			`1 rows [1 of 1, 0 affected; b/6=6:"AB" r/3=6:"1.5" d/4=6:"2"]`},
		{9, []gen.Value{text("SELECT repeat('x', 9000000) FROM generate_series(1, 3) WHERE false; SELECT repeat('x', 15)")},
			`1 rows [0 of 0, 0 affected] [1 of 1, 0 affected; repeat/0=6:"xxxxxxxxxxxxxxx"]`},
		{10, []gen.Value{text("SELECT $1::int + 1 AS sum"), integer(2)}, `1 rows [1 of 1, 0 affected; sum/1=6:"3"]`},
		{10, []gen.Value{text("SELECT $1::text AS same"), {}}, `1 rows [1 of 1, 0 affected; same/0=null]`},
		{10, []gen.Value{text("DELETE FROM piped WHERE i = $1"), integer(-1)}, `0 rows [0 of 0, 0 affected]`},
		{10, []gen.Value{text("SELECT $1::int / 0"), integer(2)}, `0 rows 22012 division by zero`},
		{0, []gen.Value{text("DEALLOCATE ALL")}, "0 rows"},
		{3, []gen.Value{text("40"), integer(4)}, `again 0 rows 26000 prepared statement "NAME" does not exist`},
		{3, []gen.Value{text("40"), integer(4)}, `1 rows sum=6:"44" nothing=null`}, // unnamed from now on
		{5, []gen.Value{integer(1), integer(2)}, "1 rows"},
	}
	tiers(t, func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn) {
		p := program(scriptedRequests()...)
		conn := open(target, p)
		var reply protocol.Reply
		for i, c := range cases {
			reply.Reset(0)
			conn.Do(testContext(t), &p.Requests[c.request], c.args, &reply)
			got := said(&reply)
			if at := strings.Index(got, `"brunt_`); at >= 0 {
				got = got[:at] + `"NAME"` + got[at+len(`"brunt_`)+24+1:]
			}
			if reply.Again {
				got = "again " + got
			}
			if got == c.want {
				continue
			}
			// A blocking connection repeats such a request itself.
			if next := cases[min(i+1, len(cases)-1)].want; strings.HasPrefix(c.want, "again ") && got == next {
				continue
			}
			t.Errorf("case %d, request %d:\n got %s\nwant %s", i, c.request, got, c.want)
		}
	})
	if rows := column(t, openAdmin(t, target), "SELECT string_agg(i::text, '' ORDER BY i) FROM piped"); rows[0] !=
		strings.Repeat("1", 12)+strings.Repeat("2", 12) {
		t.Errorf("the pipelines inserted %s", rows)
	}
}

// scriptedAnswers are answers to scriptedRequests, by request.
func scriptedAnswers() map[int]string {
	description := message('T', "\x00\x01id\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00")
	row := message('D', "\x00\x01"+field("17"))
	complete := message('C', "SELECT 2\x00")
	parsed := message('1', "")
	return map[int]string{
		0:  description + row + complete + ready,
		1:  description + row + complete + description + row + row + complete + ready,
		2:  description + row + complete + message('I', "") + description + row + row + complete + ready,
		3:  parsed + bindComplete + description + row + complete + ready,
		4:  parsed + bindComplete + description + message('E', "SERROR\x00VERROR\x00C22012\x00Mzero\x00\x00") + ready,
		9:  description + row + row + complete + message('C', "DELETE 3\x00") + ready,
		10: parsed + bindComplete + description + row + complete + ready,
		5:  parsed + parsed + ready + bindComplete + complete + ready + ready + bindComplete + complete + ready,
	}
}

func encoded(t protocoltest.TB, id int) (*codec, *protocol.Program) {
	p := program(scriptedRequests()...)
	c := &codec{statements: planned(p).session(), program: planned(p)}
	args := []gen.Value{text("SELECT 1")}
	args = append(args, integer(2))[:len(p.Requests[id].Params)]
	if _, err := c.Encode(nil, &p.Requests[id], args); err != nil {
		t.Fatalf("%v", err)
	}
	return c, p
}

func TestScriptedAnswersTorn(t *testing.T) {
	for id, answer := range scriptedAnswers() {
		_, p := encoded(t, id)
		fresh := func() protocol.Codec {
			c, _ := encoded(t, id)
			return c
		}
		if got := protocoltest.Torn(t, fresh, &p.Requests[id], []byte(answer), false); !got.Done || len(got.Left) > 0 {
			t.Errorf("request %d: %s", id, got)
		}
	}
}

func FuzzScriptedScan(f *testing.F) {
	for id, answer := range scriptedAnswers() {
		f.Add(uint8(id), []byte(answer))
	}
	f.Fuzz(func(t *testing.T, id uint8, answer []byte) {
		request := int(id) % len(scriptedRequests())
		_, p := encoded(t, request)
		whole, _ := encoded(t, request)
		pieces, _ := encoded(t, request)
		cuts := make([]int, max(len(answer)-1, 0))
		for i := range cuts {
			cuts[i] = i + 1
		}
		want := protocoltest.Scan(whole, &p.Requests[request], answer, nil, false).String()
		if got := protocoltest.Scan(pieces, &p.Requests[request], answer, cuts, false).String(); got != want {
			t.Errorf("in pieces:\n%s\nwhole:\n%s", got, want)
		}
	})
}
