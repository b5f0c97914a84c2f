//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/tools/peers"
)

// scene describes the behaviour of an HTTP server while a tool sends it requests at a constant rate.
type scene struct {
	name, title string
	rate        int
	load        time.Duration
	down, up    time.Duration // the server is down between these times of the load; both 0: never
	answer      time.Duration // delay of each answer
	timeout     time.Duration // of a request
}

// due returns how many requests fall due during the load.
func (s *scene) due() int { return int(float64(s.rate) * s.load.Seconds()) }

// scenes returns the scenes of docs/verdict.md.
func scenes() []scene {
	return []scene{
		{
			name: "dead", title: "The server is down for 15 s of 30 s; 100 requests a second",
			rate: 100, load: 30 * time.Second, down: 7500 * time.Millisecond, up: 22500 * time.Millisecond,
			timeout: 10 * time.Second,
		},
		{
			name: "brown-out", title: "Every answer takes 3 s, and requests give up after 100 ms; 100 requests a second for 9 s",
			rate: 100, load: 9 * time.Second, answer: 3 * time.Second, timeout: 100 * time.Millisecond,
		},
	}
}

// scenery is the server of a scene.
type scenery struct {
	address string
	seen    atomic.Int64 // requests that reached the server
	server  *http.Server
	handler http.Handler

	mu sync.Mutex
	// wentFrom and wentTo are the times before and after the server was closed, backFrom and backTo those before and
	// after it listened again.
	wentFrom, wentTo, backFrom, backTo time.Time
}

func (s *scene) serve() (*scenery, error) {
	v := &scenery{address: "127.0.0.1:0"}
	v.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.seen.Add(1)
		select {
		case <-time.After(s.answer):
		case <-r.Context().Done():
		}
		w.Write([]byte("a page\n"))
	})
	return v, v.listen()
}

func (v *scenery) listen() error {
	l, err := net.Listen("tcp", v.address)
	if err != nil {
		return fmt.Errorf("start the scene's server: %w", err)
	}
	v.address = l.Addr().String()
	v.server = &http.Server{Handler: v.handler}
	go v.server.Serve(l)
	return nil
}

// play closes the server and opens it again at the scene's times, which count from the first request that the server
// receives.
func (v *scenery) play(ctx context.Context, s *scene) error {
	if s.up == 0 {
		return nil
	}
	for v.seen.Load() == 0 {
		if !protocol.Sleep(ctx, time.Millisecond) {
			return ctx.Err()
		}
	}
	began := time.Now()
	if !protocol.Sleep(ctx, time.Until(began.Add(s.down))) {
		return ctx.Err()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wentFrom = time.Now()
	v.server.Close()
	v.wentTo = time.Now()
	protocol.Sleep(ctx, time.Until(began.Add(s.up)))
	v.backFrom = time.Now()
	err := v.listen()
	v.backTo = time.Now()
	return err
}

// told contains what a tool reports about a scene.
type told struct {
	ok, failed int
	as         string // the tool's names for the failures
	p99        string
	verdict    string
}

// actor is a tool: its command line for a scene, and the parser of its output.
type actor struct {
	name    string
	program string
	args    func(s *scene, url, dir string) []string
	read    func(out, dir string) (told, error)
}

// playScenes runs each tool in each scene and prints the tables.
func playScenes(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("scenes", flag.ContinueOnError)
	only := onlyFlag(f, "play only the scenes whose name matches this regular expression")
	program := f.String("brunt", "bin/brunt", "the program")
	if err := f.Parse(args); err != nil {
		return err
	}
	actors, err := cast(ctx, *program)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "brunt-scenes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, s := range scenes() {
		if !only.MatchString(s.name) {
			continue
		}
		fmt.Printf(
			"%s: %d fall due\n\n| | Requests | Answered | Failed | As | p99 | Server saw | Result |\n|---|---:|---:|---:|---|---:|---:|---|\n", s.title, s.due())
		for _, a := range actors {
			if err := a.play(ctx, os.Stdout, &s, filepath.Join(dir, s.name+a.name)); err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
		}
		fmt.Println()
	}
	return nil
}

// cast returns brunt and the tools that it is compared with.
func cast(ctx context.Context, program string) ([]actor, error) {
	paths := map[string]string{}
	for _, p := range []string{peers.Vegeta, peers.Hey, peers.SlowCooker} {
		path, err := peers.Build(ctx, p)
		if err != nil {
			return nil, err
		}
		paths[p] = path
	}
	return []actor{
		{"brunt http", program, bruntHTTP, readBrunt},
		{"brunt cook", program, bruntCook, readBrunt},
		{"vegeta", paths[peers.Vegeta], vegetaArgs, readVegeta(ctx, paths[peers.Vegeta])},
		{"hey", paths[peers.Hey], heyArgs, readHey},
		{"slow_cooker", paths[peers.SlowCooker], cookerArgs, readCooker},
	}, nil
}

// play runs one tool in a scene and prints its row.
func (a *actor) play(ctx context.Context, w io.Writer, s *scene, dir string) error {
	v, err := s.serve()
	if err != nil {
		return err
	}
	defer func() { v.server.Close() }()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.load+patience)
	defer cancel()
	played := make(chan error, 1)
	go func() { played <- v.play(ctx, s) }()
	cmd := exec.CommandContext(ctx, a.program, a.args(s, "http://"+v.address+"/", dir)...)
	out, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return err
	}
	cancel()
	if err := <-played; err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	t, err := a.read(string(out), dir)
	if err != nil {
		return fmt.Errorf("%w: %s", err, tail(string(out)))
	}
	fmt.Fprintf(w, "| %s | %d | %d | %d | %s | %s | %d | %s |\n", a.name, t.ok+t.failed, t.ok, t.failed, t.as, t.p99,
		v.seen.Load(), t.verdict)
	return nil
}

