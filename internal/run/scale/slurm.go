package scale

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"brunt/internal/judge/exitcode"
)

// Slurm starts workers as the tasks of one job step, one per node: in the allocation that this process belongs to, or
// in a new one. The program must be at the same path on all nodes.
type Slurm struct {
	Run     string   // ID of the run, part of the job's name
	Workers int      // number of tasks
	Options []string // further arguments of srun
	Binary  string   // path of the program

	mu   sync.Mutex
	last string // last line of srun before the load
	live bool
}

// Command returns the command that starts the step. Its standard input must be a ticket for all workers, which srun
// passes on to each. A node that fails, or a worker that ends with an error, doesn't end the others. Of this process's
// environment, tasks get only the variables that a program needs to run, so that no secret is sent or stored.
func (s *Slurm) Command() *exec.Cmd {
	n := strconv.Itoa(s.Workers)
	args := []string{"--job-name=" + s.name(), "--nodes=" + n, "--ntasks=" + n, "--ntasks-per-node=1", "--no-kill",
		"--kill-on-bad-exit=0", "--wait=0", "--input=all", "--mpi=none", "--export=PATH,HOME,TMPDIR"}
	args = append(append(args, s.Options...), s.Binary, "worker")
	return exec.Command("srun", args...)
}

func (s *Slurm) name() string { return "brunt-" + s.Run }

// CheckSlurm returns an *Error if this machine has no srun, or if Slurm's clients can't be used on it.
func CheckSlurm(ctx context.Context) error {
	if _, err := exec.LookPath("srun"); err != nil {
		return &Error{Code: exitcode.Unreachable,
			Text: "--on slurm: there is no srun on this machine; run it where jobs are submitted from"}
	}
	if _, refused := squeue(ctx, "--name=brunt"); refused != "" {
		return &Error{Code: exitcode.Unreachable, Text: "--on slurm: " + withRemedy(refused)}
	}
	return nil
}

// squeuePatience is how long to wait for squeue. It repeats requests for a minute if a configuration file is missing.
const squeuePatience = 5 * time.Second

// squeue returns the output of squeue. If it fails, refused is the last line that it writes about that.
func squeue(ctx context.Context, args ...string) (out, refused string) {
	timed, cancel := context.WithTimeout(ctx, squeuePatience)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(timed, "squeue", append(args, "--noheader")...)
	cmd.Stderr = &said
	b, err := cmd.Output()
	if err != nil {
		lines := strings.TrimSpace(said.String())
		return "", lines[strings.LastIndexByte(lines, '\n')+1:]
	}
	return string(b), ""
}

// slurmSays is the prefix of lines that srun itself writes.
const slurmSays = "srun: "

// Log returns a writer that passes the output of the workers to w. It doesn't pass on srun's own lines before the load:
// it keeps the last one, which is the reason if srun fails.
func (s *Slurm) Log(w io.Writer) io.Writer { return &slurmLog{s, w} }

type slurmLog struct {
	slurm *Slurm
	w     io.Writer
}

// Write implements io.Writer. b must consist of whole lines.
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

// Begun records that the load begins.
func (s *Slurm) Begun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = true
}

// How returns how srun ended: its last line before the load, or its process state if there is none or the load has
// begun.
func (s *Slurm) How(state *os.ProcessState) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != "" && !s.live {
		return "srun: " + withRemedy(s.last)
	}
	return "srun: " + state.String()
}

// Ended reports whether the tasks have ended when srun has ended with state. If a signal killed srun, they may still
// run.
func (s *Slurm) Ended(state *os.ProcessState) bool { return state.Exited() }

// Waiting returns why the tasks don't run, as Slurm reports it, and what to do about it; "" if it reports nothing.
func (s *Slurm) Waiting(ctx context.Context) string {
	out, refused := squeue(ctx, "--name="+s.name(), "--format=%i %T %r")
	if refused != "" {
		return withRemedy(refused)
	}
	if job, rest, ok := strings.Cut(strings.TrimSpace(out), " "); ok {
		if state, reason, _ := strings.Cut(rest, " "); state == "PENDING" {
			return fmt.Sprintf("Slurm's job %s is pending (%s): use fewer workers or another partition (--slurm-options)",
				job, reason)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != "" {
		return "srun: " + withRemedy(s.last)
	}
	return ""
}

// withRemedy appends to an error message of Slurm's clients what to do about it.
func withRemedy(said string) string {
	if strings.Contains(said, "configuration") || strings.Contains(said, "No such file") {
		return said + "; run brunt on a machine from which srun can submit jobs, or set SLURM_CONF"
	}
	return said + "; try the same options with srun hostname"
}
