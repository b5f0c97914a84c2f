// Command release builds all files of a release: static binaries, Debian and RPM packages, a container image, a list of
// contents for each binary, and checksums. Builds are reproducible: the same commit produces the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// release contains the settings of a build.
type release struct {
	source  string // the module's folder
	out     string // the folder for the files of the release
	pages   string // the folder of manual pages and completions
	version string
	made    time.Time // the commit's time, which is the date of all files
	targets []target
}

func main() {
	root := flag.String("source", ".", "brunt's folder")
	out := flag.String("out", "dist", "the folder for what is made; what was in it is removed")
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

// say prints the name of a file that was built.
func (r *release) say(path string) { fmt.Println(filepath.Base(path)) }

// target is an operating system and a processor, by their names in Go.
type target struct{ system, processor string }

func (t target) String() string { return t.system + "/" + t.processor }

// targets returns the systems for which brunt is released. Event loops need Linux. On other systems all sessions use
// client libraries.
func targets() []target {
	return []target{
		{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"freebsd", "amd64"},
		{"windows", "amd64"},
	}
}

func choose(names []string) (chosen []target, err error) {
	for _, name := range names {
		i := slices.IndexFunc(targets(), func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("-only %s: there are %v", name, targets())
		}
		chosen = append(chosen, targets()[i])
	}
	return chosen, nil
}

// binary returns the path of the binary for a target.
func (r *release) binary(t target) string {
	name := fmt.Sprintf("brunt-%s-%s-%s", r.version, t.system, t.processor)
	if t.system == "windows" {
		name += ".exe"
	}
	return filepath.Join(r.out, name)
}

func (r *release) buildAll() error {
	for _, t := range r.targets {
		path := r.binary(t)
		if err := r.build(path, "GOOS="+t.system, "GOARCH="+t.processor, "CGO_ENABLED=0", "GOAMD64=v1",
			"GOARM64=v8.0"); err != nil {
			return err
		}
		r.say(path)
	}
	return nil
}

func (r *release) build(path string, env ...string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w -X main.version="+r.version, "-o",
		path, "./cmd/brunt")
	cmd.Dir, cmd.Env = r.source, append(os.Environ(), env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", filepath.Base(path), err, text)
	}
	return nil
}

// writePages runs a binary for this machine, which writes its manual pages, completions and JSON Schemas.
func (r *release) writePages() error {
	here := target{runtime.GOOS, runtime.GOARCH}
	native := r.binary(here)
	if !slices.Contains(r.targets, here) {
		native = filepath.Join(r.pages, "brunt")
		if err := r.build(native, "CGO_ENABLED=0"); err != nil {
			return err
		}
	}
	cmd := exec.Command(native, "manual", r.pages)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.made.Unix(), 10))
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("write the manual: %w: %s", err, text)
	}
	return nil
}

// commitTime returns SOURCE_DATE_EPOCH if it is set, or otherwise the commit's time. See
// https://reproducible-builds.org/docs/source-date-epoch/.
func (r *release) commitTime() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		var err error
		if text, err = r.command("git", "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, err
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the commit's time: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

func (r *release) command(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = r.source
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
