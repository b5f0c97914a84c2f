package tpcc

import (
	"strconv"
	"time"

	"brunt/internal/dialect/tpc"
	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// session is a terminal.
type session struct {
	tpc.Flow
	p                                   *program
	number                              int64
	terminalWarehouse, terminalDistrict int64
	draws                               gen.Rand // of cards and think times
	deck                                [23]Kind
	left                                int // cards in deck
	next                                Kind
	chosen                              bool

	kind     Kind
	in       input
	order    int64 // the number of the order that is being handled
	customer int64 // the number of the customer that was found
	data     []byte
	counts   [protocol.ScriptCounters]uint32
}

// line is an item of an order.
type line struct{ item, supply, quantity int64 }

// input is what a terminal's user enters.
type input struct {
	warehouse, district int64
	// The customer, by number, or by last name if byName is set.
	customerWarehouse, customerDistrict, customer int64
	byName                                        bool
	name                                          []byte

	lines    [15]line // New-Order
	count    int
	rollBack bool // its last item doesn't exist

	cents     int64  // Payment
	places    []byte // Payment: names of the warehouse and the district
	carrier   int64  // Delivery
	threshold int64  // Stock-Level
}

// The indexes of counters, in the order of profile.counts.
const (
	linesCounter = iota
	remoteLinesCounter
	rolledBackCounter
	notUndoneCounter
)

const (
	byNameCounter = iota
	remoteCounter
)

const (
	deliveredCounter = iota
	skippedCounter
)

// draw draws the next transaction: from a deck of 23 cards (clause 5.2.4.2), or by weight.
func (s *session) draw() Kind {
	if !s.p.deck {
		at := s.draws.Float64() * s.p.total
		last := s.p.kinds[0]
		for _, k := range s.p.kinds {
			if s.p.weights[k] <= 0 {
				continue
			}
			if last = k; at < s.p.weights[k] {
				break
			}
			at -= s.p.weights[k]
		}
		return last
	}
	if s.left == 0 {
		for k := range kinds {
			for range profiles[k].cards {
				s.deck[s.left] = k
				s.left++
			}
		}
		for i := len(s.deck) - 1; i > 0; i-- {
			j := s.draws.Uint64n(uint64(i) + 1)
			s.deck[i], s.deck[j] = s.deck[j], s.deck[i]
		}
	}
	s.left--
	return s.deck[s.left]
}

// Choose returns the next transaction.
func (s *session) Choose(uint64) int {
	if !s.chosen {
		s.next = s.draw()
	}
	s.chosen = false
	return s.p.of[s.next]
}

// Rest returns the think time of the transaction that has ended and the keying time of the next one, which it chooses:
// response times begin when the keying has ended (clause 5.3.3).
func (s *session) Rest() time.Duration {
	s.next, s.chosen = s.draw(), true
	if !s.p.think {
		return 0
	}
	return thinkTime(&s.draws, profiles[s.kind].think) + profiles[s.next].keying
}

// Begin begins a transaction, whose input is a function of its number.
func (s *session) Begin(operation int, index uint64) script.Step {
	s.kind = s.p.kinds[operation]
	r := s.p.draws[s.kind].At(index)
	s.enter(&r)
	return s.Again()
}

// Again begins it once more.
func (s *session) Again() script.Step {
	s.Start()
	s.counts = [protocol.ScriptCounters]uint32{}
	first := [kinds]func() script.Step{NewOrder: s.newOrder, Payment: s.pay, OrderStatus: s.status, Delivery: s.deliver,
		StockLevel: s.level}[s.kind]
	if begin := s.p.frame[s.kind].begin; begin >= 0 {
		return s.Flow.Begin(begin, first)
	}
	return first()
}

// Answered continues a transaction.
func (s *session) Answered(r *protocol.Reply) script.Step {
	return s.Flow.Answered(r, s.p.frame[s.kind].rollback)
}

// Resume isn't called: transactions don't pause.
func (s *session) Resume() script.Step { return script.Step{} }

// done commits and ends the transaction.
func (s *session) done() script.Step {
	if commit := s.p.frame[s.kind].commit; commit >= 0 {
		return s.Commit(commit, s.counts[:])
	}
	return script.Step{Counts: s.counts[:]}
}

func (s *session) fail(what string) script.Step {
	return s.Fail(tpc.Missing(what), s.p.frame[s.kind].rollback)
}

// other draws another warehouse than one of several, each equally likely.
func (s *session) other(r *gen.Rand, than int64) int64 {
	w := r.Between(1, s.p.warehouses-1)
	if w >= than {
		w++
	}
	return w
}

// enter draws a transaction's input.
func (s *session) enter(r *gen.Rand) {
	in := &s.in
	in.warehouse, in.district = s.terminalWarehouse, r.Between(1, Districts)
	in.customerWarehouse, in.customerDistrict = in.warehouse, in.district
	in.byName = false
	switch s.kind {
	case NewOrder:
		in.customer = s.p.Sizes.customer(r, s.p.Constants.Customer)
		s.enterLines(r)
	case Payment: // clause 2.5.1.2
		if r.Between(1, 100) > 85 && s.p.warehouses > 1 {
			in.customerWarehouse = s.other(r, in.warehouse)
			in.customerDistrict = r.Between(1, Districts)
		}
		s.enterCustomer(r)
		in.cents = r.Between(1_00, 5_000_00)
	case OrderStatus:
		s.enterCustomer(r)
	case Delivery:
		in.carrier = r.Between(1, 10)
	case StockLevel:
		in.district = s.terminalDistrict
		in.threshold = r.Between(10, 20)
	}
}

// enterCustomer draws a customer: 60 % by last name (clauses 2.5.1.2, 2.6.1.2).
func (s *session) enterCustomer(r *gen.Rand) {
	in := &s.in
	if in.byName = r.Between(1, 100) <= 60; in.byName {
		in.name = AppendLastName(in.name[:0], s.p.lastName(r, s.p.LastName))
		return
	}
	in.customer = s.p.Sizes.customer(r, s.p.Constants.Customer)
}

// enterLines draws the lines of an order (clauses 2.4.1.3 to 2.4.1.5): one in a hundred is supplied by another
// warehouse, and one in a hundred orders ends with an item that doesn't exist.
func (s *session) enterLines(r *gen.Rand) {
	in := &s.in
	in.count = int(r.Between(5, 15))
	in.rollBack = r.Between(1, 100) == 1
	for i := range in.count {
		l := &in.lines[i]
		l.item, l.supply = s.p.item(r, s.p.Item), in.warehouse
		if r.Between(1, 100) == 1 && s.p.warehouses > 1 {
			l.supply = s.other(r, in.warehouse)
		}
		l.quantity = r.Between(1, 10)
	}
	if in.rollBack {
		in.lines[in.count-1].item = s.p.Items + 1
	}
}

// newOrder: clause 2.4.2.2.
func (s *session) newOrder() script.Step {
	q, in := &s.p.statements.newOrder, &s.in
	s.Int(in.warehouse)
	return s.Send(q.warehouse, func(*protocol.Reply) script.Step {
		s.Int(in.warehouse).Int(in.district)
		return s.Send(q.district, func(r *protocol.Reply) script.Step {
			var found bool
			if s.order, found = tpc.IntOf(&r.Captured[0]); !found {
				return s.fail("district")
			}
			s.Int(in.warehouse).Int(in.district)
			return s.Send(q.next, func(*protocol.Reply) script.Step {
				s.Int(in.warehouse).Int(in.district).Int(in.customer)
				return s.Send(q.customer, s.insertOrder)
			})
		})
	})
}

// insertOrder inserts the order, whose lines follow.
func (s *session) insertOrder(r *protocol.Reply) script.Step {
	q, in := &s.p.statements.newOrder, &s.in
	if r.Rows == 0 {
		return s.fail("customer")
	}
	local := int64(1)
	for _, l := range in.lines[:in.count] {
		if l.supply != in.warehouse {
			local = 0
		}
	}
	s.Int(s.order).Int(in.district).Int(in.warehouse).Int(in.customer).Time(s.p.now()).Int(int64(in.count)).Int(local)
	return s.Send(q.order, func(*protocol.Reply) script.Step {
		s.Int(s.order).Int(in.district).Int(in.warehouse)
		return s.Send(q.fresh, func(*protocol.Reply) script.Step { return s.addLine(0) })
	})
}

// addLine adds a line to the order. The stock is that of the supplying warehouse.
func (s *session) addLine(i int) script.Step {
	q, in := &s.p.statements.newOrder, &s.in
	if i == in.count {
		return s.done()
	}
	l := &in.lines[i]
	s.Int(l.item)
	return s.Send(q.item, func(r *protocol.Reply) script.Step {
		price, found := tpc.CentsOf(&r.Captured[0])
		switch {
		case !found && in.rollBack && i == in.count-1:
			return s.rollBack()
		case !found:
			return s.fail("item " + strconv.FormatInt(l.item, 10))
		}
		s.Int(l.item).Int(l.supply)
		return s.Send(q.stock[in.district-1], func(r *protocol.Reply) script.Step {
			quantity, found := tpc.IntOf(&r.Captured[0])
			if !found {
				return s.fail("stock of item " + strconv.FormatInt(l.item, 10))
			}
			s.data = append(s.data[:0], r.Captured[1].B...)
			return s.takeStock(i, quantity, price*l.quantity)
		})
	})
}

// takeStock changes the stock of a line's item, and inserts the line.
func (s *session) takeStock(i int, quantity, amount int64) script.Step {
	q, in := &s.p.statements.newOrder, &s.in
	l := &in.lines[i]
	if quantity -= l.quantity; quantity < 10 {
		quantity += 91
	}
	remote := int64(0)
	if l.supply != in.warehouse {
		remote = 1
	}
	s.Int(quantity).Int(l.quantity).Int(remote).Int(l.item).Int(l.supply)
	return s.Send(q.change, func(*protocol.Reply) script.Step {
		s.Int(s.order).Int(in.district).Int(in.warehouse).Int(int64(i) + 1).Int(l.item).Int(l.supply).Int(l.quantity)
		s.Money(amount).Bytes(s.data)
		return s.Send(q.line, func(*protocol.Reply) script.Step {
			s.counts[linesCounter]++
			s.counts[remoteLinesCounter] += uint32(remote)
			return s.addLine(i + 1)
		})
	})
}

// rollBack ends an order with an unused item. It has handled all other lines (clause 2.4.2.3). What its lines were
// doesn't count: they aren't there.
func (s *session) rollBack() script.Step {
	s.counts[linesCounter], s.counts[remoteLinesCounter] = 0, 0
	s.counts[rolledBackCounter] = 1
	if rollback := s.p.frame[NewOrder].rollback; rollback >= 0 {
		return s.RollBack(rollback, s.counts[:])
	}
	s.counts[notUndoneCounter] = 1
	return script.Step{Counts: s.counts[:]}
}

// find finds the customer, and calls after with the row of its number and what follows it.
func (s *session) find(w who, after func(*protocol.Reply) script.Step) script.Step {
	in := &s.in
	found := func(r *protocol.Reply) script.Step {
		id, ok := tpc.IntOf(&r.Captured[0])
		if !ok {
			return s.fail("customer")
		}
		s.customer = id
		return after(r)
	}
	if !in.byName {
		s.Int(in.customerWarehouse).Int(in.customerDistrict).Int(in.customer)
		return s.Send(w.byID, found)
	}
	s.counts[byNameCounter] = 1
	s.Int(in.customerWarehouse).Int(in.customerDistrict).Bytes(in.name)
	return s.Send(w.count, func(r *protocol.Reply) script.Step {
		n, _ := tpc.IntOf(&r.Captured[0])
		if n == 0 {
			return s.fail("customer of the name " + string(in.name))
		}
		if w.byName < 0 {
			s.data = s.data[:0]
			return s.walk(w, middle(n), found)
		}
		s.Int(in.customerWarehouse).Int(in.customerDistrict).Bytes(in.name).Int(middle(n) - 1)
		return s.Send(w.byName, found)
	})
}

// middle returns the place of the customer among n with one name, from 1: n/2, rounded up (clause 2.5.2.2).
func middle(n int64) int64 { return (n + 1) / 2 }

// walk goes to the first name at a place, from the one before.
func (s *session) walk(w who, place int64, found func(*protocol.Reply) script.Step) script.Step {
	in := &s.in
	s.Int(in.customerWarehouse).Int(in.customerDistrict).Bytes(in.name).Bytes(s.data)
	if place == 0 {
		return s.Send(w.byFirst, found)
	}
	return s.Send(w.firstAfter, func(r *protocol.Reply) script.Step {
		s.data = append(s.data[:0], r.Captured[0].B...)
		return s.walk(w, place-1, found)
	})
}

// pay: clause 2.5.2.2.
func (s *session) pay() script.Step {
	q, in := &s.p.statements.payment, &s.in
	if in.customerWarehouse != in.warehouse {
		s.counts[remoteCounter] = 1
	}
	s.Money(in.cents).Int(in.warehouse)
	return s.Send(q.payWarehouse, func(*protocol.Reply) script.Step {
		s.Int(in.warehouse)
		return s.Send(q.warehouse, func(r *protocol.Reply) script.Step {
			in.places = append(append(in.places[:0], r.Captured[0].B...), "    "...)
			s.Money(in.cents).Int(in.warehouse).Int(in.district)
			return s.Send(q.payDistrict, func(*protocol.Reply) script.Step {
				s.Int(in.warehouse).Int(in.district)
				return s.Send(q.district, func(r *protocol.Reply) script.Step {
					in.places = append(in.places, r.Captured[0].B...)
					return s.find(who{q.count, q.byName, q.firstAfter, q.byFirst, q.byID}, s.payCustomer)
				})
			})
		})
	})
}

// payCustomer changes the customer's balance, and with bad credit its data, to which the payment is prepended.
func (s *session) payCustomer(r *protocol.Reply) script.Step {
	q, in := &s.p.statements.payment, &s.in
	if string(r.Captured[1].B) != "BC" {
		s.Money(in.cents).Int(in.customerWarehouse).Int(in.customerDistrict).Int(s.customer)
		return s.Send(q.pay, s.insertHistory)
	}
	s.Int(in.customerWarehouse).Int(in.customerDistrict).Int(s.customer)
	return s.Send(q.data, func(r *protocol.Reply) script.Step {
		s.data = s.data[:0]
		for _, n := range []int64{s.customer, in.customerDistrict, in.customerWarehouse, in.district, in.warehouse} {
			s.data = append(strconv.AppendInt(s.data, n, 10), ' ')
		}
		s.data = append(gen.AppendDecimal(s.data, in.cents, 2), ' ')
		s.data = append(s.data, r.Captured[0].B...)
		s.data = s.data[:min(len(s.data), 500)]
		s.Money(in.cents).Int(in.customerWarehouse).Int(in.customerDistrict).Int(s.customer).Bytes(s.data)
		return s.Send(q.payBad, s.insertHistory)
	})
}

func (s *session) insertHistory(*protocol.Reply) script.Step {
	in, now := &s.in, s.p.now()
	s.Int(s.customer).Int(in.customerDistrict).Int(in.customerWarehouse).Int(in.district).Int(in.warehouse).Time(now)
	s.Money(in.cents).Bytes(in.places)
	if historyHasKey(s.p.system) {
		s.Int(now.UnixMicro()<<10 | s.number%1024) // two terminals never have one number in one microsecond
	}
	return s.Send(s.p.payment.history, func(*protocol.Reply) script.Step { return s.done() })
}

// status: clause 2.6.2.2.
func (s *session) status() script.Step {
	q, in := &s.p.statements.status, &s.in
	return s.find(who{q.count, q.byName, q.firstAfter, q.byFirst, q.byID}, func(*protocol.Reply) script.Step {
		s.Int(in.customerWarehouse).Int(in.customerDistrict).Int(s.customer)
		return s.Send(q.last, func(r *protocol.Reply) script.Step {
			order, found := tpc.IntOf(&r.Captured[0])
			if !found {
				return s.fail("order of a customer")
			}
			s.Int(in.customerWarehouse).Int(in.customerDistrict).Int(order)
			return s.Send(q.lines, func(*protocol.Reply) script.Step { return s.done() })
		})
	})
}

func (s *session) deliver() script.Step { return s.deliverOldest(1) }

// deliverOldest delivers the oldest order of a district and then of those after it: clause 2.7.4.2. A district without
// one is skipped, and counted.
func (s *session) deliverOldest(district int64) script.Step {
	q, in := &s.p.statements.delivery, &s.in
	if district > Districts {
		return s.done()
	}
	s.Int(in.warehouse).Int(district)
	return s.Send(q.oldest, func(r *protocol.Reply) script.Step {
		order, found := tpc.IntOf(&r.Captured[0])
		if !found {
			s.counts[skippedCounter]++
			return s.deliverOldest(district + 1)
		}
		s.Int(in.warehouse).Int(district).Int(order)
		return s.Send(q.remove, func(r *protocol.Reply) script.Step {
			if r.Affected == 0 { // without locks, another terminal has taken it
				s.counts[skippedCounter]++
				return s.deliverOldest(district + 1)
			}
			s.counts[deliveredCounter]++
			s.Int(in.warehouse).Int(district).Int(order)
			return s.Send(q.order, func(r *protocol.Reply) script.Step {
				customer, found := tpc.IntOf(&r.Captured[0])
				if !found {
					return s.fail("order for a row of new_order")
				}
				return s.deliverTo(district, order, customer)
			})
		})
	})
}

func (s *session) deliverTo(district, order, customer int64) script.Step {
	q, in := &s.p.statements.delivery, &s.in
	s.Int(in.carrier).Int(in.warehouse).Int(district).Int(order)
	return s.Send(q.carrier, func(*protocol.Reply) script.Step {
		s.Time(s.p.now()).Int(in.warehouse).Int(district).Int(order)
		return s.Send(q.lines, func(*protocol.Reply) script.Step {
			s.Int(in.warehouse).Int(district).Int(order)
			return s.Send(q.sum, func(r *protocol.Reply) script.Step {
				owed, _ := tpc.CentsOf(&r.Captured[0])
				s.Money(owed).Int(in.warehouse).Int(district).Int(customer)
				return s.Send(q.customer, func(*protocol.Reply) script.Step { return s.deliverOldest(district + 1) })
			})
		})
	})
}

// level: clause 2.8.2.2.
func (s *session) level() script.Step {
	q, in := &s.p.statements.level, &s.in
	s.Int(in.warehouse).Int(in.district)
	return s.Send(q.next, func(r *protocol.Reply) script.Step {
		next, found := tpc.IntOf(&r.Captured[0])
		if !found {
			return s.fail("district")
		}
		s.Int(in.warehouse).Int(in.district).Int(next - 20).Int(next).Int(in.threshold)
		return s.Send(q.count, func(*protocol.Reply) script.Step { return s.done() })
	})
}
