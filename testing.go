package brunt

import (
	"context"
	"strings"
)

// TB is what Test needs of a *testing.T or *testing.B.
type TB interface {
	Helper()
	Name() string
	Context() context.Context
	Log(args ...any)
	Skip(args ...any)
	Fatal(args ...any)
}

// Test sends the load in a Go test. The test fails with the report's summary if the result fails, if the load was
// interrupted or its function panicked, and if the load can't be sent. If this machine was too busy to tell, the test
// is skipped with the reasons. Without a Name, the load has that of the test. Test returns only if the result passes.
func (l Load) Test(t TB) *Result {
	t.Helper()
	if l.Name == "" {
		l.Name = t.Name()
	}
	r, err := l.Run(t.Context())
	return tell(t, r, err)
}

// Test runs the plan in a Go test, like Load.Test.
func (p *Plan) Test(t TB) *Result {
	t.Helper()
	r, err := p.Run(t.Context())
	return tell(t, r, err)
}

// tell ends a test according to a result.
func tell(t TB, r *Result, err error) *Result {
	t.Helper()
	switch {
	case err != nil && r != nil:
		t.Fatal(r.String() + "\n" + err.Error())
	case err != nil:
		t.Fatal(err)
	case r.Interrupted:
		t.Fatal("the load was interrupted\n" + r.String())
	case r.Verdict == Invalid:
		t.Skip("this machine was too busy to tell: " + strings.Join(r.Reasons, "; ") + "\n" + r.String())
	case r.Verdict != Pass:
		t.Fatal(r.String())
	default:
		t.Log(r.String())
	}
	return r
}
