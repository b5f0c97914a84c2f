package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/test/testserver"
	"brunt/tools/peers"
)

// The goals of unary calls, 50 of them in flight: CPU compared with ghz' and h2load's.
const (
	ghzGoal    = 0.35
	h2loadGoal = 1.3
)

// grpcBenching compares brunt grpc with ghz and h2load on one server, in turns, and sends at a rate.
func grpcBenching(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("grpc", flag.ContinueOnError)
	times := f.Int("rounds", 4, "how often each client has its turn")
	calls := f.Int("calls", 150_000, "calls of a turn against h2load; a tenth against ghz")
	rate := f.Int("rate", 10_000, "calls a second of the open load")
	seconds := f.Int("seconds", 10, "length of the open load")
	return withStand(ctx, f, args, func(s *stand) error {
		address, stop, err := s.grpcServer()
		if err != nil {
			return err
		}
		defer stop()
		g := &grpcContest{s: s, address: address, calls: *calls, rounds: *times}
		fmt.Println("| server | what | brunt | peer | ratio (each round) |\n|---|---|---|---|---|")
		if err := g.closed(); err != nil {
			return err
		}
		return g.open(*rate, *seconds)
	})
}

// grpcServer starts the gRPC server of the tests in a process of its own, on the servers' cores.
func (s *stand) grpcServer() (address string, stop func(), err error) {
	program := s.peer("grpc-server")
	if err := peers.BuildOwn(s.ctx, program, "./test/testserver/grpcserver/serve"); err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(s.ctx, program)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = in.Close() // its end
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		err = testserver.Pin(cmd.Process.Pid, s.servers)
	}
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("start the gRPC server: %w", err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return strings.TrimSpace(line), stop, nil
}

// grpcContest compares clients on one server.
type grpcContest struct {
	s       *stand
	address string
	calls   int
	rounds  int
}

const (
	echoMethod = "brunt.test.Echo/Say"
	inFlight   = 50
)

// closed compares the CPU of a call.
func (g *grpcContest) closed() error {
	ghz, err := peers.Build(g.s.ctx, peers.Ghz)
	if err != nil {
		return err
	}
	h2load, err := needed("h2load", "nghttp2-client")
	if err != nil {
		return err
	}
	body := filepath.Join(g.s.dir, "call")
	if err := os.WriteFile(body, []byte("\x00\x00\x00\x00\x04\x0a\x02hi"), 0o600); err != nil {
		return err
	}
	streams := strconv.Itoa(inFlight)
	arguments := map[string][]string{
		g.s.brunt.program: {"grpc", g.address, echoMethod, "-d", `{"text": "hi"}`, "--sessions", streams, "--no-record",
			"--awake", "off", "--quiet"},
		ghz: {"--insecure", "--call", echoMethod, "-d", `{"text": "hi"}`, "-c", streams, g.address},
		h2load: {"-c", "1", "-m", streams, "-d", body, "-H", "content-type: application/grpc", "-H", "te: trailers",
			"http://" + g.address + "/" + echoMethod},
	}
	for _, row := range []struct {
		what, name, program string
		calls               int
		goal                float64
	}{
		{"CPU ms of the start and 50 calls", "h2load", h2load, inFlight, 0},
		{"CPU µs/call", "h2load", h2load, g.calls, h2loadGoal},
		{"CPU µs/call", "ghz", ghz, g.calls / 10, ghzGoal},
	} {
		c := &sysbenchContest{s: g.s, programs: [2]string{g.s.brunt.program, row.program}, rounds: g.rounds,
			server: "grpc-go"}
		err := c.compare(fmt.Sprintf("unary, %d streams of a connection, %s, against %s", inFlight, row.what, row.name),
			row.goal, func(program string) (sample, error) { return g.turn(program, row.calls, arguments[program]) },
			func(p *sample) float64 {
				if row.calls == inFlight {
					return p.CPUUs * inFlight / 1e3
				}
				return p.CPUUs
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// turn runs a client.
func (g *grpcContest) turn(program string, calls int, args []string) (sample, error) {
	args = slices.Insert(slices.Clone(args), len(args)-1, "-n", strconv.Itoa(calls)) // all end with one that stands alone
	o, err := g.s.do(nil, program, args...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitcode.Invalid {
		err = nil // the machine was busy; all calls were made nevertheless
	}
	p := sample{Command: g.s.plain(program, args), Requests: uint64(calls), At: time.Now().UTC(), Group: "grpc",
		Client: filepath.Base(program), Load1: load1()}
	switch {
	case err != nil:
		return p, err
	case strings.Contains(o.out, "Error distribution") || strings.Contains(o.out, "FAIL"):
		return p, fmt.Errorf("calls failed: %s", tail(o.out))
	}
	if err := p.charge(&o); err != nil {
		return p, err
	}
	return p, g.s.raw.AppendJSON(&p)
}

// open sends at a rate, and prints how late calls were sent.
func (g *grpcContest) open(rate, seconds int) error {
	fmt.Println("\n| calls due | answered | lag p50, µs | lag p99, µs |\n|---|---|---|---|")
	for range g.rounds {
		bundle := filepath.Join(g.s.dir, "bundle")
		_, failure := g.s.do(nil, g.s.brunt.program, "grpc", g.address, echoMethod, "-d", `{"text": "hi"}`, "--rate",
			strconv.Itoa(rate), "-z", fmt.Sprint(seconds, "s"), "--bundle", bundle, "--output", "json", "--quiet")
		recorded, err := record.Open(record.OS{}, bundle)
		if err != nil {
			return fmt.Errorf("%w (%v)", err, failure)
		}
		run, _, err := recorded.Result()
		os.RemoveAll(bundle)
		if err != nil {
			return err
		}
		t := &run.Total
		fmt.Printf("| %d/s for %d s: %d | %d | %.0f | %.0f |\n", rate, seconds, t.Offered, t.OK, float64(t.Lag.P50Ns)/1e3,
			float64(t.Lag.P99Ns)/1e3)
	}
	return nil
}
