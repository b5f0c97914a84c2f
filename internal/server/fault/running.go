package fault

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// running is a command that brunt runs to inject or to heal a fault.
type running struct {
	ID      string        `json:"id"` // of the fault's occurrence
	Process Process       `json:"process"`
	Mark    string        `json:"mark"`            // value of markVariable in the environment of all its processes
	Heals   bool          `json:"heals,omitempty"` // it heals
	Limit   time.Duration `json:"limit,omitempty"` // how long it may take
}

// markVariable is the environment variable by which the processes of a command are found, even those that have left its
// process group. (Jenkins finds the processes of a build in the same way.)
const markVariable = "BRUNT_FAULT"

func newMark() string { return rand.Text() }

// endWithin is how long processes may take to end after SIGKILL. Those in an uninterruptible sleep end later.
const endWithin = 5 * time.Second

// end ends all processes of a command and waits until they have ended. If it heals, it may end by itself first.
func (r *running) end() {
	if r.Heals {
		for until := time.Now().Add(r.Limit); r.alive() && time.Now().Before(until); {
			time.Sleep(lookAgain)
		}
		if !r.alive() {
			return // what it has left in the background, such as a server, is meant to stay
		}
	}
	for until := time.Now().Add(endWithin); r.kill() && time.Now().Before(until); {
		time.Sleep(lookAgain)
	}
}

// lookAgain is the time between two looks at processes that are to end.
const lookAgain = 5 * time.Millisecond

// alive reports whether the command itself hasn't ended.
func (r *running) alive() bool {
	now, _, err := lookUp(r.Process.PID)
	return err == nil && now.Started == r.Process.Started
}

// marked returns the processes that have the command's mark.
func (r *running) marked() (out []Process) {
	want := []byte(markVariable + "=" + r.Mark)
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environment, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil || !hasVariable(environment, want) {
			continue
		}
		if p, _, err := lookUp(pid); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// hasVariable reports whether an environment, as /proc shows it, has a variable with a value.
func hasVariable(environment, want []byte) bool {
	for one := range bytes.SplitSeq(environment, []byte{0}) {
		if bytes.Equal(one, want) {
			return true
		}
	}
	return false
}

// environment returns this process's environment with a command's mark in place of its own.
func environment(mark string) []string {
	var out []string
	for _, one := range os.Environ() {
		if !strings.HasPrefix(one, markVariable+"=") {
			out = append(out, one)
		}
	}
	return append(out, markVariable+"="+mark)
}
