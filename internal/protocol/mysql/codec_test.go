package mysql

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
)

// connection opens a session over the codec, from a goroutine.
func connection(t *testing.T, target protocol.Target, requests []protocol.Request) protocol.Conn {
	t.Helper()
	for i := range requests {
		requests[i].ID = i
	}
	p := &protocol.Program{Requests: requests}
	if why, ok := New().Takes(target, p); !ok {
		t.Fatal(why)
	}
	o, err := New().Open(t.Context(), target, p)
	if err != nil {
		t.Fatal(err)
	}
	c := blocking.New(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestCodecAnswersAsTheLibrary sends the same requests over the library and over the codec, to a server that leaves out
// what it knows that the client knows (MariaDB), more than once.
func TestCodecAnswersAsTheLibrary(t *testing.T) {
	s := servers.MariaDB(t)
	target := targetOf(s)
	openAdmin(t, target, "CREATE OR REPLACE TABLE codec "+
		"(id INT PRIMARY KEY AUTO_INCREMENT, t TEXT, f DOUBLE, b BLOB, d DATETIME(6))")
	sql := func(text string, kinds ...gen.Kind) protocol.Request {
		return protocol.Request{Verb: protocol.SQL, Text: text, Params: kinds}
	}
	text := func(text string, kinds ...gen.Kind) protocol.Request {
		r := sql(text, kinds...)
		r.Simple = true
		return r
	}
	insert := "INSERT INTO codec (t, f, b, d) VALUES ($1, $2, $3, $4)"
	kinds := []gen.Kind{gen.String, gen.Float, gen.Bytes, gen.Datetime}
	requests := []protocol.Request{
		{Verb: protocol.Begin}, {Verb: protocol.Commit}, {Verb: protocol.Rollback},
		sql(insert, kinds...), text(insert, kinds...),
		sql("SELECT * FROM codec WHERE id > $1 AND t <> $2", gen.Int, gen.String),
		text("SELECT * FROM codec WHERE id > $1 AND t <> $2", gen.Int, gen.String),
		text("SELECT 1"), sql("DELETE FROM codec WHERE id < $1", gen.Int), sql("SELECT id FROM codec WHERE id = 0"),
		text("SELECT * FROM nowhere"), sql("SELECT id FROM codec WHERE id = $1", gen.Int),
		sql("SELECT repeat('x', 17000000)"), text("SELECT seq, 'ab' FROM seq_1_to_3000"), sql("DO 1"),
		sql("INSERT INTO codec (id, t) VALUES ($1, 'again')", gen.Int),
	}
	values := func(n int) []gen.Value {
		v := make([]gen.Value, 4)
		v[0].SetString(`it's a \ "` + strings.Repeat("ü", 200*n))
		v[1].Kind, v[1].F = gen.Float, 1.5
		v[2].Kind, v[2].B = gen.Bytes, []byte{0, 1, 0xff, '\'', '\\'}
		v[3].Kind, v[3].I = gen.Datetime, 1_700_000_000_123_456
		return v
	}
	ints := func(n int64) []gen.Value {
		v := make([]gen.Value, 2)
		v[0].SetInt(n)
		v[1].SetString("no")
		return v
	}
	null := make([]gen.Value, 4)
	steps := []struct {
		request int
		args    []gen.Value
	}{
		{0, nil}, {3, values(1)}, {4, values(2)}, {3, null}, {1, nil}, {5, ints(0)}, {5, ints(0)}, {6, ints(0)}, {7, nil},
		{0, nil}, {8, ints(1000)[:1]}, {2, nil}, {9, nil}, {9, nil}, {10, nil}, {11, ints(-1)[:1]}, {12, nil}, {13, nil},
		{14, nil}, {15, ints(4000)[:1]}, {15, ints(4000)[:1]}, {8, ints(1000)[:1]}, {8, ints(1000)[:1]},
	}
	library, _ := dial(t, target, requests...)
	var want []string
	run := func(c protocol.Conn) (all []string) {
		for _, step := range steps {
			var r protocol.Reply
			c.Do(context.Background(), &requests[step.request], step.args, &r)
			all = append(all, fmt.Sprintf("%d: rows %d affected %d missing %v class %v code %q text %q fatal %v",
				step.request, r.Rows, r.Affected, r.Missing, r.Class, r.Code, r.Text, r.Fatal))
		}
		return all
	}
	want = run(library)
	openAdmin(t, target, "TRUNCATE codec")
	got := run(connection(t, target, requests))
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("codec:   %s\nlibrary: %s", got[i], want[i])
		}
	}
}

