package etcd

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
)

// A command is a request in etcd's own terms, whose keys and values are bytes (protocol.Command). Its words are those
// of etcdctl where that has them:
//
//	put KEY VALUE [--prev-kv] [--lease=ID]
//	get KEY [END] [--prefix] [--limit=N] [--rev=N] [--keys-only] [--count-only] [--consistency=l|s]
//	del KEY [END] [--prefix] [--prev-kv]
//	txn [if COMPARE [; COMPARE]…] then [OP [; OP]…] [else OP [; OP]…]
//	compact REVISION            compact --behind=N
//	lease-grant TTL [--id=ID] [--if-absent]
//	lease-revoke ID             lease-keepalive ID
//	lock NAME [--lease=ID]      unlock KEY
//	status                      hashkv
//	watch KEY [END] [--prefix] [--prev-kv] [--rev=N]
//	next
//
// watch opens a watch on the session's stream of events, and next waits for the next event. They need the library tier.
//
// A COMPARE is mod|create|version|value|lease KEY =|!=|<|> OPERAND, an OP is a put, get or del. A word may contain
// parameters. The numbers of the messages' fields are those of etcd's rpc.proto, kv.proto and v3lock.proto.
type command struct {
	method  method
	fields  []field    // of the message
	take    answerKind // which fields of the answer mean what
	absent  bool       // lease-grant: a lease that exists is no failure
	behind  int64      // compact: how far behind the last known revision; -1: Fields has the revision
	capture []protocol.Capture
	inner   []innerCapture // of capture: those of an operation of a transaction
}

// innerCapture is a capture "N.COLUMN" of the answer to operation number N, from 0, of a transaction's branch.
type innerCapture struct {
	response int
	column   string
	at       int // index in capture
}

// message appends the message of a call to a method. revision is the last revision that the session knows.
func (c *command) message(dst []byte, args []gen.Value, revision int64) ([]byte, *protocol.Error) {
	if c.behind >= 0 {
		dst = protowire.AppendTag(dst, 1, protowire.VarintType)
		return protowire.AppendVarint(dst, uint64(max(0, revision-c.behind))), nil
	}
	dst, ok := appendFields(dst, c.fields, args)
	if !ok {
		return dst, protocol.Bad("a parameter is no whole number where etcd needs one")
	}
	return dst, nil
}

// answerKind says how an answer to a command is read.
type answerKind uint8

const (
	otherAnswer answerKind = iota
	rangeAnswer
	putAnswer
	deleteAnswer
	txnAnswer
	leaseAnswer
	keepAliveAnswer
	statusAnswer
	hashAnswer
	lockAnswer
	watchAnswer
	eventAnswer
)

// field is a field of a message: a text with parameters, a number, or a message of fields.
type field struct {
	number  protowire.Number
	text    *template.Template // bytes, or the decimal number of a varint if whole is set
	whole   bool
	varint  uint64 // without text and fields
	message bool
	fields  []field
}

// words takes the words of a command apart.
type words struct {
	rest   []string
	params int
	end    []string // words that end an operation
}

func (w *words) next() (string, bool) {
	if len(w.rest) == 0 || slices.Contains(w.end, w.rest[0]) {
		return "", false
	}
	word := w.rest[0]
	w.rest = w.rest[1:]
	return word, true
}

// text returns a field of bytes from a word.
func (w *words) text(number protowire.Number, what string) (field, *protocol.Error) {
	word, ok := w.next()
	if !ok {
		return field{}, protocol.Bad("%s is missing", what)
	}
	return w.parsed(number, word)
}

func (w *words) parsed(number protowire.Number, word string) (field, *protocol.Error) {
	t, err := template.Parse(word, w.params)
	if err != nil {
		return field{}, protocol.Bad("%s", err.Error())
	}
	return field{number: number, text: &t}, nil
}

// whole returns a field that is a whole number from a word.
func (w *words) whole(number protowire.Number, word, what string) (field, *protocol.Error) {
	f, refused := w.parsed(number, word)
	if refused != nil {
		return f, refused
	}
	f.whole = true
	if fixed, ok := f.text.Fixed(); ok {
		n, err := strconv.ParseInt(string(fixed), 10, 64)
		if err != nil {
			return f, protocol.Bad("%s %q is no whole number", what, word)
		}
		return field{number: number, varint: uint64(n)}, nil
	}
	return f, nil
}

