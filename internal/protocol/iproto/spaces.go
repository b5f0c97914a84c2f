package iproto

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/protocol"
)

// iterator returns the number of an iterator kind by its name (box.index's constants). ok is false for an
// unknown name.
func iterator(name string) (uint64, bool) {
	i := slices.Index([]string{"eq", "req", "all", "lt", "le", "ge", "gt"}, strings.ToLower(name))
	return uint64(max(i, 0)), i >= 0
}

const (
	iteratorAll = 2
	iteratorGE  = 5
)

// source is the parsed text of a request: "space" or "space.index", for Select optionally followed by "iterator
// GE", "limit 10" and "offset 5" in any order.
type source struct {
	space                   *space
	index                   uint64
	limit, offset, iterator uint64
}

func (c *compiler) source(ctx context.Context, text string, params int) (source, *protocol.Error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return source{}, protocol.Bad("it names no space")
	}
	s := source{limit: unlimited, iterator: iteratorEQ}
	if params == 0 {
		s.iterator = iteratorAll
	}
	for i := 1; i < len(words); i += 2 {
		if i+1 == len(words) {
			return s, protocol.Bad("%q says nothing after %q", text, words[i])
		}
		var err error
		ok := true
		switch strings.ToLower(words[i]) {
		case "limit":
			s.limit, err = strconv.ParseUint(words[i+1], 10, 32)
		case "offset":
			s.offset, err = strconv.ParseUint(words[i+1], 10, 32)
		case "iterator":
			s.iterator, ok = iterator(words[i+1])
		default:
			ok = false
		}
		if err != nil || !ok {
			return s, protocol.Bad("%q isn't of the form \"space.index iterator GE limit 10 offset 5\"", text)
		}
	}
	name, index := words[0], ""
	sp, err := c.space(ctx, name)
	if err != nil {
		return s, err
	}
	if dot := strings.LastIndexByte(name, '.'); sp == nil && dot > 0 {
		name, index = name[:dot], name[dot+1:]
		if sp, err = c.space(ctx, name); err != nil {
			return s, err
		}
	}
	if sp == nil {
		return s, unknownSpace(words[0])
	}
	s.space = sp
	if index != "" {
		id, ok := sp.indexes[index]
		if !ok {
			return s, protocol.Bad("space %q has no index %q", name, index)
		}
		s.index = id
	}
	return s, nil
}

// space looks up a space once. It returns nil if there is none.
func (c *compiler) space(ctx context.Context, name string) (*space, *protocol.Error) {
	if s, ok := c.spaces[name]; ok {
		return s, nil
	}
	s, err := lookup(ctx, c.ask, name)
	if err == nil {
		c.spaces[name] = s
	}
	return s, err
}

// onSpace compiles the verbs that operate on a space.
func (c *compiler) onSpace(ctx context.Context, r *protocol.Request, s *statement) *protocol.Error {
	src, err := c.source(ctx, r.Text, s.params)
	if err != nil {
		return err
	}
	for i := range s.captures {
		k := &s.captures[i]
		if k.name == nil {
			continue
		}
		at, ok := src.space.field(string(k.name))
		if !ok {
			return protocol.Bad("the space has no field %q", k.name)
		}
		k.name, k.column = nil, at
	}
	var b body
	switch r.Verb {
	case protocol.Select, protocol.Read, protocol.Scan:
		s.code, s.space = typeSelect, src.space
		err = selection(&b, r, src)
	case protocol.Insert, protocol.Replace, protocol.Upsert:
		err = insertion(&b, r, src.space, s)
	case protocol.Update:
		s.code = typeUpdate
		err = update(&b, r, src)
	case protocol.Delete:
		s.code = typeDelete
		b.mapping(3)
		b.number(keySpace, src.space.id)
		b.number(keyIndex, src.index)
		b.key(keyKey)
		b.list(s.params)
	}
	s.pieces = b.done()
	return err
}

