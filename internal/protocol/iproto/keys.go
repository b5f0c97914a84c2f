package iproto

import (
	iproto "github.com/tarantool/go-iproto"

	"brunt/internal/protocol/msgpack"
)

// reader decodes what Tarantool sends.
type reader struct{ msgpack.Reader }

// read returns a reader of b.
func read(b []byte) reader { return reader{msgpack.Reader{B: b}} }

// Keys of request bodies and types of requests, as bytes.
const (
	keySpace    = byte(iproto.IPROTO_SPACE_ID)
	keyIndex    = byte(iproto.IPROTO_INDEX_ID)
	keyLimit    = byte(iproto.IPROTO_LIMIT)
	keyOffset   = byte(iproto.IPROTO_OFFSET)
	keyIterator = byte(iproto.IPROTO_ITERATOR)
	keyBase     = byte(iproto.IPROTO_INDEX_BASE)
	keyKey      = byte(iproto.IPROTO_KEY)
	keyTuple    = byte(iproto.IPROTO_TUPLE)
	keyFunction = byte(iproto.IPROTO_FUNCTION_NAME)
	keyExpr     = byte(iproto.IPROTO_EXPR)
	keyOps      = byte(iproto.IPROTO_OPS)
	keyUser     = byte(iproto.IPROTO_USER_NAME)
	keySQLText  = byte(iproto.IPROTO_SQL_TEXT)
	keySQLBind  = byte(iproto.IPROTO_SQL_BIND)
	keyStmt     = byte(iproto.IPROTO_STMT_ID)

	typeSelect  = byte(iproto.IPROTO_SELECT)
	typeInsert  = byte(iproto.IPROTO_INSERT)
	typeReplace = byte(iproto.IPROTO_REPLACE)
	typeUpdate  = byte(iproto.IPROTO_UPDATE)
	typeDelete  = byte(iproto.IPROTO_DELETE)
	typeAuth    = byte(iproto.IPROTO_AUTH)
	typeEval    = byte(iproto.IPROTO_EVAL)
	typeUpsert  = byte(iproto.IPROTO_UPSERT)
	typeCall    = byte(iproto.IPROTO_CALL)
	typeExecute = byte(iproto.IPROTO_EXECUTE)
	typePrepare = byte(iproto.IPROTO_PREPARE)
	typePing    = byte(iproto.IPROTO_PING)

	codeChunk = 0x80 // a message pushed by a function before its answer
	codeEvent = 76   // a watcher's event

	maxAnswer = 1 << 31 // bytes; no server sends larger packets

	dispatcher = ".proc_sql_dispatch"
)
