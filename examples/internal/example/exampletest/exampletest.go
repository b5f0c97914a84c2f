// Package exampletest contains what the tests of the examples have in common: a brunt to run, and copies of the
// examples' files whose loads are short.
package exampletest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/cli"
)

// If this variable is set, the test binary runs as brunt.
const roleVariable = "BRUNT_EXAMPLE_ROLE"

// Main runs the tests of an example, or, in processes with the environment of Environment, brunt. It doesn't return.
func Main(m *testing.M) {
	if os.Getenv(roleVariable) == "brunt" {
		os.Exit(cli.Main("test", os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// Brunt returns the path of brunt, which is the test binary itself.
func Brunt(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// Environment returns the environment in which the test binary is brunt, with further variables.
func Environment(variables ...string) []string {
	return append(append(os.Environ(), roleVariable+"=brunt"), variables...)
}

// Build builds the program in the current folder, and returns its path, which is in dir.
func Build(t *testing.T, dir, name string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	build := exec.Command("go", "build", "-trimpath", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as the binary is built: what both need is compiled once
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// Copy copies files of the current folder to another one, with replacements in their texts.
func Copy(t *testing.T, to string, replace *strings.Replacer, names ...string) {
	t.Helper()
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(name)), []byte(replace.Replace(string(b))), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
