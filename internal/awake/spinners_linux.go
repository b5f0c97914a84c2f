package awake

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// childName is what the child process is called by: as such the program is nothing else.
const childName = "brunt-awake"

const (
	readyTimeout = 5 * time.Second
	endTimeout   = 5 * time.Second
	readyLine    = "ready"
)

// init makes the program the child if it is called so. It is done here, and not by the command line, so
// that it holds in whatever program the package is used, tests included.
func init() {
	if len(os.Args) > 0 && os.Args[0] == childName {
		os.Exit(child(os.Args[1:]))
	}
}

// spinners is the child process whose threads spin. It is a process of its own so that its processor time is
// apart from ours and neither our scheduler nor our garbage collector has anything to do with it.
type spinners struct {
	child  *os.Process
	input  io.Closer
	group  string
	ended  chan struct{}
	lastNs atomic.Int64
}

// spin starts the child. The kernel kills it when the thread that started it ends, which is kept for that;
// the end of its input ends it too.
func (m *machine) spin() (*spinners, error) {
	cores := make([]string, len(m.cores))
	for i, core := range m.cores {
		cores[i] = strconv.Itoa(core)
	}
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{childName, strings.Join(cores, ","), m.group}, Env: []string{}, Dir: "/",
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s := &spinners{input: input, group: m.group, ended: make(chan struct{})}
	started, told := make(chan error, 1), make(chan string, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		defer close(s.ended)
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		line, _ := bufio.NewReader(output).ReadString('\n')
		told <- strings.TrimSpace(line)
		_ = cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the threads of idle priority: %w", err)
	}
	s.child = cmd.Process
	select {
	case line := <-told:
		if line == readyLine {
			return s, nil
		}
		err = fmt.Errorf("the threads of idle priority didn't start: %s", line)
	case <-time.After(readyTimeout):
		err = errors.New("the threads of idle priority didn't start in time")
	}
	s.stop()
	return nil, err
}

// cpuNs is the processor time of the child: clock_getcpuclockid(3) as the kernel numbers such clocks.
func (s *spinners) cpuNs() int64 {
	const scheduled = 2
	var t unix.Timespec
	select {
	case <-s.ended:
	default:
		if unix.ClockGettime(int32(^s.child.Pid)<<3|scheduled, &t) == nil {
			s.lastNs.Store(t.Nano())
		}
	}
	return s.lastNs.Load()
}

// stop kills the child. It is waited for, but not for long: threads of idle priority take their time to die
// on busy cores.
func (s *spinners) stop() {
	s.cpuNs()
	_ = s.child.Kill() // it may have ended already
	s.input.Close()
	select {
	case <-s.ended:
	case <-time.After(endTimeout):
	}
	if s.group != "" {
		// Refused while another process's threads are in it.
		os.Remove(s.group)
	}
}

// child is the child's life: a thread of idle priority on every core given, until its input ends.
func child(args []string) int {
	if len(args) != 2 {
		return 2
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	_ = os.WriteFile("/proc/self/comm", []byte(childName), 0)
	cores, err := joinCores(args[0], args[1])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	debug.SetGCPercent(-1) // a collection would wait for threads that never give way
	runtime.GOMAXPROCS(len(cores) + 1)
	ready := make(chan error)
	for _, core := range cores {
		go spinOn(core, ready)
	}
	for range cores {
		if err := <-ready; err != nil {
			fmt.Println(err)
			return 1
		}
	}
	fmt.Println(readyLine)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// joinCores reads the list of cores and enters the control group, if there is one.
func joinCores(list, group string) (cores []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		core, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		cores = append(cores, core)
	}
	if group == "" {
		return cores, nil
	}
	return cores, os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0)
}

// spinOn is a thread's life.
func spinOn(core int, ready chan<- error) {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(core)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		ready <- fmt.Errorf("stay on core %d: %w", core, err)
		return
	}
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_IDLE}, 0); err != nil {
		ready <- fmt.Errorf("take idle priority: %w", err)
		return
	}
	ready <- nil
	for {
		pause()
	}
}
