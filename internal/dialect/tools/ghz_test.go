package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"brunt/test/shell"
	"brunt/test/testserver/grpcserver"
)

// counting is a call whose messages are counted.
type counting struct {
	grpc.ServerStream
	texts []string
}

// RecvMsg implements grpc.ServerStream.
func (c *counting) RecvMsg(m any) error {
	err := c.ServerStream.RecvMsg(m)
	if err == nil {
		c.texts = append(c.texts, strings.Fields(fmt.Sprint(m))[0])
	}
	return err
}

// A server receives as many messages of each call as from ghz 0.120.0, from which the table is, whose calls have the
// same status, on event loops and over TLS; and from the plan that ghz' command line is converted to.
func TestStreamsOfGhz(t *testing.T) {
	t.Parallel()
	calls := make(chan *counting, 1000)
	intercepted := grpcserver.With(grpc.StreamInterceptor(func(server any, s grpc.ServerStream,
		info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if !strings.HasPrefix(info.FullMethod, "/brunt.test.Echo/") {
			return handle(server, s)
		}
		c := &counting{ServerStream: s}
		defer func() { calls <- c }()
		return handle(server, c)
	}))
	server, _ := grpcserver.Certificates(t)
	s, secure := grpcserver.Start(t, intercepted), grpcserver.Start(t, intercepted,
		grpcserver.TLS(credentials.NewTLS(server)))
	const three = `[{"text":"a"},{"text":"b"},{"text":"c"}]`
	for _, c := range []struct {
		flags  string
		status string
		want   int // messages of a call
	}{
		{"Gather --stream-interval 5ms", "OK", 3},
		{"Chat --stream-interval 5ms", "OK", 3},
		{"Gather --stream-interval 5ms --stream-call-count 2", "OK", 2},
		{"Chat --stream-interval 5ms --stream-call-count 7", "OK", 7},
		{"Gather --stream-call-duration 1s", "OK", 3},
		{"Gather --stream-interval 100ms --stream-call-duration 50ms", "OK", 1},
		{"Chat --stream-interval 40ms --stream-call-duration 60ms --stream-call-count 100", "OK", 2},
		{"Gather --stream-interval 0s --stream-call-duration 0s --stream-call-count 0", "OK", 3},
		{"Gather --stream-interval 1s -t 30ms", "DeadlineExceeded", 1},
		{"Say --stream-interval 1s --stream-call-duration 1ms --stream-call-count 5", "OK", 1},
		{"Chat --stream-interval 5ms --rps 200", "OK", 3},
	} {
		t.Run(c.flags, func(t *testing.T) {
			words := strings.Fields(c.flags)
			line := append([]string{"-n", "4", "-c", "2", "-d", three, "--call", "brunt.test.Echo/" + words[0]}, words[1:]...)
			compare := func(kind string, o *shell.Outcome, status string) {
				t.Helper()
				if !strings.Contains(o.Out, status) {
					t.Fatalf("%s: exit %d, no %q:\n%s%s", kind, o.Code, status, o.Out, o.Err)
				}
				for range 4 {
					if got := <-calls; len(got.texts) != c.want {
						t.Errorf("%s: the server received %q, want %d messages", kind, got.texts, c.want)
					}
				}
			}
			status := "[" + c.status + "]   4 responses"
			o := shell.Run(t, "brunt ghz", append(line, "--insecure", s.Addr)...)
			compare("event loops", &o, status)
			o = shell.Run(t, "brunt ghz", append(line, "--skipTLS", secure.Addr)...)
			compare("TLS", &o, status)
			if c.want != 7 { // one is enough
				return
			}
			converted := shell.Run(t, "brunt", append(append([]string{"convert", "ghz", "--insecure"}, line...), s.Addr)...)
			o = shell.Run(t, "brunt run", "-c", shell.Plan(t, converted.Out))
			compare("its plan", &o, "GENERATOR")
		})
	}
}
