package sysbench

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan/script"
	_ "brunt/internal/protocol/all" // the tests name its protocols
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) {
	script.Register(Language())
	os.Exit(servers.Run(m))
}

// outcome is what a program prints and how it ends.
type outcome struct {
	out, err string
	code     int
}

// ours runs brunt in the place of sysbench.
func ours(t *testing.T, args ...string) outcome {
	t.Helper()
	return called(t, "sysbench", args...)
}

// called runs the command, called as a program ("" means brunt).
func called(t *testing.T, program string, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	s := &command.Env{In: bytes.NewReader(nil), Out: &out, Err: &errs, Version: "1", Program: program,
		Args: append([]string{"sysbench"}, args...)}
	cmd := newCommand(s)
	err := cmd.RunE(cmd, append([]string{"--results", t.TempDir(), "--awake=off"}, args...))
	if err != nil && err.Error() != "" {
		errs.WriteString(err.Error())
	}
	return outcome{out.String(), errs.String(), exitcode.Of(err)}
}

// theirs runs Debian's sysbench.
func theirs(t *testing.T, args ...string) outcome {
	t.Helper()
	testserver.SkipQuick(t)
	path, err := exec.LookPath("/usr/bin/sysbench")
	if err != nil {
		t.Fatal("sysbench isn't installed: run: apt-get install -y sysbench")
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &errs
	_ = cmd.Run() // the code says it
	return outcome{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}