func selection(b *body, r *protocol.Request, src source) *protocol.Error {
	keys := len(r.Params)
	switch r.Verb {
	case protocol.Read:
		src.limit = 1
	case protocol.Scan:
		if keys != 2 {
			return protocol.Bad("a scan takes two parameters: the first key and the count")
		}
		keys, src.iterator = 1, iteratorGE
	}
	b.mapping(6)
	b.number(keySpace, src.space.id)
	b.number(keyIndex, src.index)
	b.number(keyOffset, src.offset)
	b.number(keyIterator, src.iterator)
	b.key(keyLimit)
	if r.Verb == protocol.Scan {
		b.param(1)
	} else {
		b.uint(src.limit)
	}
	b.key(keyKey)
	b.list(keys)
	return nil
}

// insertion writes a tuple: the parameters in order or, with Fields, each at the position of its field.
func insertion(b *body, r *protocol.Request, sp *space, s *statement) *protocol.Error {
	places, err := placesOf(r, sp)
	if err != nil {
		return err
	}
	s.code = map[protocol.Verb]byte{protocol.Insert: typeInsert, protocol.Replace: typeReplace,
		protocol.Upsert: typeUpsert}[r.Verb]
	pairs := 2
	if r.Verb == protocol.Upsert {
		pairs = 4
	}
	b.mapping(pairs)
	b.number(keySpace, sp.id)
	b.key(keyTuple)
	b.array(len(places))
	for _, p := range places {
		if p < 0 {
			b.null()
		} else {
			b.param(p)
		}
	}
	if r.Verb != protocol.Upsert {
		return nil
	}
	var set [][2]int
	for field, p := range places {
		if p >= 0 && !slices.Contains(sp.keys, field) {
			set = append(set, [2]int{field, p})
		}
	}
	b.number(keyBase, 0)
	b.key(keyOps)
	assignments(b, set)
	return nil
}

// placesOf returns, for each field of the tuple, the number of its parameter, or -1 for null.
func placesOf(r *protocol.Request, sp *space) ([]int, *protocol.Error) {
	if len(r.Fields) == 0 {
		places := make([]int, len(r.Params))
		for i := range places {
			places[i] = i
		}
		return places, nil
	}
	if len(r.Fields) != len(r.Params) {
		return nil, protocol.Bad("%d fields are named for %d parameters", len(r.Fields), len(r.Params))
	}
	var places []int
	for p, name := range r.Fields {
		at, err := fieldNumber(sp, name)
		if err != nil {
			return nil, err
		}
		for len(places) <= at {
			places = append(places, -1)
		}
		places[at] = p
	}
	for len(places) < len(sp.fields) {
		places = append(places, -1)
	}
	return places, nil
}

func fieldNumber(sp *space, name string) (int, *protocol.Error) {
	if at, ok := sp.field(name); ok {
		return at, nil
	}
	const most = 1 << 15
	if at, err := strconv.Atoi(name); err == nil && at >= 0 && at < most {
		return at, nil
	}
	return 0, protocol.Bad("the space has no field %q: give a name of its format, or a number from 0", name)
}

// update writes a key and assignments. The assigned fields are Fields, to which the last parameters belong, or
// else the fields outside the primary key, in order.
func update(b *body, r *protocol.Request, src source) *protocol.Error {
	keys := len(src.space.keys)
	if n := len(r.Fields); n > 0 {
		keys = len(r.Params) - n
	}
	if keys < 1 || keys >= len(r.Params) {
		return protocol.Bad("an update takes the key, then a value for each of its fields")
	}
	var set [][2]int
	next := 0
	for p := keys; p < len(r.Params); p++ {
		if len(r.Fields) > 0 {
			at, err := fieldNumber(src.space, r.Fields[p-keys])
			if err != nil {
				return err
			}
			set = append(set, [2]int{at, p})
			continue
		}
		for slices.Contains(src.space.keys, next) {
			next++
		}
		set = append(set, [2]int{next, p})
		next++
	}
	b.mapping(5)
	b.number(keySpace, src.space.id)
	b.number(keyIndex, src.index)
	b.number(keyBase, 0)
	b.key(keyKey)
	b.list(keys)
	b.key(keyTuple)
	assignments(b, set)
	return nil
}

// assignments writes an operation "=" for each pair of field number, from 0, and parameter.
func assignments(b *body, set [][2]int) {
	b.array(len(set))
	for _, f := range set {
		b.array(3)
		b.text("=")
		b.uint(uint64(f[0]))
		b.param(f[1])
	}
}
