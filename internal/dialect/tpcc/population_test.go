package tpcc

import (
	"bytes"
	"math"
	"testing"

	"brunt/internal/dialect/tpc"
	"brunt/internal/load/gen"
)

const date = 1_700_000_000_000_000

// rows calls each with all rows of a table.
func rows(t *tpc.Table, each func(values []gen.Value)) {
	values := newRow(t)
	for i := range t.Rows {
		t.Row(values, i)
		each(values)
	}
}

func column(t *testing.T, table *tpc.Table, name string) int {
	t.Helper()
	for i := range table.Columns {
		if table.Columns[i].Name == name {
			return i
		}
	}
	t.Fatalf("%s has no column %s", table.Name, name)
	return 0
}

func TestPopulationOfAWarehouse(t *testing.T) {
	all := NewPopulation(5, Full(), 2, 2, date).Tables()
	for name, want := range map[int]uint64{stock: 100_000, customer: 30_000, orders: 30_000, newOrder: 9000,
		history: 30_000, item: 0, districtTable: 10, warehouse: 1} {
		if got := all[name].Rows; got != want {
			t.Errorf("%s has %d rows, want %d", all[name].Name, got, want)
		}
	}
	lines := uint64(0)
	taken := map[[2]int64]bool{}
	carrier := column(t, &all[orders], "o_carrier_id")
	rows(&all[orders], func(v []gen.Value) {
		if (v[carrier].Kind == gen.Null) != (v[2].I > 2100) {
			t.Errorf("order %d: carrier %v", v[2].I, v[carrier])
		}
		if taken[[2]int64{v[1].I, v[3].I}] {
			t.Errorf("customer %d of district %d has two orders", v[3].I, v[1].I)
		}
		taken[[2]int64{v[1].I, v[3].I}] = true
		if n := v[6].I; n < 5 || n > 15 {
			t.Errorf("an order of %d lines", n)
		}
		lines += uint64(v[6].I)
	})
	if all[orderLine].Rows != lines {
		t.Errorf("%d order lines, the orders say %d", all[orderLine].Rows, lines)
	}
	amount, delivered := column(t, &all[orderLine], "ol_amount"), column(t, &all[orderLine], "ol_delivery_d")
	rows(&all[orderLine], func(v []gen.Value) {
		old := v[2].I <= 2100
		if zero := v[amount].I == 0; zero != old || (v[delivered].Kind == gen.Null) == old || v[amount].I > 999_999 {
			t.Errorf("order %d: amount %d, delivered %v", v[2].I, v[amount].I, v[delivered].Kind)
		}
	})
}

// A tenth of the items, of each warehouse's stock, and of each district's customers are marked.
func TestTenths(t *testing.T) {
	all := NewPopulation(6, Full(), 1, 2, date).Tables()
	count := func(table int, name, mark string, of ...int) map[[2]int64]int {
		at, n := column(t, &all[table], name), map[[2]int64]int{}
		rows(&all[table], func(v []gen.Value) {
			if bytes.Contains(v[at].B, []byte(mark)) {
				key := [2]int64{}
				for i, c := range of {
					key[i] = v[c].I
				}
				n[key]++
			}
		})
		return n
	}
	// A random text contains the mark once in 62^8 times.
	for name, c := range map[string]struct {
		got          map[[2]int64]int
		groups, each int
	}{
		"items": {count(item, "i_data", "ORIGINAL"), 1, 10_000}, "stock": {count(stock, "s_data", "ORIGINAL", 0), 2, 10_000},
		"customers": {count(customer, "c_credit", "BC", 0, 1), 20, 300},
	} {
		if len(c.got) != c.groups {
			t.Errorf("%s: %d groups, want %d", name, len(c.got), c.groups)
		}
		for group, n := range c.got {
			if n != c.each {
				t.Errorf("%s of %v: %d are marked, want %d", name, group, n, c.each)
			}
		}
	}
}

// Rows don't depend on the range that is loaded, so that ranges can be loaded by themselves.
func TestRangesAreParts(t *testing.T) {
	sizes, err := Shrunk(100)
	if err != nil {
		t.Fatal(err)
	}
	whole := NewPopulation(7, sizes, 1, 3, date).Tables()
	part := NewPopulation(7, sizes, 2, 3, date).Tables()
	for i := range whole {
		w, p := &whole[i], &part[i]
		skip := w.Rows - p.Rows
		a, b := newRow(w), newRow(p)
		for row := range p.Rows {
			w.Row(a, skip+row)
			p.Row(b, row)
			if gen.ChecksumRow(a) != gen.ChecksumRow(b) {
				t.Fatalf("%s: row %d of the part isn't row %d of the whole", w.Name, row, skip+row)
			}
		}
	}
}

// The last names of the first thousand customers are all different; those of the others follow NURand with the load's
// constant. A uniform law, or another constant, is far from it.
func TestLastNamesFollowTheirLaw(t *testing.T) {
	p := NewPopulation(8, Full(), 1, 8, date)
	table := &p.Tables()[customer]
	at := column(t, table, "c_last")
	seen, first := map[string]int64{}, map[string]bool{}
	total := int64(0)
	rows(table, func(v []gen.Value) {
		if v[2].I <= 1000 {
			first[string(v[at].B)] = true
			return
		}
		seen[string(v[at].B)]++
		total++
	})
	if len(first) != 1000 {
		t.Errorf("%d names of the first thousand customers", len(first))
	}
	chi := func(c int64) float64 {
		sum := 0.0
		for n, share := range law(255, 0, 999, c) {
			want := share * float64(total)
			sum += math.Pow(float64(seen[string(AppendLastName(nil, int64(n)))])-want, 2) / want
		}
		return sum
	}
	const freedom = 999
	if got := chi(p.LastNameC); math.Abs(got-freedom) > 5*math.Sqrt(2*freedom) {
		t.Errorf("chi-square is %.0f, want about %d", got, freedom)
	}
	if got := chi((p.LastNameC + 100) % 256); math.Abs(got-freedom) < 5*math.Sqrt(2*freedom) {
		t.Errorf("another constant passes too: %.0f", got)
	}
}

// law returns the exact probabilities of NURand(a, lo, hi, c).
func law(a, lo, hi, c int64) []float64 {
	n := hi - lo + 1
	p := make([]float64, n)
	for x := range a + 1 {
		for y := lo; y <= hi; y++ {
			p[((x|y)+c)%n] += 1 / float64((a+1)*n)
		}
	}
	return p
}
