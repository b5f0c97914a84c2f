package tpcc

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"brunt/internal/dialect/tpc"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/test/databases"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// system returns a plan for a server of a protocol.
func system(t *testing.T, name string) *plan.Plan {
	t.Helper()
	return databases.Plan(t, &servers, name, "tpcc")
}

func open(t *testing.T, p *plan.Plan) *tpc.Database {
	t.Helper()
	d, err := Open(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// small are the sizes of tests: a hundredth, so that a warehouse has some 5000 rows.
func small(t *testing.T) Sizes {
	t.Helper()
	s, err := Shrunk(100)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func loading(s Sizes, warehouses int64) Loading {
	return Loading{Warehouses: warehouses, Sizes: s, Seed: 11, Sessions: 4, Now: time.Now}
}

// loaded returns a database with fresh data, which is dropped when the test ends.
func loaded(t *testing.T, p *plan.Plan, warehouses int64) *tpc.Database {
	t.Helper()
	d := open(t, p)
	if err := d.Drop(context.Background(), schema()); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(context.Background(), d, loading(small(t), warehouses)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Drop(context.Background(), schema()); err != nil {
			t.Error(err)
		}
	})
	return d
}

// All twelve conditions hold on fresh data, and each is broken by the change that it is about.
func TestConditions(t *testing.T) {
	testserver.SkipQuick(t)
	for _, name := range databases.Protocols {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			d := loaded(t, system(t, name), 2)
			data, err := Read(ctx, d)
			if err != nil {
				t.Fatal(err)
			}
			all := Conditions(data.Sizes)
			if len(all) != 12 {
				t.Fatalf("%d conditions", len(all))
			}
			for _, o := range d.Check(ctx, all, true, nil) {
				if !o.Holds() {
					t.Errorf("fresh data: condition %s (%s): %d violations, %s, %v", o.Name, o.Says, o.Violations, o.Example, o.Err)
				}
			}
			for _, c := range violations {
				for _, statement := range c.do {
					if err := d.Exec(ctx, statement); err != nil {
						t.Fatalf("%s: %v", statement, err)
					}
				}
				var broken []string
				for _, o := range d.Check(ctx, all, true, nil) {
					if o.Err != nil {
						t.Errorf("condition %s: %v", o.Name, o.Err)
					}
					if o.Broken() {
						broken = append(broken, strings.TrimPrefix(o.Name, "3.3.2."))
					}
				}
				if got := strings.Join(broken, " "); got != c.breaks {
					t.Errorf("%s: conditions %s are broken, want %s", c.name, got, c.breaks)
				}
				for _, statement := range c.undo {
					if err := d.Exec(ctx, statement); err != nil {
						t.Fatalf("%s: %v", statement, err)
					}
				}
			}
		})
	}
}

// violations break conditions, each at least once alone or with those that speak of the same column.
var violations = []struct {
	name     string
	do, undo []string
	breaks   string
}{
	{"a warehouse's year", []string{"UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2"},
		[]string{"UPDATE warehouse SET w_ytd = w_ytd - 1 WHERE w_id = 2"}, "1 8"},
	{"a district's year", []string{"UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 2 AND d_id = 3"},
		[]string{"UPDATE district SET d_ytd = d_ytd - 1 WHERE d_w_id = 2 AND d_id = 3"}, "1 9"},
	{"both years", []string{"UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 2 AND d_id = 3",
		"UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2"},
		[]string{"UPDATE district SET d_ytd = d_ytd - 1 WHERE d_w_id = 2 AND d_id = 3",
			"UPDATE warehouse SET w_ytd = w_ytd - 1 WHERE w_id = 2"}, "8 9"},
	{"the next order", []string{"UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 10"},
		[]string{"UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_w_id = 1 AND d_id = 10"}, "2"},
	{"a hole in new_order", []string{"DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 25"},
		[]string{"INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (1, 1, 25)"}, "3 5 11"},
	{"a carrier of an open order", []string{
		"UPDATE orders SET o_carrier_id = 3 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 25"},
		[]string{"UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 25"}, "5 7"},
	{"the number of lines", []string{"UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 4"},
		[]string{"UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 4"}, "4 6"},
	{"lines of two orders", []string{
		"UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 4",
		"UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 5"},
		[]string{"UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 4",
			"UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 5"}, "6"},
	{"amounts of delivered lines", []string{
		"UPDATE order_line SET ol_amount = 7 WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1"},
		[]string{"UPDATE order_line SET ol_amount = 0 WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1"},
		"10 12"},
	{"a delivery date that is missing", []string{
		"UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1"},
		[]string{"UPDATE order_line SET ol_delivery_d = (SELECT o_entry_d FROM orders WHERE o_w_id = 1 AND o_d_id = 1 AND " +
			"o_id = 1) WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1"}, "7"},
	{"a payment's amount", []string{"UPDATE history SET h_amount = 11 WHERE h_c_w_id = 2 AND h_c_d_id = 5 AND h_c_id = 6"},
		[]string{"UPDATE history SET h_amount = 10 WHERE h_c_w_id = 2 AND h_c_d_id = 5 AND h_c_id = 6"}, "8 9 10"},
	{"a balance", []string{"UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 2 AND c_d_id = 5 AND c_id = 6"},
		[]string{"UPDATE customer SET c_balance = c_balance - 1 WHERE c_w_id = 2 AND c_d_id = 5 AND c_id = 6"}, "10 12"},
	{"a customer's payments", []string{
		"UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 2 AND c_d_id = 5 AND c_id = 6"},
		[]string{"UPDATE customer SET c_ytd_payment = c_ytd_payment - 1 WHERE c_w_id = 2 AND c_d_id = 5 AND c_id = 6"}, "12"},
	{"an order that was delivered properly", []string{
		"DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 22",
		"UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 22",
		"UPDATE order_line SET ol_delivery_d = (SELECT o_entry_d FROM orders WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1), " +
			"ol_amount = 0 WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 22"}, nil, "11"},
}

func init() { script.Register(Language{Now: time.Now}) }
