//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"brunt/internal/server/fault/proxy"
)

// slowed makes each fsync of a process take longer, until undo is called. Of threads with a name, it is vectored writes
// too, which are synchronous in some logs. It needs strace. A thread that is delayed by it is in state t, not D.
func slowed(pid int, thread string, delay time.Duration) (undo func(), err error) {
	calls := "fdatasync,fsync"
	if thread != "" {
		calls += ",writev,pwritev"
	}
	args := []string{"-q", "-e", "trace=" + calls, "-e",
		fmt.Sprintf("inject=%s:delay_exit=%d", calls, delay.Microseconds()), "-o", os.DevNull}
	of := []int{pid}
	if thread == "" {
		args = append(args, "-f")
	} else if of = threadsNamed(pid, thread); len(of) == 0 {
		return nil, fmt.Errorf("process %d has no thread %s", pid, thread)
	}
	for _, id := range of {
		args = append(args, "-p", strconv.Itoa(id))
	}
	cmd := exec.Command("strace", args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: apt-get install strace", err)
	}
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it detaches
		_ = cmd.Wait()
	}, awaitTracer(of)
}

// awaitTracer waits until threads are traced.
func awaitTracer(ids []int) error {
	for end := time.Now().Add(patience / 4); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		traced := 0
		for _, id := range ids {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", id))
			if !strings.Contains(string(text), "TracerPid:\t0\n") {
				traced++
			}
		}
		if traced == len(ids) {
			return nil
		}
	}
	return errors.New("strace didn't attach; it needs root, or kernel.yama.ptrace_scope=0")
}

func threadsNamed(pid int, name string) (ids []int) {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	for _, file := range all {
		text, _ := os.ReadFile(file)
		if strings.TrimSpace(string(text)) == name {
			id, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			ids = append(ids, id)
		}
	}
	return ids
}

// burners computes in some other processes until ctx ends.
func burners(n int) func(ctx context.Context, sc *scene) {
	return func(ctx context.Context, sc *scene) {
		for range n {
			_ = sc.helper(ctx, "", "burn", "0")
		}
		<-ctx.Done()
	}
}

// distant returns the address of a proxy that passes data on to another address, each way later by delay. It ends with
// the program.
func distant(to string, delay time.Duration) (address string, err error) {
	p, err := proxy.Listen(proxy.Config{Listen: "127.0.0.1:0", To: to})
	if err != nil {
		return "", err
	}
	p.Set(&proxy.Rule{ToServer: true, ToClient: true, Delay: delay})
	return p.Address(), nil
}
