package protocoltest

import (
	"fmt"
	"strings"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
)

// Abilities are the features in which key-value stores differ.
type Abilities struct {
	Scans    bool // scans return records from a key on, in key order
	Unsorted bool // scans begin at the key, but continue in another order
	Batches  bool
	Replaces bool // an update removes the fields that it doesn't name
	Keeps    bool // an insert leaves an existing record unchanged
	Tells    bool // an insert reports that the key existed, without being asked
	Blind    bool // updates and deletes don't report whether the key existed
	NoSize   bool // the sizes of answers are unknown
}

// Records is a program on records of two fields, with checks of its answers.
type Records struct {
	Program protocol.Program
	table   string
}

// The numbers of a Records program's requests.
const (
	insert = iota
	read
	readOne
	update
	remove
	scan
	insertBatch
	readBatch
	deleteBatch
	create
)

// NewRecords returns the program for a table. Batches have two rows.
func NewRecords(table string, a Abilities) *Records {
	fields := []string{"field1", "field0"}
	both := []protocol.Capture{{Name: "field0"}, {Name: "field1"}}
	requests := []protocol.Request{
		{Name: "insert", Verb: protocol.Insert, Text: table, Fields: fields},
		{Name: "read", Verb: protocol.Read, Text: table, Capture: both},
		{Name: "read one", Verb: protocol.Read, Text: table, Fields: fields[1:], Capture: both[:1]},
		{Name: "update", Verb: protocol.Update, Text: table, Fields: fields[:1]},
		{Name: "delete", Verb: protocol.Delete, Text: table},
	}
	if a.Scans {
		requests = append(requests, protocol.Request{Name: "scan", Verb: protocol.Scan, Text: table, Capture: both})
	}
	if a.Batches {
		for len(requests) < insertBatch {
			requests = append(requests, requests[read])
		}
		requests = append(requests,
			protocol.Request{Name: "insert batch", Verb: protocol.Batch, Text: "insert " + table, Fields: fields, Rows: 2},
			protocol.Request{Name: "read batch", Verb: protocol.Batch, Text: "read " + table, Rows: 2, Capture: both[:1]},
			protocol.Request{Name: "delete batch", Verb: protocol.Batch, Text: "delete " + table, Rows: 2})
	}
	for len(requests) < create {
		requests = append(requests, requests[read])
	}
	requests = append(requests, protocol.Request{Name: "create", Verb: protocol.Insert, Text: table, Fields: fields,
		Creates: protocol.MustBeNew})
	for i := range requests {
		requests[i].ID = i
	}
	return &Records{Program: protocol.Program{Requests: requests}, table: table}
}

// Check inserts, reads, updates and deletes a few records in an empty table, and checks every answer.
func (p *Records) Check(t TB, c protocol.Conn, a Abilities) {
	t.Helper()
	odd := "v\"\\\x00\r\n" + strings.Repeat("ä", 50)
	steps := []struct {
		request int
		args    []any
		want    string
	}{
		{read, []any{"user1"}, "missing rows=0 null null"},
		{insert, []any{"user1", "one", "zero"}, "rows=0"},
		{read, []any{"user1"}, `rows=1 "zero" "one"`},
		{readOne, []any{"user1"}, `rows=1 "zero"`},
		{update, []any{"user1", odd}, "rows=0"},
		{read, []any{"user1"}, fmt.Sprintf(`rows=1 "zero" %q`, odd)},
		{insert, []any{"user1", "new", "newer"}, "rows=0"},
		{read, []any{"user1"}, `rows=1 "newer" "new"`},
		{update, []any{"nobody", "x"}, "missing rows=0"},
		{remove, []any{"user1"}, "rows=0"},
		{read, []any{"user1"}, "missing rows=0 null null"},
		{remove, []any{"user1"}, "missing rows=0"},
	}
	for i, s := range steps {
		want := s.want
		if a.Replaces && i == 5 {
			want = fmt.Sprintf("rows=1 null %q", odd)
		}
		if a.Keeps && i == 7 {
			want = steps[5].want
		}
		if a.Tells && i == 6 {
			want = "missing rows=0"
		}
		if a.Blind && (s.request == update || s.request == remove) || a.Replaces && s.request == update {
			want = "rows=0"
		}
		p.expect(t, c, a, s.request, want, s.args...)
	}
	p.expect(t, c, a, remove, "", "nobody") // an update may have created it
	p.expect(t, c, a, create, "rows=0", "created", "one", "zero")
	p.expect(t, c, a, create, "missing rows=0", "created", "one", "zero")
	p.expect(t, c, a, read, `rows=1 "zero" "one"`, "created")
	p.expect(t, c, a, remove, "rows=0", "created")
	if a.Scans {
		p.scans(t, c, a)
	}
	if a.Batches {
		p.batches(t, c, a)
	}
}

func (p *Records) scans(t TB, c protocol.Conn, a Abilities) {
	for i := range 5 {
		p.expect(t, c, a, insert, "rows=0", fmt.Sprintf("scan%d", i), fmt.Sprint("one", i), fmt.Sprint("zero", i))
	}
	p.expect(t, c, a, scan, `rows=2 "zero2" "one2"`, "scan2", 2)
	if _, codec := c.(*blocking.Conn); !codec { // etcd's codec has no rows
		p.told(t, c, a)
	}
	if !a.Unsorted {
		p.expect(t, c, a, scan, `rows=2 "zero3" "one3"`, "scan3", 1000)
		p.expect(t, c, a, scan, `rows=0 null null`, "scan9", 1000)
	}
	for i := range 5 {
		p.expect(t, c, a, remove, "rows=0", fmt.Sprintf("scan%d", i))
	}
}

