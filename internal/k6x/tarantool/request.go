//go:build !nok6

package tarantool

import (
	"context"
	"io"

	"github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v2"
	"github.com/vmihailenco/msgpack/v5"

	"brunt/internal/driver"
)

// request is what a script asks for, its body encoded.
type request struct {
	verb    string // as the record names it
	on      string // what it is about: a space, a function
	kind    iproto.Type
	body    []byte
	may     driver.Request // what it may do, for failures without an answer
	rows    rows           // what its data is
	form    []string       // names of the fields of its tuples, as far as they are known
	objects bool           // tuples are wanted as objects
}

// rows is what an answer's data holds.
type rows uint8

const (
	values  rows = iota // what a function returned
	tuples              // tuples of a space
	sqlRows             // rows of SQL
)

// exchange is a request and its answer. The connection's reader fills in what came.
type exchange struct {
	*request
	clock   interface{ Now() int64 }
	address int
	sent    int64
	future  *tarantool.Future

	end     int64 // when the answer came, or the waiting for it was over
	header  tarantool.Header
	body    []byte // of the answer
	failure *driver.Error
	cut     bool // the iteration ended before the answer came
}

var _ tarantool.Request = (*exchange)(nil)

// Type implements tarantool.Request.
func (x *exchange) Type() iproto.Type { return x.kind }

// Body implements tarantool.Request.
func (x *exchange) Body(_ tarantool.SchemaResolver, e *msgpack.Encoder) error {
	return e.Encode(msgpack.RawMessage(x.request.body))
}

// Ctx implements tarantool.Request. There is none: whoever waits does so with the iteration's.
func (x *exchange) Ctx() context.Context { return nil }

// Async implements tarantool.Request.
func (x *exchange) Async() bool { return false }

// Response implements tarantool.Request. It is called by the connection's reader as the answer comes.
func (x *exchange) Response(header tarantool.Header, body io.Reader) (tarantool.Response, error) {
	a := &answer{header: header, at: x.clock.Now()}
	if known, ok := body.(interface{ Len() int }); ok {
		a.body = make([]byte, known.Len())
		_, err := io.ReadFull(body, a.body)
		return a, err
	}
	var err error
	a.body, err = io.ReadAll(body)
	return a, err
}

// answer is one that hasn't been decoded.
type answer struct {
	header tarantool.Header
	body   []byte
	at     int64
}

// Header implements tarantool.Response.
func (r *answer) Header() tarantool.Header { return r.header }

// Decode implements tarantool.Response; nobody calls it.
func (r *answer) Decode() ([]any, error) { return nil, errRaw }

// DecodeTyped implements tarantool.Response; nobody calls it.
func (r *answer) DecodeTyped(any) error { return errRaw }
