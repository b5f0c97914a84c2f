// Package inspect collects information from servers while a load runs against them: a snapshot of their statistics
// before it, samples during it, and after it the changes and the findings that follow from them. The packages below it
// implement this for each kind of server.
//
// Asking must not change what is measured: questions are few, cheap and sent over a connection of their own, and what
// they cost is subtracted. A finding names its evidence. What can't be known is said to be unknown.
//
// The rooms: one folder for each kind of server; servers lists them; observe samples the resource use of this process,
// of the host, and of the processes that a user names; process says what limits the processes of servers on this
// machine.
package inspect
