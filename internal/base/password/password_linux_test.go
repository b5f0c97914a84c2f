package password

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// prompted is a standard error that answers the prompt at once, and notes whether the terminal would
// have echoed it.
type prompted struct {
	bytes.Buffer
	tty    *os.File
	answer func()
	echoed bool
}

func (p *prompted) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("Password: ")) {
		p.echoed = echoes(p.tty)
		p.answer()
	}
	return p.Buffer.Write(b)
}

func echoes(tty *os.File) bool {
	state, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	return err != nil || state.Lflag&unix.ECHO != 0
}

func pseudoTerminal(t *testing.T) (controller, tty *os.File) {
	t.Helper()
	controller, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { controller.Close() })
	if err := unix.IoctlSetPointerInt(int(controller.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(controller.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return controller, tty
}

// The echo is off when the prompt appears, and on again however the question ends.
func TestPromptWithoutEcho(t *testing.T) {
	typed := func(text string) func(io.Writer) {
		return func(controller io.Writer) { io.WriteString(controller, text) }
	}
	interrupt := func(io.Writer) { syscall.Kill(os.Getpid(), syscall.SIGTERM) }
	for _, c := range []struct {
		name   string
		answer func(controller io.Writer)
		want   string
		fault  string
	}{
		{"a line", typed("pass word\n"), "pass word", ""},
		{"a carriage return", typed("word\r"), "word", ""},
		{"nothing", typed("\n"), "", ""},
		{"a correction", typed("worst\x7f\x7fd\n"), "word", ""},
		{"the end", typed("\x04"), "", "reading the password: EOF"},
		{"a signal", interrupt, "", "interrupted at the password prompt; nothing was sent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			controller, tty := pseudoTerminal(t)
			stderr := &prompted{tty: tty, answer: func() { c.answer(controller) }}
			got, err := Find("", "", true, tty, stderr)
			fault := ""
			if err != nil {
				fault = err.Error()
			}
			if got != c.want || fault != c.fault {
				t.Errorf("%q, %v; want %q, %q", got, err, c.want, c.fault)
			}
			if errors.Is(err, ErrInterrupted) != (c.name == "a signal") {
				t.Errorf("%v: ErrInterrupted or not", err)
			}
			if stderr.echoed || stderr.String() != "Password: \n" {
				t.Errorf("echo on at the prompt: %v; shown %q", stderr.echoed, stderr.String())
			}
			if !echoes(tty) {
				t.Error("the echo stayed off")
			}
		})
	}
}

func TestPasswordFromElsewhere(t *testing.T) {
	if got, err := Find("", "", true, strings.NewReader("piped\r\nmore"), io.Discard); got != "piped" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out.Close()
	in.Close()
	if _, err := Find("", "", true, in, io.Discard); !errors.Is(err, os.ErrClosed) {
		t.Errorf("of a closed pipe: %v", err)
	}
}
