package tpcc

import (
	"fmt"
	"sort"
	"sync/atomic"

	"brunt/internal/dialect/tpc"
	"brunt/internal/load/gen"
)

// Population is the initial content of the database (clause 4.3.3). Each row is a pure function of the seed and its
// number, so that any part can be loaded, or generated again, by itself. It is safe for concurrent use.
type Population struct {
	Sizes
	Seed       uint64
	From, To   int64 // warehouses
	DateUs     int64 // of everything: microseconds since 1970
	LastNameC  int64 // see Constants
	streams    [tables]gen.Stream
	extra      [tables]gen.Stream
	items      gen.Permutation // the first tenth have ORIGINAL
	lineStarts []uint64        // of each district: the number of order lines before it
	cache      [cachedDistricts]atomic.Pointer[district]
}

// cachedDistricts is a power of two. Sessions that load walk through rows in order, so that few districts are in use.
const cachedDistricts = 64

// district is what rows of a district need that isn't computed row by row.
type district struct {
	number    int64           // from 0, over all warehouses
	customers gen.Permutation // o_c_id − 1 of order number i
	credit    gen.Permutation // the first tenth have bad credit
	lines     []uint32        // order lines before each order
}

// The tables, in the order in which they are loaded: the largest first, so that sessions end together.
const (
	orderLine = iota
	stock
	customer
	orders
	newOrder
	history
	item
	districtTable
	warehouse
	tables
)

var tableNames = [tables]string{"order_line", "stock", "customer", "orders", "new_order", "history", "item", "district",
	"warehouse"}

// NewPopulation returns the population of warehouses from to to.
func NewPopulation(seed uint64, sizes Sizes, from, to, dateUs int64) *Population {
	p := &Population{Sizes: sizes, Seed: seed, From: from, To: to, DateUs: dateUs, LastNameC: loadConstant(seed)}
	for i, name := range tableNames {
		p.streams[i] = gen.NewStream(seed, "tpcc", name)
		p.extra[i] = gen.NewStream(seed, "tpcc", name, "extra")
	}
	p.items = gen.NewPermutation(gen.NewStream(seed, "tpcc", "original"), uint64(sizes.Items))
	districts := (to - from + 1) * Districts
	p.lineStarts = make([]uint64, districts+1)
	for d := range districts {
		n := uint64(0)
		first := uint64(d+(from-1)*Districts) * uint64(sizes.Customers)
		for o := range uint64(sizes.Customers) {
			n += uint64(p.orderLines(first + o))
		}
		p.lineStarts[d+1] = p.lineStarts[d] + n
	}
	return p
}

// orderLines returns o_ol_cnt of an order, whose number counts from 0 over all warehouses.
func (p *Population) orderLines(order uint64) int64 {
	return 5 + int64(p.extra[orders].Uint64n(order, 11))
}

// district returns a district by its number over all warehouses, from 0.
func (p *Population) district(number int64) *district {
	slot := &p.cache[uint64(number)%cachedDistricts]
	if d := slot.Load(); d != nil && d.number == number {
		return d
	}
	s := gen.NewStream(p.Seed, "tpcc", "district", fmt.Sprint(number))
	n := uint64(p.Customers)
	d := &district{number: number, customers: gen.NewPermutation(s.Sub("customers"), n),
		credit: gen.NewPermutation(s.Sub("credit"), n), lines: make([]uint32, n+1)}
	for o := range n {
		d.lines[o+1] = d.lines[o] + uint32(p.orderLines(uint64(number)*n+o))
	}
	slot.Store(d)
	return d
}

const (
	alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits       = "0123456789"
)

// row writes the values of a row in order.
type row struct {
	values []gen.Value
	n      int
	r      gen.Rand
	dateUs int64
}

func (w *row) next() *gen.Value {
	w.n++
	return &w.values[w.n-1]
}

func (w *row) int(i int64)   { w.next().SetInt(i) }
func (w *row) text(s string) { w.next().SetString(s) }
func (w *row) null()         { w.next().SetNull() }

func (w *row) decimal(unscaled int64, scale uint8) {
	v := w.next()
	v.Kind, v.I, v.Scale = gen.Decimal, unscaled, scale
}

