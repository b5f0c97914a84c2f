// Package load has the laws of a load: which value, which key, at which time, at which rate. All of them are pure
// functions of a seed and a number. There are no clocks, no files and no state that a restart would lose.
//
// This is what makes runs repeatable. Operation i is the same for any number of sessions, threads or machines, because
// nothing but (seed, i) decides it. Row r of a table is the same whether it is written first or last, and can be
// computed again when something refers to it. So n machines can take every nth number, a filling can be resumed, and a
// backlog of hours needs no memory: it can be drawn again.
//
// The rooms: gen draws values from streams; template fills texts with them; keyspace numbers records and decides which
// one an operation uses; schedule maps the number of an arrival to its intended start; control chooses the next rate
// of an adaptive load from the results so far.
package load
