package machine

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

// childName is the name (argument 0) under which the program acts as the child process.
const childName = "brunt-awake"

const (
	lowestNice   = 19
	readyTimeout = 5 * time.Second
	endTimeout   = 5 * time.Second
	readyLine    = "ready"
)

// init runs the child if the program was started under its name. This isn't left to the command line, so that it
// works in every program that uses the package, including tests.
func init() {
	if len(os.Args) > 0 && os.Args[0] == childName {
		os.Exit(child(os.Args[1:]))
	}
}

// spinners is the child process with the spinning threads. It is a separate process so that its CPU time isn't
// counted as ours, and so that it doesn't disturb our Go scheduler and garbage collector.
type spinners struct {
	child  *os.Process
	input  io.Closer
	group  string
	ended  chan struct{}
	lastNs atomic.Int64
}

// spin starts the child. The child ends when its standard input is closed. The kernel also kills it when the thread
// that started it ends, so that thread is kept.
func (m *machine) spin() (*spinners, error) {
	cores := make([]string, len(m.cores))
	for i, core := range m.cores {
		cores[i] = strconv.Itoa(core)
	}
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{childName, strings.Join(cores, ",")}, Env: []string{}, Dir: "/",
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
		if line != readyLine {
			err = fmt.Errorf("the threads of idle priority didn't start: %s", line)
		} else if err = m.place(s); err == nil {
			return s, nil
		}
	case <-time.After(readyTimeout):
		err = errors.New("the threads of idle priority didn't start in time")
	}
	s.stop()
	return nil, err
}

// place moves the child into the control group for idle threads, if there is one. It retries, since another process
// of this program may just have removed the group at its end.
func (m *machine) place(s *spinners) error {
	if m.group == "" {
		return nil
	}
	for range 3 {
		err := os.WriteFile(filepath.Join(m.group, "cgroup.procs"), []byte(strconv.Itoa(s.child.Pid)), 0)
		if err == nil {
			return nil
		}
		m.makeIdleGroup()
	}
	return errors.New("the control group for threads of idle priority keeps vanishing")
}

// cpuNs returns the CPU time of the child in ns. The clock's number is computed as in clock_getcpuclockid(3).
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

// stop kills the child. Before that it gives the child's threads normal priority, where permitted: threads of idle
// priority would take seconds to die on busy cores.
func (s *spinners) stop() {
	s.cpuNs()
	pid := strconv.Itoa(s.child.Pid)
	if s.group != "" {
		_ = os.WriteFile(filepath.Join(filepath.Dir(s.group), "cgroup.procs"), []byte(pid), 0)
	}
	tasks, _ := os.ReadDir("/proc/" + pid + "/task")
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			_ = unix.SchedSetAttr(tid, &unix.SchedAttr{Policy: unix.SCHED_NORMAL}, 0)
		}
	}
	_ = s.child.Kill() // it may have ended already
	s.input.Close()
	select {
	case <-s.ended:
	case <-time.After(endTimeout):
	}
	if s.group != "" {
		// The kernel refuses this while another process's threads are in the group.
		os.Remove(s.group)
	}
}

// child is the main function of the child process. It spins on every given core until its standard input ends, and
// returns the exit code.
func child(args []string) int {
	if len(args) != 1 {
		return 2
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	_ = os.WriteFile("/proc/self/comm", []byte(childName), 0)
	debug.SetGCPercent(-1) // a collection would wait for threads that never yield
	cores := strings.Split(args[0], ",")
	runtime.GOMAXPROCS(len(cores) + 1)
	begin := make(chan struct{})
	for _, core := range cores {
		if err := spinOn(core, begin); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	fmt.Println(readyLine)
	close(begin)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// spinOn starts a thread that spins on a core with idle priority as soon as begin is closed. Everything else is
// done before that: on a busy machine a thread of idle priority would take seconds to report that it is ready.
func spinOn(core string, begin <-chan struct{}) error {
	number, err := strconv.Atoi(core)
	if err != nil {
		return err
	}
	thread := make(chan int)
	go func() {
		runtime.LockOSThread()
		thread <- unix.Gettid()
		<-begin
		for {
			pause()
		}
	}()
	tid := <-thread
	var set unix.CPUSet
	set.Set(number)
	if err := unix.SchedSetaffinity(tid, &set); err != nil {
		return fmt.Errorf("stay on core %d: %w", number, err)
	}
	if err := unix.SchedSetAttr(tid, &unix.SchedAttr{Policy: unix.SCHED_IDLE}, 0); err != nil {
		return fmt.Errorf("take idle priority: %w", err)
	}
	// This doesn't affect the scheduling of a thread of idle priority. But /proc/stat then counts its time as nice,
	// separate from that of other work.
	_ = unix.Setpriority(unix.PRIO_PROCESS, tid, lowestNice)
	return nil
}
