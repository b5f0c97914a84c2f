//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// helperCommand is the argument with which this program starts itself as a helper: a server or a burner.
const helperCommand = "helper"

// help is the main function of a helper's process.
func help(name string, args []string) error {
	switch name {
	case "burn":
		return burn(args)
	case "web":
		return web(args)
	}
	return fmt.Errorf("there is no helper %s", name)
}

// helperLife is the longest time that a burner runs if nothing ends it.
const helperLife = 2 * time.Minute

// burn uses a core until it is killed. Its argument is the niceness.
func burn(args []string) error {
	nice := 0
	if len(args) > 0 {
		nice, _ = strconv.Atoi(args[0])
	}
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, nice); err != nil {
		return err
	}
	for end := time.Now().Add(helperLife); time.Now().Before(end); {
		for k := 0; k < 1<<20; k++ {
		}
	}
	return nil
}

// helper starts a helper that ends with ctx, bound to cores if there are any.
func (st *stage) helper(ctx context.Context, cores string, args ...string) error {
	words := append([]string{st.self, helperCommand}, args...)
	if cores != "" {
		words = append([]string{"taskset", "-c", cores}, words...)
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait()
	return nil
}
