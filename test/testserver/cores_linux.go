package testserver

import (
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Cores returns the cores that this process may use, in ascending order. It needs Linux.
func Cores() ([]int, error) {
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

// Pin binds all threads of a process and of its descendants to cores. Threads and processes that they start later
// inherit the binding. It needs Linux.
func Pin(pid int, cores []int) error {
	var set unix.CPUSet
	for _, c := range cores {
		set.Set(c)
	}
	for _, p := range append([]int{pid}, Descendants(pid)...) {
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
