package redis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
)

// options holds a target's parsed options.
type options struct {
	cluster      bool
	resp3        bool
	maxRedirects int
	readOnly     bool
	database     int
}

// protocol returns the version of RESP.
func (o *options) protocol() int {
	if o.resp3 {
		return 3
	}
	return 2
}

// request is a command prepared for sending.
type request struct {
	params   int
	words    []template.Template
	pieces   []encodedPiece
	captures []capture
	missing  missing
	fields   int64 // with ifFewer: how many fields the answer must count
}

// missing says how an answer other than nil shows that nothing was found or changed. Nil shows it unless another
// meaning is given.
type missing uint8

const (
	neverMissing missing = iota
	ifEmpty              // an empty list: Redis returns one for a missing key, and keeps no empty lists
	ifAllNil             // all elements are nil
	ifAnyNil             // an element is nil
	ifZero               // the number 0
	ifSome               // anything but nil: the old value of a key that was to be new
	neverNil             // nil means that the key was new
	ifFewer              // a number below that of the fields to create
)

func missingOf(req *protocol.Request) missing {
	switch strings.ToUpper(req.Words[0]) {
	case "HMGET":
		return ifAllNil
	case "MGET":
		return ifAnyNil
	case "DEL", "UNLINK", "HDEL", "SREM", "ZREM", "XDEL", "LREM", "EXISTS", "HLEN", "LLEN", "SCARD", "ZCARD", "XLEN",
		"EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST",
		"SETNX", "MSETNX", "HSETNX", "RENAMENX", "COPY", "MOVE", "SMOVE", "PFADD", "LPUSHX", "RPUSHX":
		return ifZero
	case "ZADD", "GEOADD":
		if protocol.HasOption(req.Words, 2, "NX") { // without NX, 0 may mean that scores were changed
			return ifZero
		}
	case "HSET":
		if req.Creates != protocol.Unasked {
			return ifFewer
		}
	case "SADD":
		if req.Creates != protocol.Unasked {
			return ifFewer
		}
		return ifZero
	case "GETSET":
		return neverNil
	case "SET":
		switch get := protocol.HasOption(req.Words, 3, "GET"); {
		case get && protocol.HasOption(req.Words, 3, "NX"):
			return ifSome
		case get && !protocol.HasOption(req.Words, 3, "XX"):
			return neverNil
		}
	}
	if req.Kind() == protocol.KindRead {
		return ifEmpty
	}
	return neverMissing
}

// missed reports whether an answer, with nils nil elements, says that nothing was found or changed. reply.Missing tells
// whether it is nil.
func (r *request) missed(reply *protocol.Reply, nils int64) bool {
	switch r.missing {
	case ifSome:
		return !reply.Missing
	case neverNil:
		return false
	}
	if reply.Missing {
		return true
	}
	switch r.missing {
	case ifFewer:
		return reply.Affected < r.fields
	case ifEmpty:
		return reply.Rows == 0
	case ifAllNil:
		return nils == reply.Rows
	case ifAnyNil:
		return nils > 0
	case ifZero:
		return reply.Affected == 0
	}
	return false
}

// capture is an element of an answer that a later request uses.
type capture struct {
	element int
	kind    gen.Kind
}

// fieldsOf returns how many fields of a hash, or members of a set, a command is to create.
func fieldsOf(words []string) int64 {
	n := int64(len(words) - 2)
	if strings.EqualFold(words[0], "HSET") {
		n /= 2
	}
	return n
}

// prepare parses a target's options and prepares a program. The program is prepared once for all sessions.
func prepare(t protocol.Target, p *protocol.Program) ([]request, *options, *protocol.Error) {
	o, refused := parseOptions(t)
	if refused != nil {
		return nil, nil, refused
	}
	ready := p.Share("redis", func() any { return prepareAll(p) }).(prepared)
	return ready.requests, o, ready.refused
}

// prepared is a prepared program, which sessions share.
type prepared struct {
	requests []request
	refused  *protocol.Error
}

func prepareAll(p *protocol.Program) prepared {
	requests := make([]request, len(p.Requests))
	for i := range p.Requests {
		r, err := prepareOne(&p.Requests[i])
		if err != nil {
			return prepared{refused: protocol.Bad("request %q: %v", p.Requests[i].Name, err)}
		}
		requests[i] = r
	}
	return prepared{requests: requests}
}

func parseOptions(t protocol.Target) (*options, *protocol.Error) {
	read := protocol.OptionsOf("redis", t)
	o := &options{
		cluster: read.Choice("mode", "single", "cluster") == "cluster", resp3: read.Choice("resp", "2", "3") == "3",
		maxRedirects: int(read.Int("max_redirects", 3, 0, 100)), readOnly: read.Bool("read_only", false),
	}
	if refused := read.Done(); refused != nil {
		return nil, refused
	}
	if t.Database != "" {
		n, err := strconv.Atoi(t.Database)
		if err != nil || n < 0 {
			return nil, protocol.Bad("the database %q isn't a number, as Redis has them", t.Database)
		}
		o.database = n
	}
	if o.cluster && o.database != 0 {
		return nil, protocol.Bad("a Redis cluster has only the database 0; leave the database out")
	}
	return o, nil
}

func prepareOne(req *protocol.Request) (r request, err error) {
	if req.Verb != protocol.Command || len(req.Words) == 0 {
		return r, fmt.Errorf("redis takes commands of words")
	}
	if err := answersOnce(req.Words); err != nil {
		return r, err
	}
	r.params = len(req.Params)
	for _, word := range req.Words {
		t, err := template.Parse(word, r.params)
		if err != nil {
			return r, err
		}
		r.words = append(r.words, t)
	}
	for _, c := range req.Capture {
		if c.Name != "" || c.Column < 0 {
			return r, fmt.Errorf("capture %q: an answer's elements have no names; give the element's number", c.Name)
		}
		if slices.ContainsFunc(r.captures, func(earlier capture) bool { return earlier.element == c.Column }) {
			return r, fmt.Errorf("element %d of the answer is captured twice", c.Column)
		}
		r.captures = append(r.captures, capture{c.Column, c.Kind})
	}
	r.missing, r.fields = missingOf(req), fieldsOf(req.Words)
	if req.Creates != protocol.Unasked && r.missing != ifZero && r.missing != ifSome && r.missing != ifFewer &&
		!protocol.HasOption(req.Words, 3, "NX") {
		return r, fmt.Errorf("creates: the answer to %s doesn't say whether the record was there; remove it, or use a "+
			"command that does, such as SET with NX, HSET, SADD or ZADD with NX", strings.ToUpper(req.Words[0]))
	}
	r.pieces = encodeOnce(r.words)
	return r, nil
}

// answersOnce returns an error for commands that don't have exactly one answer.
func answersOnce(words []string) error {
	name := strings.ToUpper(words[0])
	switch name {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "MONITOR", "SYNC",
		"PSYNC":
		return fmt.Errorf("%s has no single answer to wait for", name)
	case "CLIENT":
		if len(words) > 1 && strings.EqualFold(words[1], "REPLY") {
			return fmt.Errorf("CLIENT REPLY would leave requests without an answer")
		}
	}
	return nil
}
