package testserver

import "flag"

// skipper is what tests and benchmarks have beside TB.
type skipper interface{ Skip(args ...any) }

// skipQuick skips a test that needs a server where tests run with -short: `make quick`.
func skipQuick(t TB) {
	t.Helper()
	f := flag.Lookup("test.short")
	if s, ok := t.(skipper); ok && f != nil && f.Value.String() == "true" {
		s.Skip("needs a server")
	}
}
