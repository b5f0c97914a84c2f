// Command release builds everything that a release consists of: static binaries, Debian and RPM
// packages, a container image, a list of contents for each binary, and checksums. The same commit
// gives the same bytes, wherever and whenever it is built.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// release is what is built, from where, and where it goes.
type release struct {
	source  string // the module's folder
	out     string // the folder for everything made
	pages   string // the folder of manual pages and completions
	version string
	made    time.Time // the commit's time: everything is dated so
	targets []target
}

func main() {
	root := flag.String("source", "../..", "brunt's folder")
	out := flag.String("out", "../../dist", "the folder for what is made; what was in it is removed")
	only := flag.String("only", "", "build for these systems only: linux/amd64,…")
	flag.Parse()
	if err := run(*root, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(source, out, only string) error {
	r, err := prepare(source, out, only)
	if err != nil {
		return err
	}
	defer os.RemoveAll(r.pages)
	for _, step := range []func() error{r.buildAll, r.writePages, r.packAll, r.writeImage, r.writeContents, r.writeSums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func prepare(source, out, only string) (*release, error) {
	r := &release{targets: targets()}
	var err error
	if r.source, err = filepath.Abs(source); err != nil {
		return nil, err
	}
	if r.out, err = filepath.Abs(out); err != nil {
		return nil, err
	}
	if only != "" {
		if r.targets, err = choose(strings.Split(only, ",")); err != nil {
			return nil, err
		}
	}
	if r.version, err = r.command("git", "describe", "--tags", "--always", "--dirty"); err != nil {
		return nil, err
	}
	if r.made, err = r.commitTime(); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return nil, err
	}
	r.pages, err = os.MkdirTemp("", "brunt-release-")
	return r, err
}

// say tells what was made.
func (r *release) say(path string) { fmt.Println(filepath.Base(path)) }
