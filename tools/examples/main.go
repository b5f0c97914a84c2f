//go:build linux

// Command examples runs k6's own example scripts with k6 and with brunt, and compares how they end: the exit code, the
// metrics of the summary, and the results of checks. Both programs are built from the same version of k6's module,
// which contains the scripts. Each script runs without a network, so that no request leaves this machine. Scripts that
// need a network must fail in the same way. The command prints a table in Markdown and exits with 1 if a script ends
// differently.
//
//	make k6-examples
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"brunt/tools/peers"
)

const module = "go.k6.io/k6/v2"

// The lines of docs/k6.md that enclose the table.
const (
	tableBegins = "<!-- table of tools/examples -->\n"
	tableEnds   = "<!-- end of the table -->\n"
)

func main() {
	o := options{}
	flag.DurationVar(&o.limit, "limit", 10*time.Second, "how long a script may run before it is interrupted")
	flag.StringVar(&o.only, "only", "", "run scripts only whose names contain this")
	flag.IntVar(&o.attempts, "attempts", 5, "how often a script that ends differently is run: some leave it to chance")
	flag.BoolVar(&o.write, "write", false, "write the table into docs/k6.md")
	flag.Parse()
	differ, err := compareAll(context.Background(), &o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "examples:", err)
	}
	if err != nil || differ {
		os.Exit(1)
	}
}

type options struct {
	limit    time.Duration
	only     string
	attempts int
	write    bool
}

// compareAll runs the scripts and prints the table. differ reports whether a script ended differently.
func compareAll(ctx context.Context, o *options) (differ bool, err error) {
	root, err := peers.Root()
	if err != nil {
		return false, err
	}
	version, dir, err := locate(ctx, root)
	if err != nil {
		return false, err
	}
	scripts, err := scriptsIn(dir, o.only)
	if err != nil {
		return false, err
	}
	work, err := os.MkdirTemp("", "brunt-examples-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	programs := [2]string{filepath.Join(work, "k6"), filepath.Join(work, "brunt")}
	if err := peers.BuildK6(ctx, programs[0]); err != nil {
		return false, err
	}
	if err := peers.BuildBrunt(ctx, programs[1]); err != nil {
		return false, err
	}
	t := table{version: version, date: time.Now().UTC(), limit: o.limit}
	for _, name := range scripts {
		fmt.Fprintln(os.Stderr, name)
		ends, err := runAlike(ctx, programs, filepath.Join(dir, name), o)
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		t.add(name, ends)
	}
	text := t.String()
	if o.write {
		return t.different > 0, writeInto(filepath.Join(root, "docs", "k6.md"), text)
	}
	fmt.Print(text)
	return t.different > 0, nil
}

// writeInto replaces the table in a page.
func writeInto(page, text string) error {
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(data), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the table", page)
	}
	return os.WriteFile(page, []byte(before+tableBegins+text+tableEnds+after), 0o644)
}

// runAlike runs a script with both programs until they end in the same way, at most o.attempts times.
func runAlike(ctx context.Context, programs [2]string, script string, o *options) (ends [2]ending, err error) {
	for range o.attempts {
		ends, err = runBoth(ctx, programs, script, o.limit)
		if err != nil || len(ends[0].differences(&ends[1])) == 0 {
			break
		}
	}
	return ends, err
}

// runBoth runs a script with both programs at the same time.
func runBoth(ctx context.Context, programs [2]string, script string, limit time.Duration) (ends [2]ending, err error) {
	var errs [2]error
	var both sync.WaitGroup
	for i, program := range programs {
		both.Go(func() { ends[i], errs[i] = run(ctx, program, script, limit) })
	}
	both.Wait()
	return ends, errors.Join(errs[:]...)
}

// locate returns the version of k6 that brunt requires, and the folder of its examples.
func locate(ctx context.Context, root string) (version, dir string, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-C", root, "-m", "-f", "{{.Version}} {{.Dir}}", module)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("find %s: %w", module, err)
	}
	version, dir, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	return version, filepath.Join(dir, "examples"), nil
}

// scriptsIn returns the scripts below a folder whose names contain only, in order.
func scriptsIn(dir, only string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || ext != ".js" && ext != ".ts" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if strings.Contains(name, only) {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// run runs a script with a program in a separate folder. The script has no network, not even loopback.
func run(ctx context.Context, program, script string, limit time.Duration) (ending, error) {
	dir, err := os.MkdirTemp(filepath.Dir(program), "run-")
	if err != nil {
		return ending{}, err
	}
	defer os.RemoveAll(dir)
	summary := filepath.Join(dir, "summary.json")
	args := []string{"run", "--quiet", "--no-color", "--summary-export", summary, script}
	if filepath.Base(program) == "brunt" {
		args = append([]string{"k6"}, args...)
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "BRUNT_BUNDLE=" + filepath.Join(dir, "bundle")}
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = limit
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Start(); err != nil {
		return ending{}, fmt.Errorf("start %s without a network, which needs user namespaces: %w", program, err)
	}
	_ = cmd.Wait() // the exit code is used instead
	e := ending{code: cmd.ProcessState.ExitCode(), interrupted: ctx.Err() != nil}
	data, err := os.ReadFile(summary)
	if err != nil {
		return e, nil // the script ended before it had a summary
	}
	return e, e.read(data)
}
