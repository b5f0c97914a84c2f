// Package process observes the processes of servers during a load, and says what limits them: clients that don't read,
// the disk, one thread's CPU, too few cores, or waiting inside. It reads /proc (proc(5)), so it works for any process
// on this machine, and only on Linux.
//
// The states of threads that ran lately are sampled every 20 ms, or less often if that would take more than 1/600 of a
// core. Times on and waiting for a CPU are the kernel's own counters (/proc/PID/task/TID/schedstat; see the kernel's
// Documentation/scheduler/sched-stats.rst), so they don't depend on the number of samples.
package process