// told checks that a scan passes every record to Reply.Each, with its key and all its fields.
func (p *Records) told(t TB, c protocol.Conn, a Abilities) {
	t.Helper()
	var got []string
	reply := protocol.Reply{Each: func(columns []string, row []gen.Value) {
		text := string(row[0].B)
		for _, name := range []string{"field0", "field1"} {
			for i := 1; i < len(columns); i++ {
				if strings.EqualFold(columns[i], name) && row[i].Kind != gen.Null {
					text += " " + string(row[i].B)
				}
			}
		}
		if len(columns) != 3 {
			text += fmt.Sprint(" of ", columns)
		}
		got = append(got, text)
	}}
	c.Do(Within(t, 10*time.Second), &p.Program.Requests[scan], Values("scan1", 3), &reply)
	if reply.Class != protocol.OK || int64(len(got)) != reply.Rows || len(got) == 0 {
		t.Fatalf("%d records told of a reply with %d rows: %v %s", len(got), reply.Rows, reply.Class, reply.Text)
	}
	for i, text := range got {
		var number string
		if fmt.Sscanf(text, "scan%1s", &number); !a.Unsorted {
			number = fmt.Sprint(i + 1)
		}
		if i == 0 {
			number = "1"
		}
		if want := fmt.Sprintf("scan%[1]s zero%[1]s one%[1]s", number); text != want {
			t.Fatalf("record %d: %q, want %q", i, text, want)
		}
	}
	if !a.Unsorted && len(got) != 3 {
		t.Fatalf("a scan of 3 told %d records", len(got))
	}
}

func (p *Records) batches(t TB, c protocol.Conn, a Abilities) {
	p.expect(t, c, a, insertBatch, "rows=0", "batch1", "a", "b", "batch2", "c", "d")
	p.expect(t, c, a, readBatch, `rows=2 "b"`, "batch1", "batch2")
	p.expect(t, c, a, readBatch, `missing rows=1 "d"`, "batch2", "batch3")
	p.expect(t, c, a, read, `rows=1 "d" "c"`, "batch2")
	if r := p.Do(t, c, readBatch, "batch1", "batch1"); r.Class != protocol.OK || r.Missing || r.Rows < 1 {
		t.Fatalf("a batch that reads a key twice: %+v", r)
	}
	p.expect(t, c, a, insertBatch, "rows=0", "batch4", "a", "b", "batch4", "a", "b")
	p.expect(t, c, a, read, `rows=1 "b" "a"`, "batch4")
	p.expect(t, c, a, deleteBatch, "", "batch4", "batch4")
	p.expect(t, c, a, deleteBatch, "rows=0", "batch1", "batch2")
	p.expect(t, c, a, readBatch, "missing rows=0 null", "batch1", "batch2")
}

func (p *Records) expect(t TB, c protocol.Conn, a Abilities, request int, want string, args ...any) {
	t.Helper()
	r := p.Do(t, c, request, args...)
	if r.Class != protocol.OK {
		t.Fatalf("%s %q: %v %s: %s", p.Program.Requests[request].Name, args, r.Class, r.Code, r.Text)
	}
	got := fmt.Sprintf("rows=%d", r.Rows)
	if r.Missing {
		got = "missing " + got
	}
	for i := range r.Captured {
		if r.Captured[i].Kind == gen.Null {
			got += " null"
		} else {
			got += fmt.Sprintf(" %q", r.Captured[i].B)
		}
	}
	if want != "" && got != want {
		t.Fatalf("%s %q:\n got %s\nwant %s", p.Program.Requests[request].Name, args, got, want)
	}
	if r.Rows > 0 && r.BytesIn == 0 && !a.NoSize {
		t.Fatalf("%s %q: the answer's size is missing", p.Program.Requests[request].Name, args)
	}
}

// Insert inserts a record with the key. It is exported, as Read is, for tests of failures.
func (p *Records) Insert(t TB, c protocol.Conn, key string) protocol.Reply {
	return p.Do(t, c, insert, key, "one", "zero")
}

// Read reads all fields of a key.
func (p *Records) Read(t TB, c protocol.Conn, key string) protocol.Reply {
	return p.Do(t, c, read, key)
}

// Do executes one request within 10 s. args are strings and integers.
func (p *Records) Do(t TB, c protocol.Conn, request int, args ...any) protocol.Reply {
	var reply protocol.Reply
	req := &p.Program.Requests[request]
	c.Do(Within(t, 10*time.Second), req, Values(args...), &reply)
	return reply
}

// Values converts strings and integers to arguments.
func Values(args ...any) []gen.Value {
	out := make([]gen.Value, len(args))
	for i, a := range args {
		switch x := a.(type) {
		case string:
			out[i].SetString(x)
		case int:
			out[i].SetInt(int64(x))
		case int64:
			out[i].SetInt(x)
		case []byte:
			out[i] = gen.Value{Kind: gen.Bytes, B: x}
		}
	}
	return out
}
