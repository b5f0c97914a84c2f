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

// childName is what the child process is called by: as such the program is nothing else.
const childName = "brunt-awake"

const (
	lowestNice   = 19
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

// place puts the child into the control group for idle threads, if there is one. Another process that ends
// may just have removed it.
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

// stop kills the child, whose threads get the usual priority for it, as far as permitted: those of idle
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
		// Refused while another process's threads are in it.
		os.Remove(s.group)
	}
}

// child is the child's life: a thread of idle priority on every core given, until its input ends.
func child(args []string) int {
	if len(args) != 1 {
		return 2
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	_ = os.WriteFile("/proc/self/comm", []byte(childName), 0)
	debug.SetGCPercent(-1) // a collection would wait for threads that never give way
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

// spinOn makes a thread that spins on a core with idle priority from begin on. What is to be done before
// is done here: on a busy machine, a thread of idle priority would take seconds to say that it is ready.
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
	// It changes nothing for a thread of idle priority, but its time then counts as nice in /proc/stat, apart
	// from that of work.
	_ = unix.Setpriority(unix.PRIO_PROCESS, tid, lowestNice)
	return nil
}
