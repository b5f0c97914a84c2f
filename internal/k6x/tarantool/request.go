//go:build !nok6

package tarantool

import (
	"github.com/tarantool/go-iproto"

	"brunt/internal/driver"
	ours "brunt/internal/driver/iproto"
)

// request is what a script asks for, its body encoded.
type request struct {
	verb    string // as the record names it
	on      string // what it is about: a space, a function
	kind    iproto.Type
	body    []byte      // valid until the next request of the virtual user
	does    driver.Verb // for failures without an answer
	text    string      // of SQL
	rows    rows        // what its data is
	form    []string    // names of the fields of its tuples, as far as they are known
	objects bool        // tuples are wanted as objects
}

// may is what the request may have done if no answer came.
func (r *request) may() *driver.Request { return &driver.Request{Verb: r.does, Text: r.text} }

// rows is what an answer's data holds.
type rows uint8

const (
	values  rows = iota // what a function returned
	tuples              // tuples of a space
	sqlRows             // rows of SQL
)

// exchange is a request and its answer.
type exchange struct {
	*request
	ours.Exchange
	address int

	end     int64 // when the answer came, or the waiting for it was over
	bytes   int64 // of the answer
	failure *driver.Error
	cut     bool // the iteration ended before the answer came
}
