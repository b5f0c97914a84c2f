package acceptance_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"brunt/test/shell"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal. What a program prints on tty can be read from controller.
func terminal(t *testing.T) (controller, tty *os.File) {
	t.Helper()
	controller, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { controller.Close() })
	fd := int(controller.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100}); err != nil {
		t.Fatal(err)
	}
	return controller, tty
}

// onTerminal runs brunt on a terminal, types a line if it asks for a password, and returns its output.
func onTerminal(t *testing.T, env []string, typed string, args ...string) string {
	t.Helper()
	if typed != "" {
		typed += "\n"
	}
	return answering(t, env, "Password: ", typed, args...)
}

// answering runs brunt on a terminal, types a text after brunt has printed asked, and returns its output.
func answering(t *testing.T, env []string, asked, typed string, args ...string) string {
	t.Helper()
	controller, tty := terminal(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(append(os.Environ(), roleVariable+"=brunt", "TERM=xterm", "NO_COLOR="), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	shown := make(chan string)
	go func() {
		var b strings.Builder
		buf := make([]byte, 4096)
		for {
			n, err := controller.Read(buf)
			b.Write(buf[:n])
			if typed != "" && strings.Contains(b.String(), asked) {
				io.WriteString(controller, typed)
				typed = ""
			}
			if err != nil {
				shown <- b.String()
				return
			}
		}
	}()
	cmd.Wait()
	return <-shown
}

// A terminal gets colour and a progress line that is redrawn in place, and NO_COLOR and TERM=dumb are respected.
func TestTerminal(t *testing.T) {
	t.Parallel()
	plan := shell.File(t, "plan.yml", "queries: [{name: one, sql: select 1, weight: 1}]\n")
	args := append([]string{"rate", "-c", plan, "--rate", "50", "--duration", "3s", "--results", t.TempDir()},
		sqlite(t).flags()...)
	const bold, erase = "\x1b[1m", "\r\x1b[K"
	if shown := onTerminal(t, nil, "", args...); !strings.Contains(shown, bold) || !strings.Contains(shown, erase) ||
		!strings.Contains(shown, "LATENCY") {
		t.Errorf("no colour, progress or report:\n%q", shown)
	}
	if shown := onTerminal(t, []string{"NO_COLOR=1"}, "", args...); strings.Contains(shown, bold) ||
		!strings.Contains(shown, erase) {
		t.Errorf("colour in spite of NO_COLOR, or no progress:\n%q", shown)
	}
	if shown := onTerminal(t, []string{"TERM=dumb"}, "", args...); strings.Contains(shown, "\x1b") {
		t.Errorf("escapes on a dumb terminal:\n%q", shown)
	}
	if shown := onTerminal(t, nil, "", append(args, "--quiet")...); strings.Contains(shown, erase) ||
		!strings.Contains(shown, "LATENCY") {
		t.Errorf("progress in spite of --quiet, or no report:\n%q", shown)
	}
}

// A password typed at the prompt isn't echoed.
func TestPasswordPrompt(t *testing.T) {
	t.Parallel()
	s := postgres(t)
	plan := shell.File(t, "plan.yml", "queries: [{name: one, sql: select 1, count: 5}]\n")
	shown := onTerminal(t, nil, secret, "queue", "-c", plan, "--proto", "pg", "-a", s.addr, "-u", s.user, "--database",
		s.database,
		"--ask-password", "--results", t.TempDir())
	if !strings.Contains(shown, "Password: ") || strings.Contains(shown, secret) ||
		!strings.Contains(shown, "5 operations") {
		t.Errorf("no prompt, an echo, or no result:\n%s", shown)
	}
}

// On a terminal, schema down asks before it drops tables that brunt didn't create, and drops them only after the answer
// yes.
func TestSchemaDownAsks(t *testing.T) {
	t.Parallel()
	plan := shell.File(t, "plan.yml",
		"tables_schema: [{name: precious, row_count: 3, columns: [{name: id, type: Integer, unique: true, range: [1, 3]}], primary_keys: [id]}]\nqueries: [{name: one, sql: select 1, count: 1}]\n")
	s := sqlite(t)
	if err := s.exec("CREATE TABLE precious (id INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	const endOfFile = "\x04"
	for _, c := range []struct{ typed, want string }{
		{"n\n", "kept"}, {"\n", "kept"}, {endOfFile, "kept"}, {"nonsense\n", "kept"}, {"Y\n", "dropped"}, {"", "absent"},
	} {
		shown := answering(t, nil, "[y/N] ", c.typed, s.with("schema", "down", "-c", plan)...)
		if asked := strings.Contains(shown, "table precious: "); asked != (c.typed != "") ||
			!regexp.MustCompile(`precious +`+c.want).MatchString(shown) {
			t.Errorf("typed %q, want %s:\n%s", c.typed, c.want, shown)
		}
		if n := len(s.rows(t, "SELECT name FROM sqlite_master WHERE name = 'precious'")); n == 1 != (c.want == "kept") {
			t.Errorf("typed %q: %d tables are there", c.typed, n)
		}
	}
}
