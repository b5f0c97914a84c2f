// Package lazyregexp compiles regular expressions when they are first used, so that starting the program doesn't
// compile those of every command.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expr at its first call and returns the same value at each. The call panics if
// expr is invalid, as regexp.MustCompile does. The function is safe for use by several goroutines.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