func (w *row) money(cents int64) { w.decimal(cents, 2) }

func (w *row) date() {
	v := w.next()
	v.Kind, v.I = gen.Datetime, w.dateUs
}

// letters writes a random a-string of lo to hi characters (clause 4.3.2.2).
func (w *row) letters(lo, hi int64) *gen.Value {
	v := w.next()
	v.Kind, v.B = gen.String, w.r.AppendFrom(v.B[:0], alphanumeric, int(w.r.Between(lo, hi)))
	return v
}

// digits writes a random n-string.
func (w *row) digits(n int) {
	v := w.next()
	v.Kind, v.B = gen.String, w.r.AppendFrom(v.B[:0], digits, n)
}

// address writes two streets, city, state and zip code (clause 4.3.2.7).
func (w *row) address() {
	w.letters(10, 20)
	w.letters(10, 20)
	w.letters(10, 20)
	w.letters(2, 2)
	v := w.next()
	v.Kind, v.B = gen.String, append(w.r.AppendFrom(v.B[:0], digits, 4), "11111"...)
}

// data writes 26 to 50 characters, with ORIGINAL at a random place if original is true.
func (w *row) data(original bool) {
	v := w.letters(26, 50)
	if original {
		at := w.r.Between(0, int64(len(v.B)-len("ORIGINAL")))
		copy(v.B[at:], "ORIGINAL")
	}
}

func (p *Population) row(table int, values []gen.Value, number uint64) row {
	return row{values: values, r: p.streams[table].At(number), dateUs: p.DateUs}
}

func (p *Population) item(values []gen.Value, number uint64) {
	w := p.row(item, values, number)
	w.int(int64(number) + 1)
	w.int(w.r.Between(1, 10_000))
	w.letters(14, 24)
	w.money(w.r.Between(100, 10_000))
	w.data(p.items.At(number) < uint64(p.Items)/10)
}

func (p *Population) warehouse(values []gen.Value, number uint64) {
	number += uint64(p.From - 1)
	w := p.row(warehouse, values, number)
	w.int(int64(number) + 1)
	w.letters(6, 10)
	w.address()
	w.decimal(w.r.Between(0, 2000), 4)
	w.money(10_00 * p.Customers * Districts) // 300 000.00: what its customers have paid
}

func (p *Population) districtRow(values []gen.Value, number uint64) {
	number += uint64(p.From-1) * Districts
	w := p.row(districtTable, values, number)
	w.int(int64(number/Districts) + 1)
	w.int(int64(number%Districts) + 1)
	w.letters(6, 10)
	w.address()
	w.decimal(w.r.Between(0, 2000), 4)
	w.money(10_00 * p.Customers) // 30 000.00
	w.int(p.Customers + 1)
}

// stock: a tenth of each warehouse's rows have ORIGINAL.
func (p *Population) stock(values []gen.Value, number uint64) {
	number += uint64(p.From-1) * uint64(p.Items)
	w := p.row(stock, values, number)
	at, id := number/uint64(p.Items), number%uint64(p.Items)
	w.int(int64(at) + 1)
	w.int(int64(id) + 1)
	w.int(w.r.Between(10, 100))
	for range Districts {
		w.letters(24, 24)
	}
	w.int(0)
	w.int(0)
	w.int(0)
	// One order of items serves all warehouses, begun at another place for each.
	w.data(p.items.At((id+at*7919)%uint64(p.Items)) < uint64(p.Items)/10)
}

// place returns the district of a row of customers or orders, and the row's number in it from 0.
func (p *Population) place(number uint64) (d *district, warehouseID, districtID int64, in uint64) {
	n := uint64(p.Customers)
	all := int64(number/n) + (p.From-1)*Districts
	return p.district(all), all/Districts + 1, all%Districts + 1, number % n
}

// global returns the number of a row of customers or orders over all warehouses.
func (p *Population) global(number uint64) uint64 {
	return number + uint64(p.From-1)*Districts*uint64(p.Customers)
}

