package testserver

import "flag"

// skipper is what tests and benchmarks have beside TB.
type skipper interface{ Skip(args ...any) }

// SkipQuick skips a test that needs a server, or long, where tests run with -short: `make quick`, which must take less
// than a minute in all. Starting a server does so too, but a test whose subtests share servers, or that computes much
// before it needs one, must be skipped before that.
func SkipQuick(t TB) {
	t.Helper()
	f := flag.Lookup("test.short")
	if s, ok := t.(skipper); ok && f != nil && f.Value.String() == "true" {
		s.Skip("needs a server, or long")
	}
}
