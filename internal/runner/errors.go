package runner

// UsageError is a fault of the plan or the flags, found before anything was sent.
type UsageError struct{ Err error }

// Error returns the fault's own text.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the fault.
func (e *UsageError) Unwrap() error { return e.Err }

// UnreachableError says that no address could be used.
type UnreachableError struct{ Err error }

// Error returns the first failure met and what to check.
func (e *UnreachableError) Error() string {
	return e.Err.Error() + "; check the address, the protocol and the credentials"
}

// Unwrap returns the first failure met.
func (e *UnreachableError) Unwrap() error { return e.Err }
