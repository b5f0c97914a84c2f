package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// passwordEnv is the variable that a password may come from.
const passwordEnv = "BRUNT_PASSWORD"

// password finds the password: the flag, a file, a prompt, or the environment, in this order. It
// is never printed.
func password(flag, file string, prompt bool, stdin io.Reader, stderr io.Writer) (string, error) {
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
	return os.Getenv(passwordEnv), nil
}

// ask reads a password without echo from a terminal, or a line from anything else.
func ask(stdin io.Reader, stderr io.Writer) (string, error) {
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(stderr, "Password: ")
		b, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(stderr)
		if err != nil {
			return "", fmt.Errorf("reading the password: %w", err)
		}
		return string(b), nil
	}
	line, err := bufio.NewReader(stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the password from standard input: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}
