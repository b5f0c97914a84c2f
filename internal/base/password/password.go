// Package password finds the password of a target: in a flag, a file, the environment, or by a prompt.
package password

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// Variable is the environment variable that may hold a password.
const Variable = "BRUNT_PASSWORD"

// ErrInterrupted means that a signal ended the prompt.
var ErrInterrupted = errors.New("interrupted at the password prompt; nothing was sent")

// Find returns the password from the first of these that is given: the flag, a file (its first line), a prompt, the
// environment. It returns "" if there is none.
func Find(flag, file string, prompt bool, stdin io.Reader, stderr io.Writer) (string, error) {
	switch {
	case flag != "":
		return flag, nil
	case file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("--password-file: %w; check the path and its permissions", err)
		}
		line, _, _ := strings.Cut(string(b), "\n")
		return strings.TrimSuffix(line, "\r"), nil
	case prompt:
		return ask(stdin, stderr)
	}
	return os.Getenv(Variable), nil
}

// Prompt asks for a password as PostgreSQL's programs do: on the process's terminal without echo, or, if there is none,
// on standard error and standard input.
func Prompt(stdin io.Reader, stderr io.Writer) (string, error) {
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		defer tty.Close()
		return askTerminal(tty, tty)
	}
	if f, ok := stdin.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(stderr, "Password: ")
		defer fmt.Fprintln(stderr)
	}
	return ask(stdin, stderr)
}

// ask reads a password without echo from a terminal, or a line from anything else.
func ask(stdin io.Reader, stderr io.Writer) (string, error) {
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return askTerminal(f, stderr)
	}
	line, err := bufio.NewReader(stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the password from standard input: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// askTerminal turns off the echo before it prints the prompt, so that nothing typed is shown, and always restores it.
// After a signal the reading goroutine remains, since a read from a terminal can't be cancelled.
func askTerminal(tty *os.File, stderr io.Writer) (string, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	restore, err := muteEcho(tty)
	if err != nil {
		return "", fmt.Errorf("asking for the password: turning the echo off: %w; use --password-file or %s", err, Variable)
	}
	defer fmt.Fprintln(stderr)
	defer restore()
	fmt.Fprint(stderr, "Password: ")
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(tty).ReadString('\n')
		read <- answer{line, err}
	}()
	select {
	case a := <-read:
		if a.err != nil && (a.line == "" || !errors.Is(a.err, io.EOF)) {
			return "", fmt.Errorf("reading the password: %w", a.err)
		}
		return strings.TrimRight(a.line, "\r\n"), nil
	case <-signals:
		return "", ErrInterrupted
	}
}
