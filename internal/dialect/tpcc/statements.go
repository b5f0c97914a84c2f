package tpcc

import (
	"fmt"

	"brunt/internal/dialect/tpc"
	"brunt/internal/protocol"
)

// statements are the requests of the transactions. Fields are indexes into the lists of their transactions.
type statements struct {
	lists [kinds][]protocol.Request
	frame [kinds]struct{ begin, commit, rollback int }

	newOrder struct {
		warehouse, district, next, customer, order, fresh, item, change, line int
		stock                                                                 [Districts]int
	}
	payment struct {
		payWarehouse, warehouse, payDistrict, district int
		count, byName, firstAfter, byFirst, byID       int
		data, pay, payBad, history                     int
	}
	status struct {
		count, byName, firstAfter, byFirst, byID, last, lines int
	}
	delivery struct {
		oldest, remove, order, carrier, lines, sum, customer int
	}
	level struct{ next, count int }
}

// newStatements writes the statements for a system.
func newStatements(system protocol.Flavor, isolation string) (s statements) {
	for k, build := range map[Kind]func(*tpc.Statements){
		NewOrder: s.buildNewOrder, Payment: s.buildPayment, OrderStatus: s.buildStatus, Delivery: s.buildDelivery,
		StockLevel: s.buildLevel,
	} {
		b := &tpc.Statements{Flavor: system}
		f := &s.frame[k]
		f.begin, f.commit, f.rollback = b.Frame(profiles[k].name, levelOf(k, system, isolation))
		build(b)
		s.lists[k] = b.List
	}
	return s
}

// levelOf returns the isolation level of a transaction; "" is the server's. With auto, Stock-Level may see what others
// change between its statements (clause 3.4.1), and Order-Status sees one state. The other transactions lock the rows
// that they read and then change. On PostgreSQL this suffices at read committed: no transaction changes what they read
// besides. A higher level would fail the transactions that wait for a lock, since the row was changed after they began.
// MySQL's repeatable read doesn't: reads that lock see the latest rows.
func levelOf(k Kind, system protocol.Flavor, isolation string) string {
	switch {
	case isolation == "default":
		return ""
	case k == StockLevel && isolation != "":
		return "read committed"
	case isolation != isolationAuto && isolation != "":
		return isolation
	case system == protocol.FlavorPostgreSQL && k != OrderStatus:
		return "read committed"
	}
	return "repeatable read"
}

// isolationAuto is the usual isolation; see levelOf.
const isolationAuto = "auto"

// buildNewOrder: clause 2.4.2.2.
func (s *statements) buildNewOrder(b *tpc.Statements) {
	q, lock := &s.newOrder, tpc.ForUpdate(b.Flavor)
	q.warehouse = b.Add("new-order/warehouse", "SELECT w_tax FROM warehouse WHERE w_id = $1", "i", "")
	q.district = b.Add("new-order/district", "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = $1 AND d_id = $2"+lock,
		"ii", "i")
	q.next = b.Add("new-order/next order",
		"UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2", "ii", "")
	q.customer = b.Add("new-order/customer",
		"SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3", "iii", "")
	q.order = b.Add("new-order/order", "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) "+
		"VALUES ($1, $2, $3, $4, $5, $6, $7)", "iiiitii", "")
	q.fresh = b.Add("new-order/new order", "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)", "iii", "")
	q.item = b.Add("new-order/item", "SELECT i_price, i_name, i_data FROM item WHERE i_id = $1", "i", "m")
	for d, column := range distColumns() {
		q.stock[d] = b.Add(fmt.Sprintf("new-order/stock %d", d+1),
			"SELECT s_quantity, "+column+", s_data FROM stock WHERE s_i_id = $1 AND s_w_id = $2"+lock, "ii", "is")
	}
	q.change = b.Add("new-order/change stock", "UPDATE stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = "+
		"s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $3 WHERE s_i_id = $4 AND s_w_id = $5", "iiiii", "")
	q.line = b.Add("new-order/line", "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, "+
		"ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)", "iiiiiiims", "")
}

// who finds a customer by a last name, in the order of first names (clause 2.5.2.2, case 2): how many have it, and
// the one at a place. Picodata has no OFFSET: there first names are read one after the other.
type who struct{ count, byName, firstAfter, byFirst, byID int }

const byCustomer = "c_w_id = $1 AND c_d_id = $2 AND c_id = $3"

