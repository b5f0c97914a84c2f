package tpcc

import (
	"math"
	"strings"
	"testing"
	"time"

	"brunt/internal/dialect/tpc"
	"brunt/internal/record"
	"brunt/internal/render/cell"
)

// measured returns the figures of the command's load of TPC-C on a hundred warehouses, of 120 minutes, whose shares are
// right.
func measured(t *testing.T, alter func(run *record.Run)) *figures {
	t.Helper()
	run := &record.Run{DurationNs: int64(120 * time.Minute), Extra: map[string]string{"dialect": "tpcc",
		extraWarehouses: "100", extraTerminals: "1000", extraThink: "yes", extraMix: "yes"}}
	for k, o := range [kinds]struct {
		done   uint64
		counts map[string]uint64
	}{
		NewOrder: {144_000, map[string]uint64{countLines: 1_425_600, countRemoteLines: 14_256, countRolledBack: 1440}},
		Payment:  {144_000, map[string]uint64{countByName: 86_400, countRemote: 21_600}},
		// Of 100 000, 60 in a hundred can be told from 57 and from 63.
		OrderStatus: {100_000, map[string]uint64{countByName: 60_000}},
		Delivery:    {18_000, map[string]uint64{countDelivered: 180_000}},
		StockLevel:  {30_000, nil},
	} {
		op := record.Operation{Name: profiles[k].name, Counters: profiles[k].counts}
		op.Counts.OK, op.Counts.Done = o.done, o.done
		op.Response.P90Ns = record.Ns(time.Second)
		for i, name := range profiles[k].counts {
			op.Script[i] = o.counts[name]
		}
		run.Operations = append(run.Operations, op)
	}
	if alter != nil {
		alter(run)
	}
	return newFigures(run)
}

// rowOf returns the texts of the row of a table that begins with a text.
func rowOf(t *testing.T, table cell.Table, name string) (texts []string) {
	t.Helper()
	for _, cells := range table.Rows {
		if strings.TrimSpace(cells[0].String()) != name {
			continue
		}
		for _, c := range cells {
			texts = append(texts, c.String())
		}
		return texts
	}
	t.Fatalf("the table %s has no row %q", table.ID, name)
	return nil
}

