package cli_test

import (
	"regexp"
	"strings"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/test/shell"
	"brunt/test/testserver"
)

func TestWaitForTheService(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	server.Stop()
	c := shell.RunLate(t, server, shell.Listen(""), shell.Listen("brunt: waiting up to 2m0s: "), "brunt http",
		"--wait", "2m", "--requests", "50", "http://"+server.Addr+"/")
	if c.Run.Total.OK != 50 || c.Run.Total.Done != 50 || c.Run.Tier != "codec" || strings.Count(c.Err, "waiting") != 1 {
		t.Errorf("exit %d, %d of %d, tier %s", c.Code, c.Run.Total.OK, c.Run.Total.Done, c.Run.Tier)
	}
}

// A service that doesn't start in time, or that brunt doesn't wait for, is reported as a clear failure.
func TestServiceThatStaysDown(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	server.Stop()
	url := "http://" + server.Addr + "/"
	for _, row := range []struct {
		flags []string
		code  int
		said  string
	}{
		{nil, exitcode.Unreachable, `^brunt: .*connection refused.*\n$`},
		{[]string{"--wait", "300ms"}, exitcode.Unreachable, `^brunt: waiting up to 300ms: .*\n.*\n$`},
		{[]string{"--wait", "-1s"}, exitcode.BadPlan, `^.*above zero.*\n`},
	} {
		c := shell.Run(t, "brunt http", append(row.flags, url)...)
		if c.Code != row.code || !regexp.MustCompile(row.said).MatchString(c.Err) {
			t.Errorf("%v: exit %d: %s", row.flags, c.Code, c.Err)
		}
	}
}
