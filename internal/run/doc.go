// Package run drives loads: one load here (runner, and loadtest, which adds signals, outputs and the exit code), one
// load on many machines (scale), and several loads one after another (program, with campaigns). What drives a load
// calls the same hooks (runner.Hooks), so a command doesn't know which of them it is.
//
// The order of a run is always the same: open (describe the server, compile the plan, begin the record), set up, drive
// phase after phase, finish, judge, close. The record begins before the first request and is complete up to the last
// interval whatever happens to the process. Programs choose the next load from the results of the earlier ones, and
// keep a journal from which they are resumed; they don't know how a load is done.
//
// The other rooms: advise tries a change and measures whether it helps; doctor finds out before a load whether a plan
// can be run from here; selftest measures what this machine can send; s3 keeps bundles in object stores.
package run
