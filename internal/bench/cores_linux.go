package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// allowedCores lists the cores that this process may use, in rising order.
func allowedCores() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("ask which cores there are: %w", err)
	}
	var cores []int
	for c := 0; len(cores) < set.Count(); c++ {
		if set.IsSet(c) {
			cores = append(cores, c)
		}
	}
	return cores, nil
}

// pin binds all threads of a process, and of those below it, to cores. What they start later
// inherits it.
func pin(pid int, cores []int) error {
	var set unix.CPUSet
	for _, c := range cores {
		set.Set(c)
	}
	for _, p := range append([]int{pid}, below(pid)...) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", p))
		if err != nil {
			return err
		}
		for _, t := range threads {
			tid, _ := strconv.Atoi(filepath.Base(t))
			if err := unix.SchedSetaffinity(tid, &set); err != nil && err != unix.ESRCH {
				return fmt.Errorf("pin process %d to cores %v: %w", p, cores, err)
			}
		}
	}
	return nil
}

// below lists the processes that a process has started, and those that they have.
func below(pid int) []int {
	children := make(map[int][]int)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// The name, second of the fields, may hold spaces and parentheses (proc(5)).
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 {
			id, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			parent, _ := strconv.Atoi(fields[1])
			children[parent] = append(children[parent], id)
		}
	}
	all := children[pid]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}
