package cook_test

import (
	"regexp"
	"strings"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/protocol"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// slow_cooker starts without a server, counts the failures, and continues when the service is up.
func TestSlowCookerBeginsBeforeTheService(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"slow_cooker": nil, "brunt cook": {"-compat", "-summary", "none"}} {
		server := testserver.Nginx(t)
		server.Stop()
		args = append(args, "-qps", "5", "-concurrency", "10", "-interval", "500ms", "-totalRequests", "400",
			"http://"+server.Addr+"/")
		c := shell.RunLate(t, server, shell.Listen("  0/0/"), shell.Listen(""), name, args...)
		_, good := sum(t, c.Out, 2)
		_, failed := sum(t, c.Out, 4)
		if good == 0 || failed < 10 || good+failed != 400 || name == "slow_cooker" && c.Code != exitcode.Pass {
			t.Errorf("%s: exit %d, %d good, %d failed", name, c.Code, good, failed)
		}
		g := shell.TargetOf(t, c.Run, server.Addr)
		if int(g.Counts.OK) != good || int(g.Counts.Errors[protocol.Connect]) != failed {
			t.Errorf("%s: recorded %+v", name, g.Counts)
		}
		if !strings.Contains(c.Err, "begins although the service is down") ||
			!strings.Contains(c.Err, "connect refused: can't connect to "+server.Addr) {
			t.Errorf("%s: %s", name, c.Err)
		}
	}
}

func TestCookWaitsForTheService(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"brunt cook", "slow_cooker"} {
		server := testserver.Nginx(t)
		server.Stop()
		c := shell.RunLate(t, server, shell.Listen(""), shell.Listen("brunt: waiting up to 2m0s: "), command,
			"-wait", "2m", "-qps", "50", "-interval", "1s", "-totalRequests", "50", "http://"+server.Addr+"/")
		if c.Run.Total.OK != 50 || c.Run.Total.Done != 50 || c.Run.Tier != "codec" || strings.Count(c.Err, "waiting") != 1 {
			t.Errorf("%s: exit %d, %d of %d, tier %s", command, c.Code, c.Run.Total.OK, c.Run.Total.Done, c.Run.Tier)
		}
	}
}

// brunt waits for all hosts of a list.
func TestWaitForAllHosts(t *testing.T) {
	t.Parallel()
	up, late := testserver.Nginx(t), testserver.Nginx(t)
	late.Stop()
	list := shell.List(t, "http://"+up.Addr+"/", "http://"+late.Addr+"/")
	c := shell.RunLate(t, late, shell.Listen(""), shell.Listen("waiting up to 2m0s: "), "brunt cook", "-wait", "2m",
		"-qps", "50",
		"-interval", "1s", "-totalRequests", "50", "@"+list)
	for _, s := range []*testserver.Server{up, late} {
		if g := shell.TargetOf(t, c.Run, s.Addr); g.Counts.OK != 25 || g.Counts.Done != 25 {
			t.Errorf("%+v", g)
		}
	}
}

// A service that doesn't start in time, or that cook doesn't wait for, is reported as a clear failure.
func TestCookOfAServiceThatStaysDown(t *testing.T) {
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
		{[]string{"-wait", "300ms"}, exitcode.Unreachable, `^brunt: waiting up to 300ms: .*\n.*\n$`},
		{[]string{"-wait", "-1s"}, exitcode.BadPlan, `^.*above zero.*\n`},
	} {
		c := shell.Run(t, "brunt cook", append(row.flags, url)...)
		if c.Code != row.code || !regexp.MustCompile(row.said).MatchString(c.Err) {
			t.Errorf("%v: exit %d: %s", row.flags, c.Code, c.Err)
		}
	}
}
