//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// several returns situations with more than one phase, server, process or part, and with connections that end by
// design.
func several() []family {
	return []family{
		{"healthy-phases", truthPass, 6, phases},
		{"healthy-idle-ends", truthPass, 4, idleEnds},
		{"two-primaries", truthFail, 4, twoPrimaries},
		{"worker-lost", truthInvalid, 4, workerLost},
		{"part-lacks", truthInvalid, 4, partLacks},
	}
}

// phases has stages of all kinds one after another. What separates them belongs to no phase, so that each open phase
// has its whole rate.
func phases(d *draw) situation {
	s := d.begin(redis, nginx, postgres, echo)
	s.ask.open, s.ask.rate = true, one(d, 100.0, 200, 500)
	half := d.load / 2
	s.ask.phases = fmt.Sprintf("  - closed: {sessions: 4, operations: 100}\n"+
		"  - {name: first, constant: {rate: %.0f, duration: %v}}\n  - pause: %v\n"+
		"  - {name: second, constant: {rate: %[1]f, duration: %v}}\n", s.ask.rate, half, d.load/10, half)
	s.ask.thresholds = []string{"errors.count < 1"}
	s.Why = fmt.Sprintf("two open phases of %v, after a closed one and after a pause, are answered at once", half)
	rate := s.ask.rate
	s.told = func(run *record.Run) string {
		for i := range run.Phases {
			p := &run.Phases[i]
			if p.Kind != measure.KindOpen {
				continue
			}
			want, seconds := uint64(math.Round(rate*half.Seconds())), float64(p.ScheduleNs)/1e9
			if p.Offered != want || math.Abs(float64(p.Done)/seconds-rate) > rate/1000 {
				return fmt.Sprintf("phase %s: %d of %d arrivals in %v s, want %v/s", p.Name, p.Done, p.Offered, seconds, rate)
			}
		}
		return ""
	}
	return s
}

// idleEnds has sessions that pause for longer than the server keeps a connection without requests.
func idleEnds(d *draw) situation {
	s := d.begin(hasty)
	s.ask.open, s.ask.sessions = false, 8
	s.ask.think = d.between(2*hastyIdle, 3*hastyIdle)
	s.ask.thresholds = []string{"errors.count < 1"}
	s.Why = fmt.Sprintf("the server ends connections without requests for %v, and sessions pause for %v: nothing is lost",
		hastyIdle, s.ask.think)
	return s
}

// twoPrimaries writes to two servers that don't replicate, as after a split.
func twoPrimaries(d *draw) situation {
	s := d.begin(redis)
	s.ask.open, s.ask.rate = true, one(d, 100.0, 200)
	s.also = otherRedis
	s.ask.operation = strings.ReplaceAll(`command: [SET, "SEED:$1", $2]
    params: [{type: Unsigned, range: [1, 100000000], distribution: Sequential}, {type: String, range: [8, 8]}]
    verify: {read: {command: [GET, "SEED:$1"], capture: [0]}, expect: [2]}`, "SEED", fmt.Sprint("divided-", s.Seed))
	s.ask.more = "verify: {patience: 300ms}\n"
	s.Why = "two servers take writes, and neither has those of the other"
	s.told = func(run *record.Run) string {
		if v := run.Verified; v == nil || len(v.Divisions) != 1 {
			return "the record doesn't say that the servers have gone separate ways"
		}
		return ""
	}
	return s
}

// workerLost kills one of two workers.
func workerLost(d *draw) situation {
	s := d.begin(redis, postgres, nginx)
	s.flags = []string{"--workers", "2"}
	at := d.share(0.3, 0.6)
	s.fault = &fault{cause: func(ctx context.Context, r *running) {
		r.until(ctx, at)
		for _, pid := range testserver.Descendants(r.pid) {
			if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.HasSuffix(line, []byte("\x00worker\x00")) {
				syscall.Kill(pid, syscall.SIGKILL)
				return
			}
		}
	}}
	s.Why = fmt.Sprintf("one of two workers is killed at %v: what it did in its last interval, and what fell due until the "+
		"other one took its share, is in no figure", at)
	return s
}

// partLacks merges two parts of a load, one of which has lost the end of its intervals.
func partLacks(d *draw) situation {
	s := d.begin(redis, nginx, echo)
	s.ask.open = true
	s.flags = []string{"--part", "1/2", "--interval", "200ms"}
	s.after = mergeCut
	s.Why = "the intervals of one of two parts end after the first: at least a third of the load is in no figure"
	return s
}

// mergeCut makes the other part of the load of r, cuts its intervals after the first, and merges both into the bundle
// that is judged.
func mergeCut(ctx context.Context, r *running, f *finished, args []string) error {
	merged := f.Bundle + "-merged"
	os.RemoveAll(merged)
	intervals := filepath.Join(f.Bundle, record.IntervalsFile)
	text, err := os.ReadFile(intervals)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(intervals, []byte(first+"\n"), 0o644); err != nil {
		return err
	}
	other := f.Bundle + "-other"
	os.RemoveAll(other)
	again := append([]string(nil), args...)
	for i, a := range again {
		switch a {
		case "1/2":
			again[i] = "2/2"
		case f.Bundle:
			again[i] = other
		}
	}
	second := exec.CommandContext(ctx, again[0], again[1:]...)
	second.Env = r.situation.server.environment(r.server)
	_ = second.Run() // what it ends with is in its bundle
	merge := append(append([]string(nil), r.brunt...), "merge", f.Bundle, other, "--bundle", merged, "--output", "json")
	cmd := exec.CommandContext(ctx, merge[0], merge[1:]...)
	out, err := cmd.CombinedOutput()
	f.Exit, f.Said, f.Bundle = cmd.ProcessState.ExitCode(), tail(string(out)), merged
	f.Command += " && " + strings.Join(merge, " ")
	if err != nil && cmd.ProcessState == nil {
		return err
	}
	return nil
}

// hastyIdle is how long the server hasty keeps a connection without requests.
const hastyIdle = 100 * time.Millisecond