// The report judges as the specification does: New-Orders that are rolled back count for tpmC, a warehouse has 9 to
// 12.86 of them a minute, 90 of 100 answers are within a limit, and shares are within or outside of theirs only if the
// number of transactions tells it.
func TestReport(t *testing.T) {
	op := func(run *record.Run, k Kind) *record.Operation { return &run.Operations[k] }
	less := func(k Kind, name string, n uint64) func(*record.Run) {
		return func(run *record.Run) {
			for i, c := range profiles[k].counts {
				if c == name {
					op(run, k).Script[i] = n
				}
			}
		}
	}
	done := func(k Kind, n uint64) func(*record.Run) {
		return func(run *record.Run) { op(run, k).Counts.OK = n }
	}
	p90 := func(k Kind, limit time.Duration) func(*record.Run) {
		return func(run *record.Run) { op(run, k).Response.P90Ns = record.Ns(limit) }
	}
	few := func(run *record.Run) {
		for i, n := range []uint64{1000, 9900, 99, 10} {
			o := op(run, NewOrder)
			if i == 0 {
				o.Counts.OK = n
			} else {
				o.Script[i-1] = n
			}
		}
	}
	for _, c := range []struct {
		name       string
		alter      func(*record.Run)
		table, row string
		want       string // a part of the row
	}{
		{"rolled back ones count", nil, "tpcc", "tpmC", "1200 144000 New-Orders in 2h0m0s, 1440 of them rolled back"},
		{"a rate that TPC-C allows", nil, "tpcc", "per warehouse", "12.0 between 9 and 12.86"},
		{"more than terminals can send", done(NewOrder, 156_000), "tpcc", "per warehouse", "13.0 above 12.86"},
		{"too little for the warehouses", done(NewOrder, 107_000), "tpcc", "per warehouse",
			"not TPC-C; use fewer warehouses"},
		{"an hour", func(run *record.Run) { run.DurationNs /= 2 }, "tpcc", "interval", "shorter than the 120 minutes"},
		{"120 minutes", nil, "tpcc", "interval", "long enough"},
		{"orders that stay", less(NewOrder, countNotUndone, 3), "tpcc", "not undone", "3 New-Orders that should have been"},
		{"New-Order at its limit", p90(NewOrder, 5*time.Second), "transactions", "New-Order", " ok"},
		{"New-Order above it", p90(NewOrder, 5001*time.Millisecond), "transactions", "New-Order", "too slow"},
		{"Payment above its limit", p90(Payment, 5001*time.Millisecond), "transactions", "Payment", "too slow"},
		{"Order-Status above it", p90(OrderStatus, 5001*time.Millisecond), "transactions", "Order-Status", "too slow"},
		{"Delivery at its limit", p90(Delivery, 80*time.Second), "transactions", "Delivery", " ok"},
		{"Delivery above it", p90(Delivery, 81*time.Second), "transactions", "Delivery", "too slow"},
		{"Stock-Level at its limit", p90(StockLevel, 20*time.Second), "transactions", "Stock-Level", " ok"},
		{"Stock-Level above it", p90(StockLevel, 21*time.Second), "transactions", "Stock-Level", "too slow"},
		{"more than a tenth never answered", p90(Payment, time.Duration(record.Infinite)), "transactions", "Payment",
			"never"},
		{"few Deliveries", done(Delivery, 12_000), "transactions", "Delivery", "too few"},
		{"no Delivery", func(run *record.Run) { run.Operations[Delivery].Name = "other" }, "transactions", "Delivery",
			"left out: not TPC-C"},
		{"rollbacks", nil, "shares", "New-Orders rolled back", "1.00 % 0.95 % to 1.05 % 0.9 to 1.1 % ok"},
		{"no rollbacks", less(NewOrder, countRolledBack, 0), "shares", "New-Orders rolled back", "outside"},
		{"few New-Orders", few, "shares", "New-Orders rolled back", "1.00 % 0.54 % to 1.83 % 0.9 to 1.1 % too few to tell"},
		{"remote lines", nil, "shares", "remote order lines", "ok"},
		{"twice as many", less(NewOrder, countRemoteLines, 28_512), "shares", "remote order lines", "outside"},
		{"remote Payments", nil, "shares", "remote Payments", "ok"},
		{"no remote ones", less(Payment, countRemote, 0), "shares", "remote Payments", "outside"},
		{"one warehouse has none", func(run *record.Run) { run.Extra[extraWarehouses] = "1" }, "shares", "remote Payments",
			"one warehouse"},
		{"by last name", nil, "shares", "Payments by last name", "ok"},
		{"half of them", less(Payment, countByName, 72_000), "shares", "Payments by last name", "outside"},
		{"half of Order-Status", less(OrderStatus, countByName, 50_000), "shares", "Order-Status by last name", "outside"},
		{"skipped deliveries", less(Delivery, countSkipped, 2000), "shares", "deliveries skipped", "outside"},
		{"lines of an order", nil, "shares", "order lines of a New-Order", "10.00 9.98 to 10.02 9.5 to 10.5 ok"},
		{"twelve lines", less(NewOrder, countLines, 1_710_720), "shares", "order lines of a New-Order", "outside"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := measured(t, c.alter)
			for _, table := range f.tables() {
				if table.ID != c.table {
					continue
				}
				if got := strings.Join(rowOf(t, table, c.row), " "); !strings.Contains(got, c.want) {
					t.Errorf("%s: %q, want %q", c.row, got, c.want)
				}
				return
			}
			t.Errorf("there is no table %s", c.table)
		})
	}
}

// Wilson's interval of 10 of 100, as textbooks have it; that of none is above none.
func TestShare(t *testing.T) {
	i := tpc.Share(10, 100)
	if math.Abs(i.Low-0.0552) > 1e-4 || math.Abs(i.High-0.1744) > 1e-4 || i.Value != 0.1 {
		t.Errorf("10 of 100: %+v", i)
	}
	if i := tpc.Share(0, 100); i.Low > 1e-12 || i.High < 0.03 || i.High > 0.04 {
		t.Errorf("none of 100: %+v", i)
	}
}
