//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/test/testserver"
	"brunt/tools/peers"
)

// Depending on its command line, the test binary runs as a server or a burner.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == serveCommand || os.Args[1] == burnCommand) {
		if err := run(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	os.RemoveAll(filepath.Dir(testBrunt))
	os.Exit(code)
}

var (
	testBrunt string // the program, once buildBrunt has built it
	buildOnce sync.Once
)

// buildBrunt builds brunt for all tests.
func buildBrunt(t *testing.T) string {
	t.Helper()
	buildOnce.Do(func() {
		dir, err := os.MkdirTemp("", "brunt-situations-")
		if err != nil {
			t.Fatal(err)
		}
		testBrunt = filepath.Join(dir, "brunt")
		if err := peers.BuildBrunt(t.Context(), testBrunt); err != nil {
			t.Fatal(err)
		}
	})
	return testBrunt
}

func testStage(t *testing.T) *stage {
	t.Helper()
	cores, err := testserver.Cores()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &stage{
		tb: t, brunt: []string{buildBrunt(t)}, self: self, cores: cores, dir: t.TempDir(),
		servers: map[kind]*testserver.Server{},
	}
}

// wide returns a situation with such wide margins that it works on a busy machine: answers take 400 ms, compared with
// which the delays of the generator are small.
func wide(name string, tr truth, server kind, tier string, open bool, change func(s *situation)) situation {
	s := situation{Name: name, Family: name, Truth: tr, Seed: 1, server: server, spread: true}
	s.ask = ask{
		command: "run", tier: tier, open: open, rate: 20, sessions: 20, answer: 400 * time.Millisecond,
		load: 3 * time.Second, timeout: 10 * time.Second, thresholds: []string{"p(50) < 3s", "errors < 1%"},
	}
	if !server.delays() {
		s.far = &proxyConfig{delay: s.ask.answer}
	}
	if change != nil {
		change(&s)
	}
	return s
}

// dozen returns the situations with the widest margins.
func dozen() []situation {
	const ms = time.Millisecond
	held := func(s *situation) { s.fault = holdBrunt(900*ms, time.Second) }
	return []situation{
		wide("slow but good", truthPass, postgres, "codec", true, nil),
		wide("slow but good, library", truthPass, tarantool, "library", true, nil),
		wide("far but good, closed", truthPass, redis, "codec", false, nil),
		wide("slower than the rule", truthFail, web, "codec", true,
			func(s *situation) { s.ask.thresholds = []string{"p(50) < 200ms"} }),
		wide("stopped for a second", truthFail, redis, "library", true, func(s *situation) {
			s.fault = stopServer(800*ms, 1200*ms)
			s.ask.thresholds = []string{"p(90) < 800ms"}
		}),
		wide("brown-out", truthFail, postgres, "codec", true, func(s *situation) {
			s.ask.answer, s.ask.timeout, s.ask.thresholds = 3*time.Second, 500*ms, nil
		}),
		wide("sessions too few", truthFail, web, "library", true, func(s *situation) {
			s.ask.sessions, s.ask.thresholds = 3, []string{"rate > 19"}
		}),
		wide("beyond the server's limit", truthFail, web, "codec", true, func(s *situation) {
			s.ask.operation, s.far = "http: {path: /limit?per_s=10}", &proxyConfig{delay: s.ask.answer}
		}),
		wide("errors only", truthFail, tarantool, "codec", false, func(s *situation) {
			s.ask.operation, s.ask.thresholds = "eval: require('fiber').sleep(0.4) error('no')", nil
		}),
		wide("killed", truthNotPass, redis, "codec", true, func(s *situation) { s.fault = killServer(time.Second, 0) }),
		wide("killed, library", truthNotPass, web, "library", true,
			func(s *situation) { s.fault = killServer(time.Second, 0) }),
		wide("nobody there", truthDown, redis, "codec", true, nil),
		wide("too many for the process' files", truthRefused, redis, "codec", true, func(s *situation) {
			s.wrap, s.ask.sessions = fewFiles(), 400
		}),
		wide("slow but good, in few files", truthPass, postgres, "codec", true,
			func(s *situation) { s.wrap, s.warns = fewFiles(), "machine-shared" }),
		wide("held, open", truthInvalid, redis, "codec", true, held),
		wide("held, closed", truthInvalid, web, "library", false, held),
		wide("far too much", truthNotPass, echo, "codec", true, func(s *situation) {
			s.far, s.ask.rate, s.ask.thresholds = nil, 2_000_000, nil
		}),
	}
}

// brunt's verdict is right in the situations with the widest margins.
func TestVerdictsThatCantBeDoubted(t *testing.T) {
	testserver.SkipQuick(t)
	st := testStage(t)
	for _, s := range dozen() {
		t.Run(s.Name, func(t *testing.T) {
			f, err := st.do(context.Background(), &s, 1)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v, %+v", f.Figures, f.Witness)
			// If other processes use the cores, the verdict may be invalid. It must still not be pass instead of fail,
			// or fail instead of pass.
			if !f.Right && (f.Void == "" || f.Verdict != "invalid") {
				t.Errorf("truth %s, verdict %s, exit %d: %s\n%s\n%s\n%s", f.Truth, f.Verdict, f.Exit, strings.Join(f.Reasons, "\n"),
					f.Said, f.Command, f.Plan)
			}
		})
	}
	if kinds := slices.Compact(slices.Sorted(func(yield func(string) bool) {
		for _, s := range dozen() {
			if !yield(string(s.Truth)) {
				return
			}
		}
	})); len(kinds) != len(truths) {
		t.Errorf("the dozen has only %v of %v", kinds, truths)
	}
}