func bruntHTTP(s *scene, url, dir string) []string {
	return []string{"http", url, "--rate", strconv.Itoa(s.rate), "--duration", s.load.String(), "--timeout",
		s.timeout.String(), "--quiet", "--bundle", filepath.Join(dir, "bundle")}
}

// cookers is the number of sessions among which the rate of slow_cooker and hey is divided.
const cookers = 10

func cookerArgs(s *scene, url, _ string) []string {
	return []string{
		"-qps", strconv.Itoa(s.rate / cookers), "-concurrency", strconv.Itoa(cookers), "-interval", "1s", "-iterations",
		fmt.Sprint(s.load.Seconds()),
		"-timeout", s.timeout.String(), "-noLatencySummary", url,
	}
}

func bruntCook(s *scene, url, dir string) []string {
	args := append([]string{"cook"}, cookerArgs(s, url, dir)...)
	return append(args[:len(args)-1:len(args)-1], "-quiet", "-bundle", filepath.Join(dir, "bundle"), url)
}

func readBrunt(_, dir string) (told, error) {
	run, err := recorded(filepath.Join(dir, "bundle"))
	if err != nil {
		return told{}, err
	}
	t := &run.Total
	return told{
		ok: int(t.OK), failed: int(t.Failed), as: counts(&t.Errors), verdict: run.Verdict.Result,
		p99: milliseconds(float64(t.Response.P99Ns) / 1e6),
	}, nil
}

// counts returns the failures by class as text.
func counts(of *measure.ByClass) string {
	var all []string
	for _, class := range of.Sorted() {
		all = append(all, fmt.Sprintf("%s %d", class, of[class]))
	}
	return strings.Join(all, ", ")
}

// milliseconds formats a time in ms. Requests without an answer have infinite times.
func milliseconds(ms float64) string {
	if math.IsInf(ms, 0) || ms > 1e12 {
		return "∞"
	}
	return fmt.Sprintf("%.1f ms", ms)
}

func vegetaArgs(s *scene, url, dir string) []string {
	targets := filepath.Join(dir, "targets")
	os.WriteFile(targets, []byte("GET "+url+"\n"), 0o644)
	return []string{"attack", "-targets", targets, "-rate", strconv.Itoa(s.rate), "-duration", s.load.String(), "-timeout",
		s.timeout.String(), "-output", filepath.Join(dir, "results")}
}

func readVegeta(ctx context.Context, program string) func(out, dir string) (told, error) {
	return func(_, dir string) (told, error) {
		text, err := exec.CommandContext(ctx, program, "report", "-type=json", filepath.Join(dir, "results")).Output()
		if err != nil {
			return told{}, err
		}
		var r struct {
			Requests  int            `json:"requests"`
			Statuses  map[string]int `json:"status_codes"`
			Errors    []string       `json:"errors"`
			Latencies struct {
				P99 time.Duration `json:"99th"`
			} `json:"latencies"`
		}
		if err := json.Unmarshal(text, &r); err != nil {
			return told{}, err
		}
		return told{ok: r.Statuses["200"], failed: r.Requests - r.Statuses["200"], as: kinds(r.Errors),
			p99: milliseconds(float64(r.Latencies.P99) / 1e6)}, nil
	}
}

// kinds returns the kinds of Go's network errors, each once.
func kinds(errs []string) string {
	var all []string
	for _, e := range errs {
		for _, k := range []struct{ part, name string }{{"refused", "refused"}, {"reset", "reset"}, {"EOF", "EOF"},
			{"xceeded", "timeout"}} {
			if strings.Contains(e, k.part) && !slices.Contains(all, k.name) {
				all = append(all, k.name)
			}
		}
	}
	return strings.Join(all, ", ")
}

// heyArgs rounds the timeout up, because hey only accepts whole seconds.
func heyArgs(s *scene, url, _ string) []string {
	timeout := int(math.Ceil(s.timeout.Seconds()))
	return []string{"-c", strconv.Itoa(cookers), "-q", strconv.Itoa(s.rate / cookers), "-z", s.load.String(), "-t",
		strconv.Itoa(timeout), url}
}

func readHey(out, _ string) (told, error) {
	answers, errs, _ := strings.Cut(out, "Error distribution:")
	t := told{as: kinds(strings.Split(errs, "\n"))}
	addUp(answers, `\[200\]\s+(\d+) responses`, &t.ok)
	addUp(errs, `(?m)^\s+\[(\d+)\]`, &t.failed)
	if m := regexp.MustCompile(`99%+ in ([\d.]+) secs`).FindStringSubmatch(out); m != nil {
		s, _ := strconv.ParseFloat(m[1], 64)
		t.p99 = milliseconds(1000 * s)
	}
	return t, nil
}

// readCooker sums up the counts in slow_cooker's lines: good/bad/failed.
func readCooker(out, _ string) (told, error) {
	t := told{as: "failed"}
	if addUp(out, `(?m)^\S+Z\s+(?:\d+\s+)?(\d+)/(\d+)/(\d+) `, &t.ok, &t.failed, &t.failed) == 0 {
		return t, errors.New("no lines")
	}
	return t, nil
}

// addUp adds the numbers in each match of a pattern to the sums in to. It returns the number of matches.
func addUp(text, pattern string, to ...*int) (matches int) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		matches++
		for i, sum := range to {
			n, _ := strconv.Atoi(m[i+1])
			*sum += n
		}
	}
	return matches
}