func (p *Population) customer(values []gen.Value, number uint64) {
	d, at, in, i := p.place(number)
	w := p.row(customer, values, p.global(number))
	w.int(at)
	w.int(in)
	w.int(int64(i) + 1)
	name := int64(i)
	if name >= p.names() {
		name = p.lastName(&w.r, p.LastNameC)
	}
	last := w.next()
	last.Kind, last.B = gen.String, AppendLastName(last.B[:0], name)
	w.text("OE")
	w.letters(8, 16)
	w.address()
	w.digits(16)
	w.date()
	credit := "GC"
	if d.credit.At(i) < uint64(p.Customers)/10 {
		credit = "BC"
	}
	w.text(credit)
	w.money(50_000_00)
	w.decimal(w.r.Between(0, 5000), 4)
	w.money(-10_00)
	w.money(10_00)
	w.int(1)
	w.int(0)
	w.letters(300, 500)
}

func (p *Population) history(values []gen.Value, number uint64) {
	_, at, in, i := p.place(number)
	w := p.row(history, values, p.global(number))
	w.int(int64(i) + 1)
	w.int(in)
	w.int(at)
	w.int(in)
	w.int(at)
	w.date()
	w.money(10_00)
	w.letters(12, 24)
}

func (p *Population) order(values []gen.Value, number uint64) {
	d, at, in, i := p.place(number)
	w := p.row(orders, values, p.global(number))
	w.int(at)
	w.int(in)
	w.int(int64(i) + 1)
	w.int(int64(d.customers.At(i)) + 1)
	w.date()
	if int64(i) < p.delivered() {
		w.int(w.r.Between(1, 10))
	} else {
		w.null()
	}
	w.int(p.orderLines(p.global(number)))
	w.int(1)
}

func (p *Population) newOrder(values []gen.Value, number uint64) {
	n := uint64(p.undelivered())
	all := int64(number/n) + (p.From-1)*Districts
	w := row{values: values}
	w.int(all/Districts + 1)
	w.int(all%Districts + 1)
	w.int(p.delivered() + int64(number%n) + 1)
}

func (p *Population) orderLine(values []gen.Value, number uint64) {
	districts := len(p.lineStarts) - 1
	k := sort.Search(districts, func(i int) bool { return p.lineStarts[i+1] > number })
	all := int64(k) + (p.From-1)*Districts
	d := p.district(all)
	in := uint32(number - p.lineStarts[k])
	order := sort.Search(int(p.Customers), func(i int) bool { return d.lines[i+1] > in })
	line := int64(in - d.lines[order])
	// An order has up to 15 lines, so that its number times 16 and the line's are unique.
	w := p.row(orderLine, values, (uint64(all)*uint64(p.Customers)+uint64(order))*16+uint64(line))
	at := all/Districts + 1
	w.int(at)
	w.int(all%Districts + 1)
	w.int(int64(order) + 1)
	w.int(line + 1)
	w.int(w.r.Between(1, p.Items))
	w.int(at)
	done := int64(order) < p.delivered()
	if done {
		w.date()
	} else {
		w.null()
	}
	w.int(5)
	if done {
		w.money(0)
	} else {
		w.money(w.r.Between(1, 999_999))
	}
	w.letters(24, 24)
}

// Tables returns the tables with the population of the warehouses. The items are loaded with the first warehouse.
func (p *Population) Tables() []tpc.Table {
	all := schema()
	n := uint64(p.To - p.From + 1)
	perDistrict := n * Districts * uint64(p.Customers)
	for i, t := range map[int]struct {
		rows uint64
		row  func([]gen.Value, uint64)
	}{
		orderLine: {p.lineStarts[len(p.lineStarts)-1], p.orderLine}, stock: {n * uint64(p.Items), p.stock},
		customer: {perDistrict, p.customer}, orders: {perDistrict, p.order},
		newOrder: {n * Districts * uint64(p.undelivered()), p.newOrder}, history: {perDistrict, p.history},
		item: {uint64(p.Items), p.item}, districtTable: {n * Districts, p.districtRow}, warehouse: {n, p.warehouse},
	} {
		all[i].Rows, all[i].Row = t.rows, t.row
	}
	if p.From > 1 {
		all[item].Rows = 0
	}
	return all
}
