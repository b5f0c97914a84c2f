// Package engine executes the load of a plan, stage by stage and interval by interval, on a Fleet of sessions. There
// are two kinds of fleets. Package loop drives codecs by event loops. Package pool drives client libraries, or any
// other blocking connection, by one goroutine per session. Both produce the same samples.
//
// The load doesn't bend when the server slows: an arrival's intended start never depends on answers. While a server
// stalls, the arrivals of an open load wait. Only the head of this queue is kept in memory, because the rest can be
// computed again.
//
// One goroutine ends the intervals, checks the thresholds and calls the sinks one after another. So no sink may block,
// except for the bundle, which must not lose data.
//
// A session that loses its connection reconnects at once. Arrivals wait for this if nothing else is connected. While
// every address refuses connections, each arrival fails when it falls due, and attempts to connect continue with a
// back-off of up to one second.
//
// Package machine prepares this machine for keeping a schedule: it keeps its cores awake and raises the priority of
// the process.
//
// # A turn of an event loop
//
// Each turn of a loop has these steps:
//
//  1. Sleep until there is something to do. In an open load with a free session, nothing depends on reading answers
//     early, because the kernel records when they arrive. So the loop sleeps until the next send (nanosleep).
//     Otherwise it waits for sockets (epoll_pwait2). Both are raw system calls that the Go runtime does not see. With
//     ordinary ones, the runtime's monitor thread wakes thousands of times a second to take the processor from a
//     thread that is repeatedly in a system call, which cost a tenth of the loop's CPU time. Setting a timeout for
//     each wait would cost a tenth of a closed load's CPU time on virtual machines. So one timer, set every 2 ms,
//     ends long waits. After 2 to 4 ms without an event the loop waits in the ordinary way.
//  2. Send the arrivals that are due. This comes first, because sends are all that a delay in the loop would harm.
//  3. Read everything that has arrived. Further steps of an operation are sent at once. In closed loads, a session's
//     next operation begins right after its answer was read, so that the server has work while the loop reads the
//     others.
//  4. In closed loads, begin the operations of the sessions that are still free.
//  5. Handle deadlines, pauses and the hand-over of the recorder.
//
// A turn allocates nothing, unless operations are scripts. Garbage that is created between intervals is collected about
// every 30 seconds (GOGC is 25 while loops carry the load, and 50 with scripts). The heap is a few megabytes, so a
// collection takes less than a millisecond, and memory use stays constant.
package engine
