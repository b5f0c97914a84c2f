package protocol

import "testing"

func TestKind(t *testing.T) {
	for _, c := range []struct {
		r      Request
		want   Kind
		writes bool
	}{
		{Request{Text: "select 1"}, KindRead, false},
		{Request{Text: " /* a */ (select 1)"}, KindRead, false},
		{Request{Text: "select * from t for update"}, KindRead, false},
		{Request{Text: "with a as (select 1 for no key update) select * from a"}, KindRead, false},
		{Request{Text: "with a as (select 1) update t set x = 1"}, KindUpdate, true},
		{Request{Text: "with a as (delete from t returning *) select * from a"}, KindDelete, true},
		{Request{Text: "explain analyze insert into t values (1)"}, KindInsert, true},
		{Request{Text: "insert into t select 1"}, KindInsert, true},
		{Request{Text: "call f()"}, KindOther, true},
		{Request{Text: "create table t (x int)"}, KindOther, true},
		{Request{Text: "select 1; update t set x = 1", Simple: true}, KindOther, true},
		{Request{Text: "select ';' ; ", Simple: true}, KindRead, false},
		{Request{Text: ""}, KindOther, true},
		{Request{Verb: Begin}, KindOther, false},
		{Request{Verb: Commit}, KindOther, true},
		{Request{Verb: Rollback}, KindOther, false},
		{Request{Verb: Call}, KindOther, true},
		{Request{Verb: Eval}, KindOther, true},
		{Request{Verb: Select}, KindRead, false},
		{Request{Verb: Upsert}, KindInsert, true},
		{Request{Verb: Scan}, KindRead, false},
		{Request{Verb: Batch, Text: "read t"}, KindRead, false},
		{Request{Verb: Batch, Text: "delete t"}, KindDelete, true},
		{Request{Verb: Command, Words: []string{"hgetall", "$1"}}, KindRead, false},
		{Request{Verb: Command, Words: []string{"SET", "$1", "x"}}, KindUpdate, true},
		{Request{Verb: Command, Words: []string{"unlink", "$1"}}, KindDelete, true},
		{Request{Verb: Command}, KindOther, true},
		{Request{Verb: HTTP, Web: &Web{}}, KindRead, false},
		{Request{Verb: HTTP, Web: &Web{Method: "POST"}}, KindOther, true},
		{Request{Verb: HTTP, Web: &Web{Method: "PATCH"}}, KindUpdate, true},
		{Request{Verb: HTTP, Web: &Web{Method: "HEAD"}}, KindRead, false},
	} {
		if got := c.r.Kind(); got != c.want || c.r.MayWrite() != c.writes {
			t.Errorf("%+v: kind %d, writes %v; want %d, %v", c.r, got, c.r.MayWrite(), c.want, c.writes)
		}
	}
}

func TestFrames(t *testing.T) {
	for _, c := range []struct {
		r    Request
		want bool
	}{
		{Request{Verb: Begin}, true},
		{Request{Verb: Commit}, true},
		{Request{Verb: Rollback}, true},
		{Request{Verb: Call, Text: "begin"}, false},
		{Request{Text: "begin"}, true},
		{Request{Text: " -- a\n Start transaction"}, true},
		{Request{Text: "ROLLBACK TO a"}, true},
		{Request{Text: "savepoint a"}, true},
		{Request{Text: "update t set x = 1; rollback", Simple: true}, true},
		{Request{Text: "update t set \"begin\" = ';begin'"}, false},
		{Request{Text: "DO $$ BEGIN UPDATE t SET x = 1; END $$"}, false},
		{Request{Text: ""}, false},
	} {
		t.Run(c.r.Text, func(t *testing.T) {
			if got := c.r.Frames(); got != c.want {
				t.Errorf("%+v: %v", c.r, got)
			}
		})
	}
}

func TestMissed(t *testing.T) {
	for _, c := range []struct {
		k              Kind
		rows, affected int64
		want           bool
	}{
		{KindRead, 0, 0, true}, {KindRead, 1, 0, false}, {KindUpdate, 0, 0, true}, {KindUpdate, 0, 1, false},
		{KindDelete, 0, 0, true}, {KindDelete, 1, 1, false}, {KindInsert, 0, 0, true}, {KindInsert, 0, 1, false},
		{KindInsert, 1, 0, false}, {KindOther, 0, 0, false},
	} {
		if c.k.Missed(c.rows, c.affected) != c.want {
			t.Errorf("%+v", c)
		}
	}
}
