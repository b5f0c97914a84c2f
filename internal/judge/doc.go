// Package judge says what a record means, and whether it can be trusted. Its rooms are pure functions of records: they
// print nothing, send nothing, and can be asked again years later.
//
// This wing is opinionated. A result is pass, fail or invalid, and invalid comes first: if the generator, not the
// server, limited or changed the result, no threshold can pass. A figure without an interval says why it has none. A
// failure that may have been applied is counted against the server only as what it is. A comparison refuses runs that
// aren't alike before it computes anything.
//
// The rooms: verdict judges thresholds and default limits and decides who limited a run; exitcode has the exit codes;
// failover accounts for outages; verify decides which writes were lost; confidence puts intervals on a run's figures;
// result reads the metrics of one run, of whichever program; compare sets runs against each other; history finds where
// the level changed over versions.
package judge
