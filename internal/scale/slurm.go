package scale

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Slurm starts workers as the tasks of one job step, one a node: within the allocation that this process is in, or in
// one of its own. The program must be at the same path on all nodes.
type Slurm struct {
	Run     string   // id of the run, for the job's name
	Workers int      // tasks
	Options []string // further arguments of srun
	Binary  string   // the program

	mu   sync.Mutex
	last string // line of srun before the load
	live bool
}

// Command starts the step, to be given a ticket for all workers on standard input, which srun passes on to each. A
// node that fails, or a worker that ends with an error, ends no other. Tasks get none of this process's environment but
// what a program needs to run, so that no secret of it is sent or kept.
func (s *Slurm) Command() *exec.Cmd {
	n := strconv.Itoa(s.Workers)
	args := []string{"--job-name=" + s.name(), "--nodes=" + n, "--ntasks=" + n, "--ntasks-per-node=1", "--no-kill",
		"--kill-on-bad-exit=0", "--wait=0", "--input=all", "--mpi=none", "--export=PATH,HOME,TMPDIR"}
	args = append(append(args, s.Options...), s.Binary, "worker")
	return exec.Command("srun", args...)
}

func (s *Slurm) name() string { return "brunt-" + s.Run }

// CheckSlurm is an *Error if there is no Slurm on this machine.
func CheckSlurm() error {
	if _, err := exec.LookPath("srun"); err != nil {
		return &Error{Code: codeUnreachable,
			Text: "--on slurm: there is no srun on this machine; run it where jobs are submitted from"}
	}
	return nil
}

// slurmSays is how srun's own lines begin.
const slurmSays = "srun: "

// Log passes on what workers write. Lines of srun before the load are kept instead: the last one is why it failed, if
// it does.
func (s *Slurm) Log(w io.Writer) io.Writer { return &slurmLog{s, w} }

type slurmLog struct {
	slurm *Slurm
	w     io.Writer
}

// Write implements io.Writer. It is given whole lines.
func (l *slurmLog) Write(b []byte) (int, error) {
	if i := bytes.Index(b, []byte(slurmSays)); i >= 0 {
		l.slurm.mu.Lock()
		defer l.slurm.mu.Unlock()
		if !l.slurm.live {
			l.slurm.last = strings.TrimSpace(strings.TrimPrefix(string(b[i+len(slurmSays):]), "error: "))
			return len(b), nil
		}
	}
	return l.w.Write(b)
}

// Begun says that the load begins.
func (s *Slurm) Begun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = true
}

// How says how srun ended: what it said before the load, if it said anything.
func (s *Slurm) How(state *os.ProcessState) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != "" && !s.live {
		return "srun: " + s.last
	}
	return "srun: " + state.String()
}

// Ended reports whether the tasks have ended because srun has. They may go on if it was killed.
func (s *Slurm) Ended(state *os.ProcessState) bool { return state.Exited() }

// Waiting says why tasks don't run, as Slurm tells it; "" if it doesn't.
func (s *Slurm) Waiting(ctx context.Context) string {
	timed, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(timed, "squeue", "--noheader", "--name="+s.name(), "--format=%i %T %r").Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "squeue says: " + strings.TrimSpace(string(failed.Stderr))
	}
	if job, rest, ok := strings.Cut(strings.TrimSpace(string(out)), " "); ok && err == nil {
		if state, reason, _ := strings.Cut(rest, " "); state == "PENDING" {
			return fmt.Sprintf("Slurm's job %s is pending: %s", job, reason)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != "" {
		return "srun says: " + s.last
	}
	return ""
}
