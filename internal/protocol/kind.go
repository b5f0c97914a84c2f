package protocol

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"brunt/internal/base/sqltext"
)

// Kind is what a request does with data.
type Kind uint8

// The kinds.
const (
	KindOther  Kind = iota // calls, programs, ends of transactions, DDL: it may write anything
	KindRead               // it changes nothing
	KindInsert             // it adds a record, or replaces one
	KindUpdate             // it changes an existing record
	KindDelete
)

// Kind returns what the request does, as far as its verb, method or first keyword tells. A SELECT counts as a
// read even if it calls functions that write.
func (r *Request) Kind() Kind {
	if r.Creates != Unasked {
		return KindInsert
	}
	switch r.Verb {
	case SQL:
		return r.kindOfSQL()
	case Select, Read, Scan:
		return KindRead
	case Insert, Replace, Upsert:
		return KindInsert
	case Update:
		return KindUpdate
	case Delete:
		return KindDelete
	case Command:
		return kindOfCommand(r.Words)
	case Batch:
		verb, _, _ := strings.Cut(r.Text, " ")
		return kindOfWord(strings.ToUpper(verb))
	case HTTP:
		return r.Web.kind()
	}
	return KindOther
}

// MayWrite reports whether the request may have changed data if it was sent and not answered.
func (r *Request) MayWrite() bool {
	return r.Kind() != KindRead && r.Verb != Begin && r.Verb != Rollback
}

// ClassOf returns the class of a failure of the request of which a driver says that its class is c: the outcome of a
// request that changes nothing is known, also without an answer. r may be nil.
func (r *Request) ClassOf(c Class) Class {
	if c == UnknownOutcome && r != nil && !r.MayWrite() {
		return Connect
	}
	return c
}

// Frames reports whether the request begins or ends a transaction, or a savepoint within one.
func (r *Request) Frames() bool {
	switch r.Verb {
	case Begin, Commit, Rollback:
		return true
	case SQL:
	default:
		return false
	}
	first := true // the next word is the first of a statement
	for _, t := range sqltext.Split(r.Text) {
		if t.Kind == sqltext.Space {
			continue
		}
		if first {
			switch strings.ToUpper(t.Text) {
			case "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE":
				return true
			}
		}
		first = t.IsSign(";")
	}
	return false
}

// Missed reports whether an answer with the given numbers of returned and changed rows says that nothing happened: the
// request found no record, or inserted none because the record was there already.
func (k Kind) Missed(rows, affected int64) bool {
	switch k {
	case KindRead:
		return rows == 0
	case KindInsert, KindUpdate, KindDelete:
		return affected == 0 && rows == 0 // rows > 0: of EXPLAIN, or the changed rows themselves
	}
	return false
}

// NothingInserted is the code of the failure that a request that must create a record found it there already.
const NothingInserted = "nothing-inserted"

// Uncreated reports whether an answer to a request that is to create records says that not all of them are new. f is
// then the failure of a request whose records must be new.
func (r *Request) Uncreated(reply *Reply) (f Failure, yes bool) {
	if reply.Class != OK {
		return reply.Failure, reply.Conflicts()
	}
	part := r.Verb == SQL && reply.Affected < int64(r.Rows) // of a statement for several records
	switch {
	case part && reply.Affected > 0:
		f.Text = fmt.Sprintf("%d of %d records were there already: they were not inserted", int64(r.Rows)-reply.Affected,
			r.Rows)
	case reply.Missing || part:
		f.Text = "a record with this key was there already: none was inserted"
	default:
		return f, false
	}
	f.Class, f.Code, f.Fatal = Server, NothingInserted, reply.Fatal
	return f, true
}

func kindOfWord(word string) Kind {
	switch word {
	case "SELECT", "SHOW", "VALUES", "TABLE", "DESCRIBE", "DESC", "PRAGMA", "EXPLAIN", "READ", "SCAN":
		return KindRead
	case "INSERT", "REPLACE", "UPSERT", "MERGE":
		return KindInsert
	case "UPDATE":
		return KindUpdate
	case "DELETE":
		return KindDelete
	}
	return KindOther
}

