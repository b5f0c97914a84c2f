// Package base has what belongs to no noun of brunt: texts, files and arithmetic that any other program could use.
//
// Nothing here knows what a load is. If a function needs to know, it belongs to a wing above.
//
// The rooms: secret finds and hides secrets in texts and command lines; password asks where a target's password comes
// from; suggest finds the known word that is closest to a misspelled one; sqltext cuts SQL into tokens; lazyregexp
// compiles regular expressions at first use, so that they take no time when the program starts; linefile appends whole
// lines to files and syncs them, and filelock locks a file for one process; stats has statistics, each with its
// source; finite writes values as JSON, which has no infinities; cgroup knows which control groups a process is in;
// version is the version of the program.
package base
