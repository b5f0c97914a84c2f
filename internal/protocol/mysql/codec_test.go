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
		"values of answers are captured by the library tier":         {Verb: protocol.SQL, Capture: []protocol.Capture{{}}},
		"transactions with an isolation level need the library tier": {Verb: protocol.Begin, Text: "serializable"},
		"requests on records need the library tier":                  {Verb: protocol.Read},
	} {
		if why, ok := New().Takes(protocol.Target{}, &protocol.Program{Requests: []protocol.Request{r}}); ok || why != want {
			t.Errorf("%v, %q; want %q", ok, why, want)
		}
	}
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
	for name, row := range map[string]struct {
		link capabilities
		in   []byte
		want string
	}{
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
			c := codec{link: row.link, statements: make([]codecStatement, 1)}
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
	if n, over := c.ScanIdle(message); n != len(message) || !over {
		t.Errorf("%d bytes, over %v", n, over)
	}
	if n, over := c.ScanIdle(message[:6]); n != 0 || over {
		t.Errorf("of a part: %d bytes, over %v", n, over)
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
	f.Add([]byte("\x01\x00\x00\x01\x02"), true, true)
	f.Add([]byte("\x07\x00\x00\x01\x00\x03\x00\x02\x00\x00\x00"), false, false)
	f.Fuzz(func(t *testing.T, in []byte, deprecate, cache bool) {
		c := codec{link: capabilities{deprecate, cache}, statements: make([]codecStatement, 1)}
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