func (r *Request) kindOfSQL() Kind {
	if len(r.Pipeline) > 0 {
		return KindOther
	}
	if (r.Simple || r.Verbatim) && strings.Contains(r.Text, ";") && several(r.Text) {
		return KindOther
	}
	word := sqltext.FirstWord(r.Text)
	if word != "WITH" && word != "EXPLAIN" {
		return kindOfWord(word)
	}
	before := ""
	for _, t := range sqltext.Split(r.Text) {
		if t.Kind != sqltext.Word {
			continue
		}
		word := strings.ToUpper(t.Text)
		switch word {
		case "INSERT", "UPDATE", "DELETE", "MERGE":
			if before != "FOR" && before != "KEY" { // SELECT … FOR UPDATE, FOR NO KEY UPDATE
				return kindOfWord(word)
			}
		}
		before = word
	}
	return KindRead
}

// several reports whether text holds more than one statement.
func several(text string) bool {
	ended := false
	for _, t := range sqltext.Split(text) {
		if ended && t.Kind != sqltext.Space && !t.IsSign(";") {
			return true
		}
		ended = ended || t.IsSign(";")
	}
	return false
}

// SafeMethod reports whether requests with a method of HTTP change nothing (RFC 9110, 9.2.1). "" means GET.
func SafeMethod(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

func (w *Web) kind() Kind {
	if w == nil {
		return KindOther
	}
	if SafeMethod(w.Method) {
		return KindRead
	}
	switch w.Method {
	case http.MethodPut, http.MethodPatch:
		return KindUpdate
	case http.MethodDelete:
		return KindDelete
	}
	return KindOther
}

// kindOfCommand returns the Kind of a Redis command. Reads are the commands that Redis's documentation flags as
// "readonly" and those that touch no data.
func kindOfCommand(words []string) Kind {
	if len(words) == 0 {
		return KindOther
	}
	switch strings.ToUpper(words[0]) {
	case "GET", "MGET", "STRLEN", "GETRANGE", "SUBSTR", "GETBIT", "BITCOUNT", "BITPOS", "BITFIELD_RO", "LCS",
		"HGET", "HMGET", "HGETALL", "HEXISTS", "HKEYS", "HVALS", "HLEN", "HSTRLEN", "HSCAN", "HRANDFIELD",
		"LRANGE", "LINDEX", "LLEN", "LPOS", "SMEMBERS", "SISMEMBER", "SMISMEMBER", "SCARD", "SRANDMEMBER", "SSCAN",
		"SINTER", "SUNION", "SDIFF", "SINTERCARD", "ZRANGE", "ZREVRANGE", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE",
		"ZRANGEBYLEX", "ZREVRANGEBYLEX", "ZSCORE", "ZMSCORE", "ZRANK", "ZREVRANK", "ZCARD", "ZCOUNT", "ZLEXCOUNT", "ZSCAN",
		"ZRANDMEMBER", "ZUNION", "ZINTER", "ZDIFF", "ZINTERCARD", "XRANGE", "XREVRANGE", "XLEN", "XREAD", "XPENDING", "XINFO",
		"EXISTS", "TYPE", "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "KEYS", "SCAN", "RANDOMKEY", "DBSIZE", "DUMP", "OBJECT",
		"GEODIST", "GEOHASH", "GEOPOS", "GEOSEARCH", "PFCOUNT", "SORT_RO", "EVAL_RO", "EVALSHA_RO", "FCALL_RO",
		"PING", "ECHO", "TIME", "INFO", "ROLE", "COMMAND", "AUTH", "HELLO", "SELECT", "WAIT", "WATCH", "UNWATCH", "MULTI",
		"DISCARD":
		return KindRead
	case "DEL", "UNLINK", "GETDEL", "HDEL", "SREM", "ZREM", "XDEL", "LREM":
		return KindDelete
	case "SETNX", "MSETNX", "HSETNX":
		return KindInsert
	case "SET":
		if HasOption(words, 3, "NX") {
			return KindInsert
		}
	case "EVAL", "EVALSHA", "FCALL", "EXEC", "SCRIPT", "FUNCTION", "CONFIG", "CLIENT", "CLUSTER", "DEBUG":
		return KindOther
	}
	return KindUpdate
}

// HasOption reports whether a Redis command has an option, such as NX, from a word on.
func HasOption(words []string, from int, option string) bool {
	return len(words) > from &&
		slices.ContainsFunc(words[from:], func(w string) bool { return strings.EqualFold(w, option) })
}