// option is an option of a command: a flag if it has no value.
type option struct {
	name  string
	value bool
	do    func(value string) *protocol.Error
}

// options takes the options at the start of the rest.
func (w *words) options(known ...option) *protocol.Error {
	for len(w.rest) > 0 && strings.HasPrefix(w.rest[0], "--") {
		word, _ := w.next()
		name, value, has := strings.Cut(word[2:], "=")
		i := slices.IndexFunc(known, func(o option) bool { return o.name == name && o.value == has })
		if i < 0 {
			var names []string
			for _, o := range known {
				n := "--" + o.name
				if o.value {
					n += "="
				}
				names = append(names, n)
			}
			if len(names) == 0 {
				return protocol.Bad("unknown option %s; there are none here", word)
			}
			return protocol.Bad("unknown option %s; there are %s", word, strings.Join(names, ", "))
		}
		if refused := known[i].do(value); refused != nil {
			return refused
		}
	}
	return nil
}

// commandNames are the first words of commands.
const commandNames = "put, get, del, txn, compact, lease-grant, lease-revoke, lease-keepalive, lock, unlock, status, hashkv, watch, next"

// parseCommand parses a request whose verb is Command.
func parseCommand(req *protocol.Request) (*command, *protocol.Error) {
	if len(req.Words) == 0 {
		return nil, protocol.Bad("a command without words")
	}
	c := &command{behind: -1, capture: req.Capture}
	w := &words{rest: req.Words[1:], params: len(req.Params)}
	var refused *protocol.Error
	switch name := req.Words[0]; name {
	case "put", "get", "del":
		c.fields, refused = w.operation(name)
		c.method = map[string]method{"put": methodPut, "get": methodRange, "del": methodDelete}[name]
		c.take = map[string]answerKind{"put": putAnswer, "get": rangeAnswer, "del": deleteAnswer}[name]
	case "txn":
		c.method, c.take = methodTxn, txnAnswer
		c.fields, refused = w.transaction()
	case "compact":
		refused = c.compaction(w)
	case "lease-grant":
		refused = c.leaseGrant(w)
	case "lease-revoke", "lease-keepalive":
		c.method, c.take = methodLeaseRevoke, otherAnswer
		if name == "lease-keepalive" {
			c.method, c.take = methodLeaseKeepAlive, keepAliveAnswer
		}
		refused = c.one(w, 1, "the lease's ID")
	case "lock":
		refused = c.lock(w)
	case "unlock":
		c.method = methodUnlock
		var f field
		f, refused = w.text(1, "the key")
		c.fields = []field{f}
	case "status":
		c.method, c.take = methodStatus, statusAnswer
	case "hashkv":
		c.method, c.take = methodHashKV, hashAnswer
	case "watch":
		c.method, c.take = methodWatch, watchAnswer
		c.fields, refused = w.operation(name)
	case "next":
		c.method, c.take = methodNext, eventAnswer
	default:
		return nil, protocol.Bad("%q is no command of etcd; there are %s", name, commandNames)
	}
	if refused == nil && len(w.rest) > 0 {
		refused = protocol.Bad("nothing can follow here: %q", w.rest[0])
	}
	if refused != nil {
		return nil, protocol.Bad("%s: %s", req.Words[0], refused.Text)
	}
	return c, c.checkCaptures()
}

// one takes a word that is a whole number as field number.
func (c *command) one(w *words, number protowire.Number, what string) *protocol.Error {
	word, ok := w.next()
	if !ok {
		return protocol.Bad("%s is missing", what)
	}
	f, refused := w.whole(number, word, what)
	c.fields = append(c.fields, f)
	return refused
}

func (c *command) compaction(w *words) *protocol.Error {
	c.method = methodCompact
	if len(w.rest) > 0 && strings.HasPrefix(w.rest[0], "--") {
		return w.options(option{"behind", true, func(value string) *protocol.Error {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 {
				return protocol.Bad("--behind=%s is no number of revisions", value)
			}
			c.behind = n
			return nil
		}})
	}
	return c.one(w, 1, "the revision")
}

