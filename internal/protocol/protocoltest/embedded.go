package protocoltest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"brunt/internal/protocol"
)

// embeddedTB is the part of testing.TB that Embedded needs.
type embeddedTB interface {
	errorTB
	TempDir() string
}

// keyValueDriver is a driver of an in-process store.
type keyValueDriver interface {
	protocol.Driver
	protocol.KeyValueAdmin
}

// Embedded tests an in-process store over its whole life cycle. fast are options that avoid waiting for the
// disk.
func Embedded(t embeddedTB, d keyValueDriver, fast map[string]string) {
	t.Helper()
	ctx := Within(t, time.Minute)
	target := protocol.Target{Address: filepath.Join(t.TempDir(), "store"), Options: fast}
	a := Abilities{Scans: true, Batches: true}
	p := NewRecords("usertable", a)
	open := func(p *Records) protocol.Conn {
		t.Helper()
		c, err := d.Dial(ctx, target, &p.Program)
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		return c
	}
	prepare := func(table string, drop bool) {
		t.Helper()
		if err := d.Prepare(ctx, target, table, []string{"field0", "field1"}, 100, drop); err != nil {
			t.Fatalf("prepare: %v", err)
		}
	}
	prepare("usertable", false)
	c, second := open(p), open(p)
	p.Check(t, c, a)
	p.Insert(t, c, "kept")
	if r := p.Read(t, second, "kept"); r.Missing {
		t.Errorf("sessions don't share the store")
	}
	noLostUpdates(t, d, target)
	c.Close()
	c.Close()
	second.Close()

	c = open(p)
	if r := p.Read(t, c, "kept"); r.Missing || string(r.Captured[0].B) != "zero" {
		t.Errorf("the record is gone with the last session: %+v", r)
	}
	other := NewRecords("usertable2", a)
	second = open(other)
	other.Insert(t, second, "kept")
	prepare("usertable", false)
	if r := p.Read(t, c, "kept"); r.Missing {
		t.Errorf("preparing emptied the table")
	}
	prepare("usertable", true)
	if r := p.Read(t, c, "kept"); !r.Missing {
		t.Errorf("dropping left a record")
	}
	if r := other.Read(t, second, "kept"); r.Missing {
		t.Errorf("dropping emptied another table")
	}
	if _, err := d.Dial(ctx, protocol.Target{Address: target.Address}, &p.Program); protocol.AsError(err) == nil ||
		protocol.AsError(err).Class != protocol.Client {
		t.Errorf("open with other options: %v", err)
	}
	info, err := d.Describe(ctx, target)
	if err != nil || info.Product != d.Name() || len(info.Settings) == 0 {
		t.Errorf("describe: %+v, %v", info, err)
	}
	c.Close()
	second.Close()
	refusals(t, d, p)
}

// noLostUpdates lets several sessions update fields of the same record concurrently.
func noLostUpdates(t embeddedTB, d protocol.Driver, target protocol.Target) {
	const sessions, updates = 4, 30
	fields := make([]string, sessions)
	for i := range fields {
		fields[i] = fmt.Sprint("field", i)
	}
	var requests []protocol.Request
	for i := range fields {
		requests = append(requests, protocol.Request{ID: i, Verb: protocol.Update, Text: "usertable",
			Fields: fields[i : i+1]})
	}
	read := protocol.Request{ID: sessions, Verb: protocol.Read, Text: "usertable"}
	for i := range fields {
		read.Capture = append(read.Capture, protocol.Capture{Name: fields[i]})
	}
	insert := protocol.Request{ID: sessions + 1, Verb: protocol.Insert, Text: "usertable", Fields: fields}
	p := &protocol.Program{Requests: append(requests, read, insert)}
	ctx := Within(t, time.Minute)
	do := func(c protocol.Conn, request int, args ...any) (r protocol.Reply) {
		for {
			c.Do(ctx, &p.Requests[request], Values(args...), &r)
			if r.Class != protocol.Retryable {
				return r
			}
		}
	}
	c, err := d.Dial(ctx, target, p)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer c.Close()
	do(c, sessions+1, "shared", "", "", "", "")
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			c, err := d.Dial(ctx, target, p)
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			defer c.Close()
			for n := range updates {
				if r := do(c, i, "shared", fmt.Sprint(n)); r.Class != protocol.OK {
					t.Errorf("update: %+v", r.Failure)
					return
				}
			}
		})
	}
	all.Wait()
	r := do(c, sessions, "shared")
	for i := range r.Captured {
		if got := string(r.Captured[i].B); got != fmt.Sprint(updates-1) {
			t.Errorf("the last update of %s is lost: %q", fields[i], got)
		}
	}
}

// refusals tests that opening invalid targets fails as expected.
func refusals(t embeddedTB, d protocol.Driver, p *Records) {
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("not a store\n", 1000)), 0o600); err != nil {
		t.Fatalf("%v", err)
	}
	for _, c := range []struct {
		target protocol.Target
		class  protocol.Class
		want   string
	}{
		{protocol.Target{}, protocol.Client, "no address"},
		{protocol.Target{Address: garbage}, protocol.Connect, "can't open " + garbage},
		{protocol.Target{Address: filepath.Join(garbage, "below")}, protocol.Connect, "can't open"},
		{protocol.Target{Address: t.TempDir(), Options: map[string]string{"no_such": "1"}}, protocol.Client, "no_such"},
	} {
		_, err := d.Dial(Within(t, time.Minute), c.target, &p.Program)
		if e := protocol.AsError(err); e == nil || e.Class != c.class || !strings.Contains(e.Text, c.want) {
			t.Errorf("%+v: got %v", c.target, err)
		}
	}
}
