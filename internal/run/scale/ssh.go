package scale

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"

	"brunt/internal/judge/exitcode"
)

// SSH starts workers on other hosts by the system's ssh client, with the user's keys, agent and settings. The client
// never prompts: a connection that needs an answer fails.
type SSH struct {
	Hosts  []string // host, user@host or user@host:port, as for ssh
	Config string   // path of the client's settings; "" means the user's
	Binary string   // the program to run on the hosts

	path string // path of the program on the hosts, quoted for a shell
}

// failedSSH is the exit code with which ssh reports its own errors.
const failedSSH = 255

// Copy copies the program to the hosts that don't have it, which is decided by the hash of the file there. An error is
// an *Error that names the host.
func (s *SSH) Copy(ctx context.Context) error {
	sum, size, err := hashOf(s.Binary)
	if err != nil {
		return err
	}
	s.path = `"${XDG_CACHE_HOME:-$HOME/.cache}"/brunt/` + sum[:16] + `/brunt`
	errs := make([]error, len(s.Hosts))
	var wg sync.WaitGroup
	for i, host := range s.Hosts {
		wg.Go(func() { errs[i] = s.copyTo(ctx, host, sum, size) })
	}
	wg.Wait()
	for _, err := range errs { // one error is enough
		if err != nil {
			return err
		}
	}
	return nil
}

func hashOf(path string) (sum string, size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	h := sha256.New()
	size, err = io.Copy(h, file)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// hasher is a function for a shell that prints the SHA-256 of a file with the tool that the host has: that of GNU and
// busybox, of Perl (macOS), of BSD, or OpenSSL's. Without a tool it prints nothing.
const hasher = `h() { { sha256sum < "$1" || shasum -a 256 < "$1" || sha256 -q < "$1" || ` +
	`openssl dgst -sha256 -r < "$1"; } 2>/dev/null || true; }; `

// copyTo copies the program to a host, unless a file with its hash is there. An incomplete or changed copy is never
// used: a host without a tool for hashes gets a new one.
func (s *SSH) copyTo(ctx context.Context, host, sum string, size int64) error {
	out, err := s.shell(ctx, host, fmt.Sprintf("%sif test -x %s; then h %s; fi", hasher, s.path, s.path), nil)
	if err != nil || strings.HasPrefix(strings.TrimSpace(out), sum) {
		return err
	}
	file, err := os.Open(s.Binary)
	if err != nil {
		return err
	}
	defer file.Close()
	out, err = s.shell(ctx, host, fmt.Sprintf(hasher+
		`p=%s; mkdir -p "${p%%/*}" && cat > "$p.$$" && test "$(wc -c < "$p.$$")" -eq %d && `+
		`chmod 700 "$p.$$" && mv "$p.$$" "$p" && h "$p"`,
		s.path, size), file)
	if got := strings.TrimSpace(out); err == nil && got != "" && !strings.HasPrefix(got, sum) {
		err = &Error{Code: exitcode.Unreachable, Text: fmt.Sprintf(
			"host %s: the copy of brunt there has another hash than the program here; check its disk, and that nobody else "+
				"writes to its ~/.cache/brunt", host)}
	}
	return err
}

// shell runs a command line in a host's shell.
func (s *SSH) shell(ctx context.Context, host, line string, input io.Reader) (string, error) {
	cmd := exec.CommandContext(ctx, "ssh", s.arguments(host, line)...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, &errs
	apart(cmd)
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", &Error{Code: exitcode.Unreachable, Text: fmt.Sprintf("host %s: %s", host, sshTrouble(err, errs.String()))}
	}
	return out.String(), nil
}

// sshTrouble returns an error of the ssh client with what to do about it.
func sshTrouble(err error, said string) string {
	said = strings.TrimSpace(said)
	last := said[strings.LastIndexByte(said, '\n')+1:]
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "there is no ssh client on this machine; install one (openssh-client)"
	case strings.Contains(said, "IDENTIFICATION HAS CHANGED"):
		return "its host key is not the one that ssh knows; find out why it changed, then remove the old one with ssh-keygen -R"
	case strings.Contains(said, "Host key verification failed"):
		return "ssh doesn't know its host key; log in once by hand to check it, or add it to known_hosts"
	case strings.Contains(said, "Permission denied"):
		return "none of your keys is accepted there; add one to ssh-agent (" + last + ")"
	case last == "":
		return err.Error()
	}
	return last
}

// Command returns the command that starts a worker on a host. It reads the worker's ticket from standard input. Copy
// must be called first.
func (s *SSH) Command(host string) *exec.Cmd {
	return exec.Command("ssh", s.arguments(host, "exec "+s.path+" worker")...)
}

// LostConnection reports whether the client ended because it lost its connection, or because a signal ended it. In
// these cases the worker may continue: its own connections to the coordinator tell.
func (s *SSH) LostConnection(state *os.ProcessState) bool {
	return state.ExitCode() == failedSSH || !state.Exited()
}

func (s *SSH) arguments(host, line string) []string {
	args := []string{"-o", "BatchMode=yes", "-o", "ConnectTimeout=10"}
	if s.Config != "" {
		args = append(args, "-F", s.Config)
	}
	if name, port, err := net.SplitHostPort(host); err == nil {
		host, args = name, append(args, "-p", port)
	}
	return append(args, "--", host, line)
}

// callerAddress returns the host from which this process was started, by Slurm's srun or through ssh, and otherwise
// loopback.
func callerAddress() string {
	client, _, _ := strings.Cut(os.Getenv("SSH_CONNECTION"), " ")
	return cmp.Or(os.Getenv("SLURM_LAUNCH_NODE_IPADDR"), client, "127.0.0.1")
}
