package shell

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/dialect/ycsb"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// fake answers each request with the request's text.
type fake struct {
	asked []protocol.Request
	args  [][]string
	reply protocol.Reply
	err   error

	records []string // keys of the records that a scan finds
}

func (f *fake) Do(_ context.Context, r protocol.Request, args []gen.Value, reply *protocol.Reply) error {
	var texts []string
	for i := range args {
		texts = append(texts, string(args[i].B))
	}
	f.asked, f.args = append(f.asked, r), append(f.args, texts)
	for _, key := range f.records {
		reply.Each([]string{"key", "FIELD1", "field2"}, []gen.Value{text(key), text("of " + key), {}})
	}
	*reply = f.reply
	return f.err
}

func job(t *testing.T, database string, values ...string) *ycsb.Job {
	t.Helper()
	d, err := ycsb.FindDatabase(database)
	if err != nil {
		t.Fatal(err)
	}
	set, _, err := ycsb.Given{Values: values}.Gather(os.ReadFile, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ycsb.Understand(ycsb.Shell, d, set, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	j, err := ycsb.Compile(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func run(t *testing.T, j *ycsb.Job, f *fake, commands string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Run(context.Background(), j, f, Terminal{In: strings.NewReader(commands), Out: &out}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func text(s string) (v gen.Value) { v.SetString(s); return v }

func TestDocumentsAreTakenApart(t *testing.T) {
	f := &fake{reply: protocol.Reply{Captured: []gen.Value{text(`{"field0":"YWI=","field1":"Yw=="}`)}}}
	out := run(t, job(t, "redis", "redis.datatype=string", "fieldcount=2"), f, "read k\ninsert k field0=ab field1=c\n")
	if want := "Read k ok\nfield0=\"ab\"\nfield1=\"c\"\nInsert k ok\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	if got := f.args[1][1]; got != `{"field0":"YWI=","field1":"Yw=="}` {
		t.Errorf("inserted %s", got)
	}
}

func TestFailuresAreTold(t *testing.T) {
	j := job(t, "redis", "fieldcount=1")
	f := &fake{err: errors.New("nobody there")}
	for _, command := range []string{"read k", "insert k field0=1", "delete k"} {
		if out := run(t, j, f, command); !strings.Contains(out, " k failed nobody there\n") {
			t.Errorf("%s: %q", command, out)
		}
	}
	f = &fake{reply: protocol.Reply{Failure: protocol.Failure{Class: protocol.Server, Text: "READONLY"}}}
	if out := run(t, j, f, "update k field0=1"); out != "Update k failed server: READONLY\n" {
		t.Errorf("%q", out)
	}
	for command, want := range map[string]string{
		"scan k 3": "can't do it", "scan k x": "invalid record count x", "insert k x": "field=value",
		"update k": "usage: update", "  ": "",
		"read k": "Read empty for k",
	} {
		if out := run(t, j, &fake{reply: protocol.Reply{Missing: true}}, command); !strings.Contains(out, want) {
			t.Errorf("%s: %q, want %q", command, out, want)
		}
	}
}

func TestScanPrintsWhatTheDriverTells(t *testing.T) {
	f := &fake{records: []string{"k1", "k2"}}
	want := rule + "\nRecord 1 k1\nfield1=\"of k1\"\nRecord 2 k2\nfield1=\"of k2\"\n" + rule + "\n"
	if out := run(t, job(t, "etcd"), f, "scan k 5 field1"); out != want || f.asked[0].Verb != protocol.Scan ||
		f.asked[0].Fields != nil {
		t.Errorf("%q", out)
	}
	if out := run(t, job(t, "etcd"), &fake{}, "scan k 5"); out != "0 records\n" {
		t.Errorf("%q", out)
	}
	f = &fake{}
	if out := run(t, job(t, "etcd"), f, "scan k 0"); out != "0 records\n" || len(f.asked) > 0 {
		t.Errorf("%q, asked %v", out, f.asked)
	}
}

func TestCompletion(t *testing.T) {
	sh := &shell{job: job(t, "redis", "fieldcount=12")}
	for _, c := range []struct{ line, want string }{
		{"re", "read "}, {"i", "insert "}, {"read k f", "read k field"}, {"read k field11", "read k field11 "},
		{"update k field3", "update k field3="},
	} {
		got, at, ok := sh.complete(c.line, len(c.line))
		if !ok || got != c.want || at != len(c.want) {
			t.Errorf("%q becomes %q at %d, want %q", c.line, got, at, c.want)
		}
	}
	if got, at, ok := sh.complete("del k", 3); got != "delete  k" || at != 7 || !ok {
		t.Errorf("%q %d", got, at)
	}
	if _, _, ok := sh.complete("zz", 2); ok {
		t.Error("nothing begins with zz")
	}
}

func TestHistoryIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	h := openHistory(file)
	for _, line := range []string{"read a", "read a", "", "read b"} {
		h.Add(line)
	}
	if h.Len() != 2 || h.At(0) != "read b" || h.At(1) != "read a" {
		t.Errorf("%q", h.lines)
	}
	if err := h.save(); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Error(err, st.Mode())
	}
	again := openHistory(file)
	for range 2 * mostLines {
		again.Add("x" + strings.Repeat("y", again.Len()%3))
	}
	if again.Len() > mostLines {
		t.Errorf("%d lines", again.Len())
	}
}
