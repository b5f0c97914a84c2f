package ycsb

import (
	"fmt"

	"brunt/internal/driver"
)

// kvStore asks with the verbs of key-value stores, for drivers that keep records of named fields.
type kvStore struct{ s *Settings }

// Prepare asks for nothing: drivers that must create something do it by themselves.
func (k *kvStore) Prepare(bool) []driver.Request { return nil }

func (k *kvStore) request(verb driver.Verb, fields []string, slots ...Slot) []Request {
	return []Request{{Request: driver.Request{Verb: verb, Text: k.s.Table, Fields: fields}, Slots: slots}}
}

// all is nil, which means all fields, if fields are all of them.
func (k *kvStore) all(fields []string) []string {
	if len(fields) == len(k.s.Fields) {
		return nil
	}
	return fields
}

func (k *kvStore) Read(fields []string, check bool) []Request {
	r := k.request(driver.Read, k.all(fields), KeySlot)
	if check {
		for _, f := range fields {
			r[0].Capture = append(r[0].Capture, driver.Capture{Name: f})
		}
	}
	return r
}

func (k *kvStore) Scan(fields []string) []Request {
	return k.request(driver.Scan, k.all(fields), KeySlot, CountSlot)
}

func (k *kvStore) Insert(fields []string) []Request {
	return k.request(driver.Insert, fields, KeySlot, FieldSlots)
}

func (k *kvStore) Update(fields []string) []Request {
	return k.request(driver.Update, fields, KeySlot, FieldSlots)
}

func (k *kvStore) Delete() []Request { return k.request(driver.Delete, nil, KeySlot) }

func (k *kvStore) Batch(verb driver.Verb, fields []string, rows int) []Request {
	names := map[driver.Verb]string{driver.Read: "read", driver.Insert: "insert", driver.Update: "update", driver.Delete: "delete"}
	r := Request{Request: driver.Request{
		Verb: driver.Batch, Text: fmt.Sprintf("%s %s", names[verb], k.s.Table), Fields: fields, Rows: rows,
	}, Slots: []Slot{KeySlot}}
	if verb == driver.Insert || verb == driver.Update {
		r.Slots = append(r.Slots, FieldSlots)
	}
	return []Request{r}
}
