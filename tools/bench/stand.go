package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"brunt/internal/base/linefile"
	"brunt/internal/record"
	"brunt/test/testserver"
	"brunt/tools/peers"
)

// stand contains what all measurements share.
type stand struct {
	ctx     context.Context
	servers []int // cores
	clients []int // cores to which this process and its children are bound
	dir     string
	brunt   build   // built from this folder
	older   []build // of earlier days, to compare with
	raw     *linefile.File
	best    marks // the best results of earlier runs
	tb      *testserver.Standalone
}

// build is a program of brunt.
type build struct {
	program string
	awake   bool // it has the flag --awake
}

// olderBuild returns the build of brunt at a path.
func olderBuild(path string) (build, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return build{}, err
	}
	version, err := exec.Command(path, "--version").CombinedOutput()
	if err == nil && !bytes.HasPrefix(version, []byte("brunt ")) {
		err = errors.New("this isn't a version of brunt")
	}
	if err != nil {
		return build{}, fmt.Errorf("%s --version: %w: %s", path, err, tail(string(version)))
	}
	unknown := exec.Command(path, "run", "--awake", "off", "--help").Run()
	return build{path, unknown == nil}, nil
}

// newStand binds this process to the clients' cores, builds brunt and the project's own peers, and opens the log of the
// measurement in the folder out.
func newStand(ctx context.Context, out, what string) (*stand, error) {
	cores, err := testserver.Cores()
	if err != nil {
		return nil, err
	}
	if len(cores) < 2 {
		return nil, errors.New("server and client need a core each; there is only one")
	}
	s := &stand{ctx: ctx, servers: cores[:len(cores)/2], clients: cores[len(cores)/2:]}
	if s.dir, err = os.MkdirTemp("", "brunt-bench-"); err != nil {
		return nil, err
	}
	s.brunt = build{filepath.Join(s.dir, "brunt"), true}
	if err := s.prepare(out, what); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// prepare does the steps of newStand that may fail after the temporary folder was created.
func (s *stand) prepare(out, what string) (err error) {
	if err := peers.BuildBrunt(s.ctx, s.brunt.program); err != nil {
		return err
	}
	for _, name := range []string{"library", "bare"} {
		if err := peers.BuildTool(s.ctx, s.peer(name), "bench/peer/"+name); err != nil {
			return err
		}
	}
	if err := testserver.Pin(os.Getpid(), s.clients); err != nil {
		return err
	}
	s.tb = testserver.NewStandalone(os.Stderr)
	if s.best, err = readMarks(out); err != nil {
		return err
	}
	if s.raw, err = createLog(out, what); err != nil {
		return err
	}
	return s.raw.AppendJSON(s.machine())
}

func (s *stand) close() {
	if s.tb != nil {
		s.tb.Close()
	}
	if s.raw != nil {
		s.raw.Close()
	}
	os.RemoveAll(s.dir)
}

// peer returns the path of one of the project's own peers.
func (s *stand) peer(name string) string { return filepath.Join(s.dir, "peer-"+name) }

// started binds a server to the servers' cores and returns it.
func (s *stand) started(server *testserver.Server) (*testserver.Server, error) {
	return server, testserver.Pin(server.PID, s.servers)
}

// machine returns the first line of the raw results, which describes the machine.
func (s *stand) machine() any {
	e := record.Fingerprint()
	e.Hostname = ""
	version, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	return map[string]any{
		"machine": e, "commit": strings.TrimSpace(string(version)), "started": time.Now().UTC(),
		"server_cores": s.servers, "client_cores": s.clients,
	}
}

// outcome is the result of running a program. CPU times are those of the whole process, including its start.
type outcome struct {
	out       string
	user, sys time.Duration
	wall      time.Duration
}

// turnTimeout limits the time of a program, in case it hangs.
const turnTimeout = 5 * time.Minute

// turn runs a program to its end. read sets the sample from the program's output.
func (s *stand) turn(env []string, program string, args []string, read func(out string, p *sample) error) (sample,
	error) {
	o, err := s.do(env, program, args...)
	p := sample{Command: s.plain(program, args)}
	if err == nil {
		err = read(o.out, &p)
	}
	if err != nil {
		return p, err
	}
	return p, p.charge(&o)
}

// do runs a program to its end, with additional environment variables.
func (s *stand) do(env []string, name string, args ...string) (outcome, error) {
	return s.watch(env, func(int, <-chan struct{}) {}, name, args...)
}

// watch runs a program as do does, and calls look with its process, which returns when the process has ended.
func (s *stand) watch(env []string, look func(pid int, ended <-chan struct{}), name string, args ...string) (outcome,
	error) {
	ctx, cancel := context.WithTimeout(s.ctx, turnTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), env...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	began := time.Now()
	err := cmd.Start()
	if err == nil {
		ended := make(chan struct{})
		var watching sync.WaitGroup
		watching.Go(func() { look(cmd.Process.Pid, ended) })
		err = cmd.Wait()
		close(ended)
		watching.Wait()
	}
	o := outcome{out: out.String() + complaints.String(), wall: time.Since(began)}
	if cmd.ProcessState != nil {
		o.user, o.sys = cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime()
	}
	if err != nil {
		return o, fmt.Errorf("%s: %w: %s", filepath.Base(name), err, tail(o.out))
	}
	return o, nil
}

func tail(text string) string {
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-400):]
}

// tool finds a peer's program, by an environment variable or in PATH. If it isn't found, missing says how to provide
// it.
func tool(variable, name, hint string) (path, missing string) {
	if path = os.Getenv(variable); variable != "" && path != "" {
		return path, ""
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, ""
	}
	if variable != "" {
		hint = fmt.Sprintf("%s; set %s to the program, or put it into PATH as %s", hint, variable, name)
	}
	return "", fmt.Sprintf("%s isn't there: %s", name, hint)
}

// needed finds a program that a measurement can't do without.
func needed(name, debianPackage string) (path string, err error) {
	path, missing := tool("", name, "install it: apt-get install -y "+debianPackage)
	if missing != "" {
		err = errors.New(missing)
	}
	return path, err
}

// built returns a client for a peer that package peers builds.
func (s *stand) built(name, peer, url string, turn func(program, url string, d time.Duration) (sample, error)) client {
	path, err := peers.Build(s.ctx, peer)
	if err != nil {
		return client{name: name, missing: tail(err.Error())}
	}
	return client{name: name, turn: func(d time.Duration) (sample, error) { return turn(path, url, d) }}
}