func TestCodecTakesNotEverything(t *testing.T) {
	for want, r := range map[string]protocol.Request{
		"values of answers are captured by the library tier":                                 {Verb: protocol.SQL, Capture: []protocol.Capture{{}}},
		"transactions with an isolation level need the library tier":                         {Verb: protocol.Begin, Text: "serializable"},
		"requests on records need the library tier":                                          {Verb: protocol.Read},
		"columns of one row can't be captured as a whole":                                    {CaptureAll: protocol.FirstRow},
		"a statement whose text is an argument has that argument first, and is sent as text": {Verbatim: true},
	} {
		if why, ok := New().Takes(protocol.Target{}, &protocol.Program{Requests: []protocol.Request{r}}); ok || why != want {
			t.Errorf("%v, %q; want %q", ok, why, want)
		}
	}
}

// TestWholeAnswers captures every row of every result, and sends statements whose text is an argument, over the codec
// and as sessions of the library tier.
func TestWholeAnswers(t *testing.T) {
	target := targetOf(servers.MariaDB(t))
	target.Options = map[string]string{protocol.InitOption: "set @first = 'it''s first';\n\nset @second = 2"}
	all := protocol.Request{Verb: protocol.SQL, CaptureAll: protocol.AllRows}
	free, given, fixed := all, all, all
	free.Verbatim, free.Params = true, []gen.Kind{gen.String}
	given.Verbatim, given.Params = true, []gen.Kind{gen.String, gen.String, gen.Int}
	fixed.Text, fixed.Params = "select $2 as b, $1 as a", []gen.Kind{gen.String, gen.Int}
	requests := []protocol.Request{free, given, fixed}
	for i := range requests {
		requests[i].ID = i
	}
	text := func(s string) gen.Value { return gen.Value{Kind: gen.String, B: []byte(s)} }
	five := gen.Value{Kind: gen.Int, I: 5}
	cases := []struct {
		request int
		args    []gen.Value
		want    string
	}{
		{0, []gen.Value{text("select @first as f, @second")}, "[1 of 1, 0 affected; f/0=it's first @second/1=2] "},
		{0, []gen.Value{text("create or replace table whole (i int, b bool, f float, d double, n decimal(5,2), y year, " +
			"at datetime, day date, tod time, bits bit(1), raw varbinary(9), u tinyint(1) unsigned)")}, "[0 of 0, 0 affected] "},
		{0, []gen.Value{text("insert into whole values (1, true, 1.5, 1e30, 2, 2026, '2026-01-02 03:04:05', " +
			"'2026-01-02', '03:04:05', 1, 'raw', 3), (2, null, null, null, null, null, null, null, null, null, null, null)")},
			"[0 of 0, 2 affected] "},
		{0, []gen.Value{text("select * from whole order by i")}, "[2 of 2, 0 affected; i/1=1 b/5=1 f/3=1.5 d/4=1e30 n/2=2.00 " +
			"y/11=2026 at/9=2026-01-02 03:04:05 day/7=2026-01-02 tod/8=03:04:05 bits/5=1 raw/6=raw u/1=3; i/1=2 b/5 f/3 d/4 " +
			"n/2 y/11 at/9 day/7 tod/8 bits/5 raw/6 u/1] "},
		{1, []gen.Value{text("select ? as a, '?' as b, ? as c -- ?"), text("it's \\"), five},
			"[1 of 1, 0 affected; a/0=it's \\ b/0=? c/1=5] "},
		{1, []gen.Value{text("select ?"), text("a"), five}, "client  the statement has 1 question marks and 2 parameters"},
		{2, []gen.Value{text("x"), five}, "[1 of 1, 0 affected; b/1=5 a/0=x] "},
		{0, []gen.Value{text("create or replace procedure twice() begin select 1 as a; select 2 as b where false; end")},
			"[0 of 0, 0 affected] "},
		{0, []gen.Value{text("call twice()")}, "[1 of 1, 0 affected; a/1=1] [0 of 0, 0 affected] [0 of 0, 0 affected] "},
		{0, []gen.Value{text("select repeat('x', 6000000) as x from seq_1_to_4")}, "[3 of 4, 0 affected] "},
		{0, []gen.Value{text("select nothing")}, "server 1054 Unknown column 'nothing' in 'SELECT'"},
	}
	for name, open := range map[string]func() protocol.Conn{
		"codec": func() protocol.Conn { return connection(t, target, requests) },
		"dialled": func() protocol.Conn {
			c, err := New().Dial(t.Context(), target, &protocol.Program{Requests: requests})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := open()
			var reply protocol.Reply
			for _, row := range cases {
				c.Do(t.Context(), &requests[row.request], row.args, &reply)
				if got := whole(&reply); !strings.EqualFold(got, row.want) {
					t.Errorf("%s:\n got %s\nwant %s", row.args[0].B, got, row.want)
				}
			}
		})
	}
}

