package driver

import "context"

// Checker is implemented by protocols whose sessions learn only when they send a statement whether the
// server takes it.
type Checker interface {
	// Check asks the server, before the load, whether it takes the statements of a program, those with
	// ExpectError left out. An error is an *Error: of class Server if it refuses one, which the text
	// names.
	Check(ctx context.Context, t Target, p *Program) error
}
