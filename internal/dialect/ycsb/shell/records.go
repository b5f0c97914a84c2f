package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/dialect/ycsb"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// content holds the values for the slots of requests.
type content struct {
	key    string
	count  int64
	fields []string
	values map[string]string
}

// ask sends requests in order and returns the reply to the last one. It calls each, unless it is nil, for every row of
// the answers.
func (sh *shell) ask(requests []ycsb.Request, c content, each func(columns []string, row []gen.Value)) (*protocol.Reply,
	error) {
	if len(requests) == 0 {
		return nil, errors.New("this database can't do it")
	}
	var reply protocol.Reply
	for _, r := range requests {
		reply = protocol.Reply{Each: each}
		for i := range r.Capture {
			r.Capture[i].Kind = gen.String
		}
		if err := sh.session.Do(sh.ctx, r.Request, c.fill(r.Slots), &reply); err != nil {
			return nil, err
		}
		if r.Creates != protocol.Unasked {
			if f, not := r.Uncreated(&reply); not {
				return nil, fmt.Errorf("%s: %s", f.Class, f.Text)
			}
		}
		if reply.Class != protocol.OK {
			return nil, fmt.Errorf("%s: %s", reply.Class, reply.Text)
		}
	}
	return &reply, nil
}

// fill returns a request's arguments.
func (c *content) fill(slots []ycsb.Slot) []gen.Value {
	var args []gen.Value
	text := func(s string) {
		var v gen.Value
		v.SetString(s)
		args = append(args, v)
	}
	for _, slot := range slots {
		switch slot {
		case ycsb.KeySlot:
			text(c.key)
		case ycsb.CountSlot:
			var v gen.Value
			v.SetInt(c.count)
			args = append(args, v)
		case ycsb.FieldSlots:
			for _, f := range c.fields {
				text(c.values[f])
			}
		case ycsb.DocumentSlot:
			raw := map[string][]byte{}
			for k, v := range c.values {
				raw[k] = []byte(v)
			}
			document, _ := json.Marshal(raw) // can't fail for texts and bytes
			text(string(document))
		case ycsb.TextDocumentSlot:
			document, _ := json.Marshal(c.values)
			text(string(document))
		}
	}
	return args
}

// field prints a field.
func (sh *shell) field(name string, value []byte) { fmt.Fprintf(sh.out, "%s=%q\n", name, value) }

// record prints the captured fields of a record. It returns false if there are none.
func (sh *shell) record(fields []string, captured []gen.Value) bool {
	found := false
	if d, ok := sh.job.Store.(ycsb.DocumentStore); ok && d.Documents() {
		var document map[string][]byte
		if len(captured) == 0 || captured[0].Kind == gen.Null || json.Unmarshal(captured[0].B, &document) != nil {
			return false
		}
		for _, f := range fields {
			if v, ok := document[f]; ok {
				sh.field(f, v)
			}
		}
		return true
	}
	for i, f := range fields {
		if i < len(captured) && captured[i].Kind != gen.Null {
			found = true
			sh.field(f, captured[i].B)
		}
	}
	return found
}

func (sh *shell) read(key string, fields []string) {
	if len(fields) == 0 {
		fields = sh.job.Settings.Fields
	}
	reply, err := sh.ask(sh.job.Store.Read(fields, true), content{key: key, fields: fields}, nil)
	switch {
	case err != nil:
		fmt.Fprintf(sh.out, "Read %s failed %v\n", key, err)
	case reply.Missing || !present(reply.Captured):
		fmt.Fprintf(sh.out, "Read empty for %s\n", key)
	default:
		fmt.Fprintf(sh.out, "Read %s ok\n", key)
		sh.record(fields, reply.Captured)
	}
}

func present(captured []gen.Value) bool {
	return slices.ContainsFunc(captured, func(v gen.Value) bool { return v.Kind != gen.Null })
}

const rule = "--------------------------------"

// scan prints records in the order of the store, from a key on.
func (sh *shell) scan(key, count string, fields []string) {
	n, err := strconv.ParseInt(count, 10, 32)
	if err != nil || n < 0 {
		fmt.Fprintf(sh.out, "invalid record count %s for scan\n", count)
		return
	}
	if len(fields) == 0 {
		fields = sh.job.Settings.Fields
	}
	shown := 0
	if n > 0 {
		_, err = sh.ask(sh.listing(), content{key: key, count: n}, func(columns []string, row []gen.Value) {
			if shown++; shown == 1 {
				fmt.Fprintln(sh.out, rule)
			}
			fmt.Fprintf(sh.out, "Record %d %s\n", shown, row[0].B)
			for _, f := range fields {
				at := slices.IndexFunc(columns[1:], func(c string) bool { return strings.EqualFold(c, f) }) + 1
				if at > 0 && row[at].Kind != gen.Null {
					sh.field(f, row[at].B)
				}
			}
		})
	}
	if shown > 0 {
		fmt.Fprintln(sh.out, rule)
	}
	switch {
	case err != nil:
		fmt.Fprintf(sh.out, "Scan from %s with %d failed %v\n", key, n, err)
	case shown == 0:
		fmt.Fprintln(sh.out, "0 records")
	}
}

// listing returns the requests for records with their keys. They read all fields, because some stores return the key
// only together with all of them.
func (sh *shell) listing() []ycsb.Request {
	all := sh.job.Settings.Fields
	if l, ok := sh.job.Store.(ycsb.Lister); ok {
		return l.List(all)
	}
	return sh.job.Store.Scan(all)
}

const insert = "Insert"

// write inserts or updates a record.
func (sh *shell) write(what string, ask func([]string) []ycsb.Request, key string, assignments []string) {
	c := content{key: key, values: map[string]string{}}
	for _, a := range assignments {
		name, value, ok := strings.Cut(a, "=")
		if !ok || name == "" {
			fmt.Fprintf(sh.out, "%s %s failed %q isn't of the form field=value\n", what, key, a)
			return
		}
		if _, again := c.values[name]; !again {
			c.fields = append(c.fields, name)
		}
		c.values[name] = value
	}
	requests := ask(c.fields)
	if what == insert {
		for i := range requests {
			requests[i].Creates = protocol.MustBeNew
		}
	}
	reply, err := sh.ask(requests, c, nil)
	sh.done(what, key, reply, err)
}

// done prints how a write has ended. Not every database says whether there was a record.
func (sh *shell) done(what, key string, reply *protocol.Reply, err error) {
	switch {
	case err != nil:
		fmt.Fprintf(sh.out, "%s %s failed %v\n", what, key, err)
	case reply.Missing:
		fmt.Fprintf(sh.out, "%s found no record %s\n", what, key)
	default:
		fmt.Fprintf(sh.out, "%s %s ok\n", what, key)
	}
}

func (sh *shell) delete(key string) {
	reply, err := sh.ask(sh.job.Store.Delete(), content{key: key}, nil)
	sh.done("Delete", key, reply, err)
}