// whole describes an answer whose rows are captured, short ones with their values.
func whole(r *protocol.Reply) string {
	if r.Class != protocol.OK {
		return fmt.Sprintf("%s %s %s", r.Class, r.Code, r.Text)
	}
	var b strings.Builder
	values := r.Captured
	for _, result := range r.Results {
		fmt.Fprintf(&b, "[%d of %d, %d affected", result.Captured, result.Rows, result.Affected)
		for row := range result.Captured {
			fields := values[row*len(result.Columns):][:len(result.Columns)]
			for i, name := range result.Columns {
				switch {
				case len(fields[i].B) > 100 && fields[i].Kind != gen.Null:
					continue
				case i == 0:
					b.WriteString(";")
				}
				fmt.Fprintf(&b, " %s/%d", name, result.Types[i])
				if fields[i].Kind != gen.Null {
					fmt.Fprintf(&b, "=%s", fields[i].B)
				}
			}
		}
		values = values[result.Captured*len(result.Columns):]
		b.WriteString("] ")
	}
	return b.String()
}

// TestScanInPieces scans answers that arrive byte by byte, with and without EOF after columns.
func TestScanInPieces(t *testing.T) {
	frame := func(bodies ...string) (b []byte) {
		for i, body := range bodies {
			b = append(b, byte(len(body)), byte(len(body)>>8), 0, byte(i+1))
			b = append(b, body...)
		}
		return b
	}
	eof, over := "\xfe\x00\x00\x02\x00", "\xfe\x00\x00\x02\x00\x00\x00"
	const noFile = "the server asks for a file of this machine (LOAD DATA LOCAL), which isn't sent"
	ok := "\x00\x03\x00\x02\x00\x00\x00"
	column := "\x03def\x00\x00\x00\x01a\x00\x0c\x3f\x00\x0b\x00\x00\x00\x03\x00\x00\x00\x00\x00"
	for name, row := range map[string]struct {
		link capabilities
		all  bool
		in   []byte
		want string
	}{
		"all rows": {all: true, in: frame("\x01", column, eof, "\x0217", "\xfb", eof), want: "rows 2 affected 0 ok"},
		"a malformed column": {all: true, in: frame("\x01", "\x03def\x09"),
			want: "rows 0 affected 0 protocol  the server's answer isn't one of MySQL's protocol"},
		"a malformed row": {all: true, in: frame("\x01", column, eof, "\x0217x"),
			want: "rows 1 affected 0 protocol  the server's answer isn't one of MySQL's protocol"},
		"ok": {in: frame(ok), want: "rows 0 affected 3 ok"},
		"old": {in: frame("\x02", "column", "column", eof, "\x00row", "\x00\xfe", eof),
			want: "rows 2 affected 0 ok"},
		"without eof": {link: capabilities{deprecateEOF: true}, in: frame("\x01", "column", "\x00row", over),
			want: "rows 1 affected 0 ok"},
		"cached": {link: capabilities{deprecateEOF: true, cacheMetadata: true},
			in: frame("\x01\x00", "\x00row", over), want: "rows 1 affected 0 ok"},
		"two results": {in: frame("\x00\x01\x00\x0a\x00\x00\x00", ok), want: "rows 0 affected 4 ok"},
		"error":       {in: frame("\xff\x24\x04#23000Duplicate"), want: "rows 0 affected 0 server 1060 Duplicate"},
		"deadlock": {in: frame("\x01", "column", eof, "\xff\xbd\x04#40001Deadlock"),
			want: "rows 0 affected 0 retryable 1213 Deadlock"},
		"nonsense": {in: frame("\xfb\x01"), want: "rows 0 affected 0 protocol  " + noFile},
		"an empty body": {in: frame(""),
			want: "rows 0 affected 0 protocol  the server's answer isn't one of MySQL's protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			c := codec{link: row.link, statements: []codecStatement{{all: row.all}}}
			req := &protocol.Request{Verb: protocol.SQL}
			var reply protocol.Reply
			var unread []byte
			for i, b := range row.in {
				unread = append(unread, b)
				n, done, _ := c.Scan(unread, req, &reply)
				unread = unread[n:]
				if done != (i+1 == len(row.in)) {
					t.Fatalf("done %v after %d of %d bytes", done, i+1, len(row.in))
				}
			}
			got := strings.TrimSpace(fmt.Sprintf("rows %d affected %d %s %s %s", reply.Rows, reply.Affected, reply.Class,
				reply.Code, reply.Text))
			if got != row.want || len(unread) > 0 || int(reply.BytesIn) != len(row.in) {
				t.Errorf("%s, want %s; %d bytes are left", got, row.want, len(unread))
			}
		})
	}
}

