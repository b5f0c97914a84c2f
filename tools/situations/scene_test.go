//go:build linux

package main

import (
	"context"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// perform runs brunt in a scene and reads its record.
func perform(t *testing.T, s *scene, args func(s *scene, url, dir string) []string) (*scenery, *record.Run) {
	t.Helper()
	v, err := s.serve()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(buildBrunt(t), args(s, "http://"+v.address+"/", dir)...)
	cmd.Dir = dir
	ctx, cancel := context.WithCancel(context.Background())
	played := make(chan error, 1)
	go func() { played <- v.play(ctx, s) }()
	out, _ := cmd.CombinedOutput()
	cancel()
	if err := <-played; err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	v.server.Close()
	b, err := record.Open(record.OS{}, filepath.Join(dir, "bundle"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run, _, err := b.Result()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d done, %d succeeded, %d failed: %v, verdict %s, lag max %v", strings.Join(cmd.Args[1:], " "),
		run.Total.Done, run.Total.OK, run.Total.Failed, run.Total.Errors, run.Verdict.Result,
		time.Duration(run.Total.Lag.MaxNs))
	return v, run
}

// commands are brunt's two commands that load HTTP services, with enough sessions for answers of 200 ms.
var commands = map[string]func(s *scene, url, dir string) []string{
	"http": func(s *scene, url, dir string) []string { return append(bruntHTTP(s, url, dir), "--sessions", "20") },
	"cook": func(s *scene, url, dir string) []string {
		return append([]string{"cook", "-qps", "5", "-concurrency", "20", "-interval", "1s", "-timeout", s.timeout.String(),
			"-duration", s.load.String(),
			"-quiet", "-bundle", filepath.Join(dir, "bundle")}, url)
	},
}

// away returns bounds for the time in which the server refused connections.
func (v *scenery) away() (least, most time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.backFrom.Sub(v.wentTo), v.backTo.Sub(v.wentFrom)
}

// A server that is down fails the requests that fall due in the meantime: no others, because requests fail at once, and
// all of them, because none wait for its return. Requests for which a machine without a free core has no time before
// the end are an exception.
func TestDeadServerCostsItsRequests(t *testing.T) {
	testserver.SkipQuick(t)
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scene{rate: 100, load: 6 * time.Second, down: 1500 * time.Millisecond, up: 4500 * time.Millisecond,
				timeout: 10 * time.Second}
			v, run := perform(t, &s, args)
			if run.Total.Done+run.Total.Dropped != 600 || run.Total.OK+run.Total.Failed != run.Total.Done {
				t.Errorf("%d done, %d succeeded, %d failed and %d unsent of 600 that fell due", run.Total.Done, run.Total.OK,
					run.Total.Failed, run.Total.Dropped)
			}
			// What fell due while the server was away was sent then, but for what was late; and what was
			// sent before may have been under way, on each of 20 sessions.
			least, most := v.away()
			late := time.Duration(run.Total.Lag.MaxNs)
			from := math.Floor((least-late).Seconds()*float64(s.rate)) - 1 - float64(run.Total.Dropped)
			to := math.Ceil((most+late).Seconds()*float64(s.rate)) + 20
			if f := float64(run.Total.Failed); f < from || f > to {
				t.Errorf("%v failed; the server was away for %v to %v at 100/s, lag up to %v: %v to %v should", f, least, most,
					late, from, to)
			}
			if run.Verdict.Result == "pass" {
				t.Errorf("half of the requests failed, and the verdict is pass")
			}
		})
	}
}

// A server that accepts connections but answers too late receives every request, and each request is a timeout. If a
// machine without a free core has no time to send or to connect again, the test is repeated.
func TestBrownOutIsTimeouts(t *testing.T) {
	testserver.SkipQuick(t)
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				s := scene{rate: 100, load: 3 * time.Second, answer: 3 * time.Second, timeout: 100 * time.Millisecond}
				v, run := perform(t, &s, args)
				unconnected := run.Total.Errors[protocol.Connect]
				if run.Total.Errors[protocol.Timeout]+unconnected != run.Total.Done || run.Total.Done+run.Total.Dropped != 300 {
					t.Fatalf("%d done, %d unsent of 300 that fell due; failed: %v", run.Total.Done, run.Total.Dropped,
						run.Total.Errors)
				}
				if run.Verdict.Result == "pass" { // invalid is possible if other processes use the cores
					t.Errorf("every request failed, and the verdict is %s: %v", run.Verdict.Result, run.Verdict.Reasons)
				}
				// The server may get to read a request only after it was given up.
				if run.Total.Done == 300 && unconnected == 0 && v.seen.Load() >= 200 {
					return
				}
			}
			t.Error("five times some of 300 requests weren't sent or found no connection, or the server saw less than 200")
		})
	}
}
