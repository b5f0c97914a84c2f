package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/test/testserver"
)

// The methods of the JVM that a load goes to are in the report and in the record, and two runs are compared by them. A
// server that is no JVM is told, and the run goes on.
func TestMethodsOfTheJVMUnderLoad(t *testing.T) {
	t.Parallel()
	jvm := testserver.JVM(t)
	run := func(path, watched string) outcome {
		return load(t, "http", "--sessions", "1", "--requests", "100", "--output", "text", "--interval", "100ms",
			"--watch", watched, "http://"+jvm.Addr+path)
	}
	before, after := run("/", "profile:server"), run("/other", fmt.Sprintf("profile:pid:%d", jvm.PID))
	for _, c := range []struct {
		o    outcome
		want string
	}{{before, "Service.hot"}, {after, "Service.other"}} {
		if c.o.run == nil || len(c.o.run.Profiles) != 1 || len(c.o.run.Profiles[0].Functions) == 0 ||
			c.o.run.Profiles[0].Functions[0].Name != c.want {
			t.Fatalf("%s isn't first: %+v\n%s%s", c.want, c.o.run, c.o.out, c.o.err)
		}
		if !strings.Contains(c.o.out, "FUNCTIONS") || !strings.Contains(c.o.out, c.want) {
			t.Errorf("%s isn't in the report:\n%s", c.want, c.o.out)
		}
	}
	compared := brunt(t, "compare", "--anyway", before.dir, after.dir)
	_, functions, _ := strings.Cut(compared.out, "FUNCTIONS")
	if !strings.Contains(functions, "Service.hot") || !strings.Contains(functions, "Service.other") {
		t.Errorf("the methods aren't compared:\n%s%s", compared.out, compared.err)
	}

	other := testserver.Nginx(t)
	o := load(t, "http", "--rate", "50", "--duration", "500ms", "--watch", "profile:server", "http://"+other.Addr+"/")
	if o.run == nil || len(o.run.Profiles) > 0 || strings.Count(o.err, "isn't a JVM") != 1 {
		t.Errorf("exit %d\n%s%s", o.code, o.out, o.err)
	}
	for _, bad := range []string{"profile:pid:x", "profile:pid:0", "profile:pid:", "profile:servers"} {
		o := brunt(t, "http", "--rate", "1", "--duration", "1s", "--watch", bad, "http://"+other.Addr+"/")
		if o.code != exitcode.BadPlan || !strings.Contains(o.err, "profile:pid:N") ||
			strings.Count(strings.TrimSpace(o.err), "\n") > 0 {
			t.Errorf("%s: exit %d\n%s%s", bad, o.code, o.out, o.err)
		}
	}
}