func (c *command) leaseGrant(w *words) *protocol.Error {
	c.method, c.take = methodLeaseGrant, leaseAnswer
	if refused := c.one(w, 1, "the time to live in seconds"); refused != nil {
		return refused
	}
	return w.options(
		option{"id", true, func(value string) *protocol.Error {
			f, refused := w.whole(2, value, "the ID")
			c.fields = append(c.fields, f)
			return refused
		}},
		option{"if-absent", false, func(string) *protocol.Error { c.absent = true; return nil }})
}

func (c *command) lock(w *words) *protocol.Error {
	c.method, c.take = methodLock, lockAnswer
	f, refused := w.text(1, "the name")
	if refused != nil {
		return refused
	}
	c.fields = []field{f}
	return w.options(option{"lease", true, func(value string) *protocol.Error {
		f, refused := w.whole(2, value, "the lease")
		c.fields = append(c.fields, f)
		return refused
	}})
}

// operation parses a put, get, del or watch after its first word, and returns the fields of its message.
func (w *words) operation(name string) (fields []field, refused *protocol.Error) {
	key, refused := w.text(1, "the key")
	if refused != nil {
		return nil, refused
	}
	fields = append(fields, key)
	flag := func(number protowire.Number) func(string) *protocol.Error {
		return func(string) *protocol.Error { fields = append(fields, field{number: number, varint: 1}); return nil }
	}
	whole := func(number protowire.Number, what string) func(string) *protocol.Error {
		return func(value string) *protocol.Error {
			f, refused := w.whole(number, value, what)
			fields = append(fields, f)
			return refused
		}
	}
	if name == "put" {
		value, refused := w.text(2, "the value")
		if refused != nil {
			return nil, refused
		}
		fields = append(fields, value)
		return fields, w.options(option{"prev-kv", false, flag(4)}, option{"lease", true, whole(3, "the lease")})
	}
	if len(w.rest) > 0 && !strings.HasPrefix(w.rest[0], "--") {
		if word, ok := w.next(); ok {
			end, refused := w.parsed(2, word)
			if refused != nil {
				return nil, refused
			}
			fields = append(fields, end)
		}
	}
	prefix := option{"prefix", false, func(string) *protocol.Error { return w.prefix(&fields) }}
	if name == "watch" { // WatchCreateRequest
		return fields, w.options(prefix, option{"prev-kv", false, flag(6)}, option{"rev", true, whole(3, "the revision")})
	}
	if name == "del" {
		return fields, w.options(prefix, option{"prev-kv", false, flag(3)})
	}
	return fields, w.options(prefix, option{"limit", true, whole(3, "the limit")},
		option{"rev", true, whole(4, "the revision")}, option{"keys-only", false, flag(8)},
		option{"count-only", false, flag(9)}, option{"consistency", true, func(value string) *protocol.Error {
			switch value {
			case "l":
				return nil
			case "s":
				return flag(7)("")
			}
			return protocol.Bad("--consistency=%s is neither l nor s", value)
		}})
}

// prefix adds the end of the range of all keys with a prefix, which must be constant: the prefix with its last byte
// incremented. All keys are from 0 to 0 (etcd's rpc.proto).
func (w *words) prefix(fields *[]field) *protocol.Error {
	key, ok := (*fields)[0].text.Fixed()
	switch {
	case !ok:
		return protocol.Bad("--prefix needs a key without parameters; give the end of the range")
	case len(*fields) > 1 && (*fields)[1].number == 2:
		return protocol.Bad("--prefix and the end of the range exclude each other")
	}
	end := slices.Clone(key)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) > 0 {
		end[len(end)-1]++
	} else {
		end = []byte{0}
	}
	if len(key) == 0 {
		zero := template.Literal([]byte{0})
		(*fields)[0].text = &zero
	}
	t := template.Literal(end)
	*fields = append(*fields, field{number: 2, text: &t})
	return nil
}