func TestScanIdle(t *testing.T) {
	message := append([]byte{10, 0, 0, 0}, "\xff\xbf\x0f#HY000.."...)
	message[0] = byte(len(message) - 4)
	c := &codec{}
	if n, end := c.ScanIdle(message); n != len(message) || end == nil || end.Code != "4031" || end.Text != ".." {
		t.Errorf("%d bytes, %v", n, end)
	}
	if n, end := c.ScanIdle(message[:6]); n != 0 || end != nil {
		t.Errorf("of a part: %d bytes, %v", n, end)
	}
}

func TestLiterals(t *testing.T) {
	var v gen.Value
	v.SetString("it's \\ \x00")
	if got := appendLiteral(nil, &v, false); !bytes.Equal(got, []byte(`'it''s \\ \0'`)) {
		t.Errorf("%s", got)
	}
	if got := appendLiteral(nil, &v, true); !bytes.Equal(got, []byte("'it''s \\ \x00'")) {
		t.Errorf("%s", got)
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x01\x02"), true, true, false)
	f.Add([]byte("\x07\x00\x00\x01\x00\x03\x00\x02\x00\x00\x00"), false, false, false)
	f.Add([]byte("\x01\x00\x00\x01\x01\x17\x00\x00\x02\x03def\x00\x00\x00\x01a\x00\x0c\x3f\x00\x0b\x00\x00\x00\x03"+
		"\x00\x00\x00\x00\x00\x03\x00\x00\x03\x0217"), true, false, true)
	f.Fuzz(func(t *testing.T, in []byte, deprecate, cache, all bool) {
		c := codec{link: capabilities{deprecate, cache}, statements: []codecStatement{{all: all}}}
		req := &protocol.Request{Verb: protocol.SQL}
		for len(in) > 0 {
			var reply protocol.Reply
			n, done, _ := c.Scan(in, req, &reply)
			if n < 0 || n > len(in) {
				t.Fatalf("consumed %d of %d bytes", n, len(in))
			}
			if !done {
				return
			}
			in = in[n:]
		}
	})
}