func findCustomer(b *tpc.Statements, name, columns, captures string) (w who) {
	w = who{byName: -1, firstAfter: -1, byFirst: -1}
	from := " FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3"
	w.count = b.Add(name+"/customers of a name", "SELECT COUNT(*)"+from, "iis", "i")
	if b.Flavor == protocol.FlavorPicodata {
		w.firstAfter = b.Add(name+"/first name", "SELECT MIN(c_first)"+from+" AND c_first > $4", "iiss", "s")
		w.byFirst = b.Add(name+"/customer by names", "SELECT c_id, "+columns+from+" AND c_first = $4", "iiss", "i"+captures)
	} else {
		w.byName = b.Add(name+"/customer by name", "SELECT c_id, "+columns+from+" ORDER BY c_first LIMIT 1 OFFSET $4", "iisi",
			"i"+captures)
	}
	w.byID = b.Add(name+"/customer", "SELECT c_id, "+columns+" FROM customer WHERE "+byCustomer, "iii", "i"+captures)
	return w
}

// buildPayment: clause 2.5.2.2.
func (s *statements) buildPayment(b *tpc.Statements) {
	q := &s.payment
	q.payWarehouse = b.Add("payment/pay warehouse", "UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2", "mi", "")
	q.warehouse = b.Add("payment/warehouse",
		"SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = $1", "i", "s")
	q.payDistrict = b.Add("payment/pay district", "UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3",
		"mii", "")
	q.district = b.Add("payment/district",
		"SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = $1 AND d_id = $2", "ii", "s")
	w := findCustomer(b, "payment", "c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, "+
		"c_phone, c_since, c_credit_lim, c_discount, c_balance", "s")
	q.count, q.byName, q.firstAfter, q.byFirst, q.byID = w.count, w.byName, w.firstAfter, w.byFirst, w.byID
	q.data = b.Add("payment/data", "SELECT c_data FROM customer WHERE "+byCustomer+tpc.ForUpdate(b.Flavor), "iii", "s")
	pay := "UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $1, c_payment_cnt = c_payment_cnt + 1"
	q.pay = b.Add("payment/pay", pay+" WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4", "miii", "")
	q.payBad = b.Add("payment/pay with bad credit", pay+", c_data = $5 WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4",
		"miiis", "")
	columns, values, params := "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data",
		"$1, $2, $3, $4, $5, $6, $7, $8", "iiiiitms"
	if historyHasKey(b.Flavor) {
		columns, values, params = columns+", h_id", values+", $9", params+"i"
	}
	q.history = b.Add("payment/history", "INSERT INTO history ("+columns+") VALUES ("+values+")", params, "")
}

// historyHasKey reports whether history has a key of its own, because a system's tables need one.
func historyHasKey(f protocol.Flavor) bool {
	all := schema()
	return len(all[history].For(f).Keys) > 0
}

// buildStatus: clause 2.6.2.2.
func (s *statements) buildStatus(b *tpc.Statements) {
	q := &s.status
	w := findCustomer(b, "order-status", "c_balance, c_first, c_middle, c_last", "")
	q.count, q.byName, q.firstAfter, q.byFirst, q.byID = w.count, w.byName, w.firstAfter, w.byFirst, w.byID
	q.last = b.Add("order-status/last order", "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND "+
		"o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1", "iii", "i")
	q.lines = b.Add("order-status/lines", "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM "+
		"order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3", "iii", "")
}

// buildDelivery: clause 2.7.4.2.
func (s *statements) buildDelivery(b *tpc.Statements) {
	q := &s.delivery
	q.oldest = b.Add("delivery/oldest", "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id "+
		"LIMIT 1"+tpc.ForUpdate(b.Flavor), "ii", "i")
	q.remove = b.Add("delivery/remove", "DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3", "iii", "")
	q.order = b.Add("delivery/order", "SELECT o_c_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3", "iii", "i")
	q.carrier = b.Add("delivery/carrier",
		"UPDATE orders SET o_carrier_id = $1 WHERE o_w_id = $2 AND o_d_id = $3 AND o_id = $4", "iiii", "")
	q.lines = b.Add("delivery/lines",
		"UPDATE order_line SET ol_delivery_d = $1 WHERE ol_w_id = $2 AND ol_d_id = $3 AND ol_o_id = $4", "tiii", "")
	q.sum = b.Add("delivery/sum", "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
		"iii", "m")
	q.customer = b.Add("delivery/customer", "UPDATE customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt "+
		"+ 1 WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4", "miii", "")
}

// buildLevel: clause 2.8.2.2.
func (s *statements) buildLevel(b *tpc.Statements) {
	q := &s.level
	q.next = b.Add("stock-level/next order", "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2", "ii", "i")
	q.count = b.Add("stock-level/count", "SELECT COUNT(DISTINCT s_i_id) FROM order_line INNER JOIN stock ON s_i_id = ol_i_id "+
		"AND s_w_id = $1 WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_quantity < $5", "iiiii", "i")
}
