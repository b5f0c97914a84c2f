// Package tpcc is TPC-C (TPC Benchmark C, revision 5.11): its nine tables and their population, its five transactions,
// the conditions that its data must satisfy, and its report. Numbers of clauses in comments are those of the
// specification.
package tpcc

import (
	"fmt"
	"time"

	"brunt/internal/load/gen"
)

// Sizes are how many rows belong to a warehouse. Only the specification's are TPC-C.
type Sizes struct {
	Items     int64 // rows of item, and of stock for each warehouse
	Customers int64 // of a district, and its orders
}

// Districts are the districts of a warehouse, and its terminals.
const Districts = 10

// Full returns the sizes of the specification (clause 1.2.1).
func Full() Sizes { return Sizes{Items: 100_000, Customers: 3000} }

// Shrunk returns the sizes divided by n, for trials.
func Shrunk(n int64) (Sizes, error) {
	if n < 1 || n > maxShrink {
		return Sizes{}, fmt.Errorf("--shrink %d: give a number from 1 to %d", n, maxShrink)
	}
	full := Full()
	return Sizes{Items: full.Items / n, Customers: full.Customers / n}, nil
}

// maxShrink leaves 1000 items and 30 customers a district, so that transactions still find different ones.
const maxShrink = 100

// undelivered returns how many of a district's first orders are in new_order: the last 900 of 3000 (clause 4.3.3.1).
func (s Sizes) undelivered() int64 { return s.Customers * 3 / 10 }

// delivered returns how many of a district's first orders have been delivered: 2100 of 3000.
func (s Sizes) delivered() int64 { return s.Customers - s.undelivered() }

// The ranges A of NURand (clause 2.1.6).
const (
	lastNameA = 255
	customerA = 1023
	itemA     = 8191
)

// Constants are the constants C of NURand (clause 2.1.6.1).
type Constants struct {
	LastNameLoad int64 // of the population
	LastName     int64 // of the load
	Customer     int64
	Item         int64
}

// allowedDistance reports whether the constants of last names of a population and of a load may be so far apart: from
// 65 to 119, and neither 96 nor 112 (clause 2.1.6.1).
func allowedDistance(d int64) bool {
	d = max(d, -d)
	return d >= 65 && d <= 119 && d != 96 && d != 112
}

// loadConstant returns the constant of last names of a population.
func loadConstant(seed uint64) int64 {
	r := gen.NewStream(seed, "tpcc", "constants", "load").At(0)
	return r.Between(0, lastNameA)
}

// RunConstants returns the constants of a load with a seed, over a population with the constant lastNameLoad.
func RunConstants(seed uint64, lastNameLoad int64) Constants {
	r := gen.NewStream(seed, "tpcc", "constants", "run").At(0)
	c := Constants{LastNameLoad: lastNameLoad, Customer: r.Between(0, customerA), Item: r.Between(0, itemA)}
	for {
		c.LastName = r.Between(0, lastNameA)
		if allowedDistance(c.LastName - lastNameLoad) {
			return c
		}
	}
}

// customer draws the number of a customer of a district.
func (s Sizes) customer(r *gen.Rand, c int64) int64 { return r.NURand(customerA, 1, s.Customers, c) }

// item draws the number of an item.
func (s Sizes) item(r *gen.Rand, c int64) int64 { return r.NURand(itemA, 1, s.Items, c) }

// names returns how many different last names the customers of a district have: 1000, if there are as many.
func (s Sizes) names() int64 { return min(1000, s.Customers) }

// lastName draws the number of a last name.
func (s Sizes) lastName(r *gen.Rand, c int64) int64 { return r.NURand(lastNameA, 0, s.names()-1, c) }

var syllables = [...]string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

// AppendLastName appends the last name with a number from 0 to 999: a syllable for each of its three digits (clause
// 4.3.2.3).
func AppendLastName(dst []byte, n int64) []byte {
	dst = append(dst, syllables[n/100%10]...)
	dst = append(dst, syllables[n/10%10]...)
	return append(dst, syllables[n%10]...)
}

// thinkTime draws a think time: negative exponential with a mean, cut at ten times the mean (clause 5.2.5.4).
func thinkTime(r *gen.Rand, mean time.Duration) time.Duration {
	return time.Duration(min(r.ExpFloat64(), 10) * float64(mean))
}

// Kind is one of the five transactions.
type Kind uint8

// The transactions, in the order of the specification.
const (
	NewOrder Kind = iota
	Payment
	OrderStatus
	Delivery
	StockLevel
	kinds
)

// profile is what the specification says about a transaction (clauses 5.2.3, 5.2.5).
type profile struct {
	name   string        // in plans and records
	title  string        // in reports
	cards  int           // in a deck of 23
	weight float64       // in per cent, without decks
	least  float64       // share of the mix, in per cent; 0: none
	keying time.Duration // fixed
	think  time.Duration // mean
	limit  time.Duration // of the 90th percentile of response times
	counts []string      // what it counts
}

// The counters of transactions.
const (
	countLines       = "order lines"
	countRemoteLines = "remote order lines"
	countRolledBack  = "rolled back"
	countNotUndone   = "not undone"
	countRemote      = "remote"
	countByName      = "by last name"
	countDelivered   = "delivered"
	countSkipped     = "skipped"
)

var profiles = [kinds]profile{
	NewOrder: {"new-order", "New-Order", 10, 45, 0, 18 * time.Second, 12 * time.Second, 5 * time.Second,
		[]string{countLines, countRemoteLines, countRolledBack, countNotUndone}},
	Payment: {"payment", "Payment", 10, 43, 43, 3 * time.Second, 12 * time.Second, 5 * time.Second,
		[]string{countByName, countRemote}},
	OrderStatus: {"order-status", "Order-Status", 1, 4, 4, 2 * time.Second, 10 * time.Second, 5 * time.Second,
		[]string{countByName}},
	Delivery: {"delivery", "Delivery", 1, 4, 4, 2 * time.Second, 5 * time.Second, 80 * time.Second,
		[]string{countDelivered, countSkipped}},
	StockLevel: {"stock-level", "Stock-Level", 1, 4, 4, 2 * time.Second, 5 * time.Second, 20 * time.Second, nil},
}

// kindOf returns the transaction with a name; ok is false if there is none.
func kindOf(name string) (k Kind, ok bool) {
	for k := range kinds {
		if profiles[k].name == name {
			return k, true
		}
	}
	return 0, false
}

// maxPerWarehouse is the greatest number of New-Orders a minute of one warehouse whose terminals key and think as
// they must: 12.86 (clause 4.2.1, comment). 9 is the least.
const (
	maxPerWarehouse   = 12.86
	leastPerWarehouse = 9.0
)