// transaction parses what follows txn.
func (w *words) transaction() (fields []field, refused *protocol.Error) {
	w.end = []string{"then", "else", ";"}
	take := func() string {
		word := ""
		if len(w.rest) > 0 {
			word, w.rest = w.rest[0], w.rest[1:]
		}
		return word
	}
	part := take()
	if part == "if" {
		for more := true; more; {
			f, refused := w.comparison()
			if refused != nil {
				return nil, refused
			}
			fields = append(fields, f)
			part = take()
			more = part == ";"
		}
	}
	if part != "then" {
		return nil, protocol.Bad("%q where there must be then", part)
	}
	for _, number := range []protowire.Number{2, 3} {
		if len(w.rest) > 0 && w.rest[0] != "else" {
			for more := true; more; {
				name, _ := w.next()
				field, refused := w.branch(number, name)
				if refused != nil {
					return nil, refused
				}
				fields = append(fields, field)
				if more = len(w.rest) > 0 && w.rest[0] == ";"; more {
					take()
				}
			}
		}
		if number == 2 && len(w.rest) > 0 {
			if word := take(); word != "else" {
				return nil, protocol.Bad("%q where there must be ; or else", word)
			}
		}
	}
	return fields, nil
}

// branch parses an operation of a transaction (RequestOp) as field number of the transaction.
func (w *words) branch(number protowire.Number, name string) (field, *protocol.Error) {
	kind := map[string]protowire.Number{"get": 1, "put": 2, "del": 3}[name]
	if kind == 0 {
		return field{}, protocol.Bad("%q is no operation of a transaction: put, get or del", name)
	}
	inner, refused := w.operation(name)
	return field{number: number, message: true, fields: []field{{number: kind, message: true, fields: inner}}}, refused
}

// comparison parses a condition of a transaction (Compare).
func (w *words) comparison() (field, *protocol.Error) {
	what, _ := w.next()
	targets := []string{"version", "create", "mod", "value", "lease"}
	target := slices.Index(targets, what)
	if target < 0 {
		return field{}, protocol.Bad("%q can't be compared: %s", what, strings.Join(targets, ", "))
	}
	key, refused := w.text(3, "the key")
	if refused != nil {
		return field{}, refused
	}
	sign, _ := w.next()
	result := slices.Index([]string{"=", ">", "<", "!="}, sign)
	if result < 0 {
		return field{}, protocol.Bad("%q doesn't compare: =, !=, < or >", sign)
	}
	operand, ok := w.next()
	if !ok {
		return field{}, protocol.Bad("what the %s is compared with is missing", what)
	}
	number := [...]protowire.Number{4, 5, 6, 7, 8}[target]
	var value field
	if what == "value" {
		value, refused = w.parsed(number, operand)
	} else {
		value, refused = w.whole(number, operand, what)
	}
	return field{number: 1, message: true, fields: []field{{number: 1, varint: uint64(result)},
		{number: 2, varint: uint64(target)}, key, value}}, refused
}

// append appends the fields of a message. ok is false if an argument isn't the number that it must be.
func appendFields(dst []byte, fields []field, args []gen.Value) (_ []byte, ok bool) {
	for i := range fields {
		f := &fields[i]
		switch {
		case f.message:
			dst = protowire.AppendTag(dst, f.number, protowire.BytesType)
			start := len(dst)
			if dst, ok = appendFields(dst, f.fields, args); !ok {
				return dst, false
			}
			dst = insertLength(dst, start)
		case f.text == nil:
			dst = protowire.AppendTag(dst, f.number, protowire.VarintType)
			dst = protowire.AppendVarint(dst, f.varint)
		case f.whole:
			n, ok := wholeOf(f.text, args)
			if !ok {
				return dst, false
			}
			dst = protowire.AppendTag(dst, f.number, protowire.VarintType)
			dst = protowire.AppendVarint(dst, uint64(n))
		default:
			dst = protowire.AppendTag(dst, f.number, protowire.BytesType)
			start := len(dst)
			dst = f.text.Plain(dst, args)
			dst = insertLength(dst, start)
		}
	}
	return dst, true
}

func wholeOf(t *template.Template, args []gen.Value) (int64, bool) {
	if param, ok := t.Only(); ok {
		if v := &args[param]; v.Kind == gen.Int || v.Kind == gen.Uint {
			return v.I, true
		}
	}
	var b [32]byte
	n, err := strconv.ParseInt(string(t.Plain(b[:0], args)), 10, 64)
	return n, err == nil
}

// insertLength inserts the length of dst[start:] before it, as a varint.
func insertLength(dst []byte, start int) []byte {
	length := len(dst) - start
	var b [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(b[:], uint64(length))
	dst = append(dst, b[:n]...)
	copy(dst[start+n:], dst[start:start+length])
	copy(dst[start:], b[:n])
	return dst
}
