// Package script is the language of pgbench's scripts: SQL statements with :variables and backslash commands. Sessions
// compute what pgbench of versions 15 to 18 computes from the same --random-seed.
//
// The random numbers of a client, its variables and its default seed are pgbench's, bit for bit (logarithms, powers and
// sines are rounded correctly, which pgbench's C library nearly always does). The choice among several scripts is
// pgbench's for threads with one client. pgbench's threads with several clients let them draw from one stream, in the
// order in which they become ready, so that no two of its runs are alike; here each of those clients has a stream of
// its own, with the same distribution.
//
// A repeated transaction begins with the random state of its first try. Its variables stay as the failed try left them:
// so they do in pgbench.
//
// What differs: in prepared mode, a statement that the server refuses when it is prepared fails with the server's
// reason only, where pgbench goes on to execute it and says that it isn't prepared. A pipeline is sent when it ends;
// one without statements isn't sent. Conditions within a pipeline make a request of each sequence of statements that
// they allow, of which there may be 256 in a script.
//
// Sources: PostgreSQL's documentation of pgbench and its programs' sources (src/bin/pgbench, src/fe_utils/psqlscan.l,
// src/common/pg_prng.c), and runs of the real program.
package script
