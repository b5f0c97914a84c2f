// Package measure records what happens under load in fixed memory: counts, times and fates of operations and
// addresses, and the health of the generator itself. It does no I/O.
//
// # Every arrival has a fate
//
// Every arrival that falls due has exactly one fate. It succeeds; it fails; it is given up before it is sent, because
// no session was free, nothing was connected, the load was over, or the generator was too late; or it is in flight
// when the load is cut off. When an owner hands over its recorder, it also counts the arrivals that fell due, that
// wait and that are in flight at this moment. So at the end of every interval, in both tiers, the number of offered
// arrivals equals the sum of those that have a fate, those that wait and those in flight.
//
// # Three times
//
// Response time runs from the intended start, service time from the actual send, lag is the difference. The part of
// the lag that is the generator's own is kept as well: response time without it is what a perfect generator would have
// measured. An arrival without an answer has an infinite response time.
//
// The rooms: hints finds changes while a load runs; timeline makes intervals comparable for charts.
package measure
