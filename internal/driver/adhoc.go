package driver

import "context"

// AdHoc is implemented by sessions of the library tier that take requests which weren't part of their
// program when they were opened, as scripts need.
type AdHoc interface {
	Conn
	// Add makes a request ready. Its ID is the number of those that the session knows, or that of one of
	// them, whose place it takes. It must not change afterwards. An error is an *Error.
	Add(ctx context.Context, r *Request) error
}
