package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/linefile"
	"brunt/internal/record"
)

// everyRequest is the default number of requests of a plan's run.
const everyRequest = 100_000_000

// memory runs a load of many requests and measures brunt's memory.
func memory(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("memory", flag.ContinueOnError)
	requests := f.Uint64("requests", everyRequest, "how many")
	script := f.Bool("k6", false, "iterations of a script instead of requests of a plan; 10 million unless -requests says")
	atMost := f.Duration("at-most", 10*time.Minute, "end after this time at the latest")
	return withStand(ctx, f, args, func(s *stand) (err error) {
		var cmd *exec.Cmd
		var bundle string
		if *script {
			if *requests == everyRequest {
				*requests = 10_000_000
			}
			cmd, bundle, err = s.scriptRun(*requests, *atMost)
		} else {
			var r *receiver
			if r, err = s.receiver(noNotes); err != nil {
				return err
			}
			defer r.abandon()
			cmd, bundle, err = s.longRun(r.address, *requests, *atMost)
		}
		if err != nil {
			return err
		}
		run, seen, err := s.watched(cmd, bundle)
		if err != nil {
			return err
		}
		fmt.Printf("%d requests in %.0f s, %d failed; %s\n", run.Total.Done, float64(run.DurationNs)/1e9, run.Total.Failed,
			flatness(seen, run.DurationNs, *script))
		return nil
	})
}

// watched runs brunt to its end, measures its memory, and reads its record. seen contains the readings of watchMemory.
func (s *stand) watched(cmd *exec.Cmd, bundle string) (run *record.Run, seen []uint64, err error) {
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	seen, err = watchMemory(cmd.Process.Pid, s.raw)
	if failure := cmd.Wait(); err == nil && failure != nil && !cmd.ProcessState.Exited() {
		err = failure
	}
	if err != nil {
		return nil, nil, err
	}
	b, err := record.Open(record.OS{}, bundle)
	if err != nil {
		return nil, nil, err
	}
	run, _, err = b.Result()
	return run, seen, err
}

// flatness describes how a process's memory, in kB, changed after the first reading, which is taken a minute after the
// start. A run that lasted at most a minute (ns is its length) shows nothing.
//
// Scripts produce garbage, so their memory varies with the collections. If swings is set, the mean of the second half
// of the readings is compared with that of the first half.
func flatness(seen []uint64, ns int64, swings bool) string {
	if ns <= int64(time.Minute) {
		return fmt.Sprintf("memory (RSS) %d kB at the end, within the first minute: too short to tell whether it grows",
			seen[0])
	}
	least, most := slices.Min(seen), slices.Max(seen)
	grown := float64(most)/float64(seen[0]) - 1
	verdict := "yes"
	if swings {
		before, after := mean(seen[:len(seen)/2]), mean(seen[len(seen)/2:])
		if after > 1.05*before {
			verdict = "no"
		}
		return fmt.Sprintf(
			"memory (RSS) since the first minute from %d to %d kB, on average %.0f kB in the earlier half and %.0f in the later: %+.1f %%; within 5 %%: %s",
			least, most, before, after, 100*(after/before-1), verdict)
	}
	if 20*(most-seen[0]) > seen[0] {
		verdict = "no"
	}
	return fmt.Sprintf(
		"memory (RSS) a minute after the start %d kB, least %d kB, most %d kB since: %+.1f %%; within 5 %%: %s",
		seen[0], least, most, 100*grown, verdict)
}

func mean(all []uint64) (m float64) {
	for _, x := range all {
		m += float64(x) / float64(len(all))
	}
	return m
}

// longRun prepares a closed load with a deep pipeline.
func (s *stand) longRun(address string, requests uint64, atMost time.Duration) (cmd *exec.Cmd, bundle string,
	err error) {
	plan, err := s.plan("echo", fmt.Sprintf("operations: %d, duration: %v", requests, atMost))
	if err != nil {
		return nil, "", err
	}
	bundle = filepath.Join(s.dir, "long")
	cmd = exec.CommandContext(s.ctx, s.brunt.program, "run", plan, "--proto", "echo", "-a", address, "--vu", "50",
		"--tier", "codec", "--loops", "1",
		"--pipeline", "64", "--awake", "off", "--bundle", bundle, "--quiet", "--output", "json")
	cmd.Stderr = os.Stderr
	return cmd, bundle, nil
}

// watchMemory reads a process's resident memory, in kB, every second after its first minute until the process has
// ended, and logs it. If the process ends within the first minute, it returns the last reading only.
func watchMemory(pid int, raw *linefile.File) (seen []uint64, err error) {
	began := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for second := 1; ; second++ {
		<-tick.C
		kB, alive := resident(pid)
		if !alive {
			break
		}
		if second%60 == 0 {
			fmt.Fprintf(os.Stderr, "%3d min: %d kB\n", second/60, kB)
		}
		if second%10 == 0 {
			if err := raw.AppendJSON(map[string]any{"after_s": time.Since(began).Seconds(), "rss_kb": kB}); err != nil {
				return nil, err
			}
		}
		if second <= 60 {
			seen = seen[:0]
		}
		seen = append(seen, kB)
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("the run ended before its memory was read")
	}
	return seen, nil
}

// resident returns VmRSS of /proc/PID/status, in kB. alive is false if the process has ended, also if it has not been
// reaped yet.
func resident(pid int) (kB uint64, alive bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kB, _ = strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kB, true
		}
	}
	return 0, false
}
