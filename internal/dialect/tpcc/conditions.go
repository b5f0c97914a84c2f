package tpcc

import (
	"strconv"

	"brunt/internal/dialect/tpc"
)

// different is the condition that two amounts differ. Systems without decimals compare doubles.
func different(a, b string) string { return "ABS(" + a + " - (" + b + ")) > 0.005" }

// Conditions returns the consistency conditions of clauses 3.3.2.1 to 3.3.2.12. Their queries use what all systems
// have. Condition 11 holds on fresh data only, since deliveries change its left side and not its right one. sizes say
// how many orders have been delivered there.
func Conditions(sizes Sizes) []tpc.Condition {
	delivered := itoa(sizes.delivered())
	return []tpc.Condition{
		{
			Name: "3.3.2.1", Says: "w_ytd = sum(d_ytd)", Columns: []string{"warehouse", "w_ytd", "sum(d_ytd)"},
			Query: "SELECT w_id, w_ytd, ytd FROM warehouse LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS ytd FROM district " +
				"GROUP BY d_w_id) AS d ON d_w_id = w_id WHERE ytd IS NULL OR " + different("w_ytd", "ytd"),
		},
		{
			Name: "3.3.2.2", Says: "d_next_o_id - 1 = max(o_id) = max(no_o_id)",
			Columns: []string{"warehouse", "district", "d_next_o_id", "max(o_id)", "max(no_o_id)"},
			Query: "SELECT d_w_id, d_id, d_next_o_id, last_o, last_no FROM district LEFT JOIN (SELECT o_w_id, o_d_id, " +
				"MAX(o_id) AS last_o FROM orders GROUP BY o_w_id, o_d_id) AS o ON o_w_id = d_w_id AND o_d_id = d_id " +
				"LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last_no FROM new_order GROUP BY no_w_id, no_d_id) AS n " +
				"ON no_w_id = d_w_id AND no_d_id = d_id WHERE last_o IS NULL OR d_next_o_id - 1 <> last_o OR " +
				"d_next_o_id - 1 <> last_no",
		},
		{
			Name: "3.3.2.3", Says: "max(no_o_id) - min(no_o_id) + 1 = number of new orders",
			Columns: []string{"warehouse", "district", "max(no_o_id)", "min(no_o_id)", "new orders"},
			Query: "SELECT no_w_id, no_d_id, MAX(no_o_id), MIN(no_o_id), COUNT(*) FROM new_order GROUP BY no_w_id, no_d_id " +
				"HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
		},
		{
			Name: "3.3.2.4", Says: "sum(o_ol_cnt) = number of order lines",
			Columns: []string{"warehouse", "district", "sum(o_ol_cnt)", "order lines"},
			Query: "SELECT o_w_id, o_d_id, said, there FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS said FROM orders GROUP " +
				"BY o_w_id, o_d_id) AS o LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS there FROM order_line GROUP BY ol_w_id, " +
				"ol_d_id) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE there IS NULL OR said <> there",
		},
		{
			// Each order has one row at most in new_order, so that the three counts are equal only if the rows correspond.
			Name: "3.3.2.5", Says: "o_carrier_id is null exactly if the order is in new_order",
			Columns: []string{"warehouse", "district", "without a carrier", "in new_order", "both"},
			Query: "SELECT d_w_id, d_id, n_open, n_fresh, n_both FROM district LEFT JOIN (SELECT o_w_id, o_d_id, COUNT(*) AS n_open " +
				"FROM orders WHERE o_carrier_id IS NULL GROUP BY o_w_id, o_d_id) AS o ON o_w_id = d_w_id AND o_d_id = d_id " +
				"LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) AS n_fresh FROM new_order GROUP BY no_w_id, no_d_id) AS n " +
				"ON no_w_id = d_w_id AND no_d_id = d_id LEFT JOIN (SELECT no_w_id AS b_w_id, no_d_id AS b_d_id, COUNT(*) AS n_both " +
				"FROM new_order INNER JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id WHERE o_carrier_id " +
				"IS NULL GROUP BY no_w_id, no_d_id) AS b ON b_w_id = d_w_id AND b_d_id = d_id WHERE COALESCE(n_open, 0) <> " +
				"COALESCE(n_fresh, 0) OR COALESCE(n_open, 0) <> COALESCE(n_both, 0)",
		},
		{
			Name: "3.3.2.6", Says: "o_ol_cnt = number of the order's lines",
			Columns: []string{"warehouse", "district", "order", "o_ol_cnt", "order lines"},
			Query: "SELECT o_w_id, o_d_id, o_id, o_ol_cnt, there FROM orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, " +
				"COUNT(*) AS there FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l ON ol_w_id = o_w_id AND ol_d_id = " +
				"o_d_id AND ol_o_id = o_id WHERE there IS NULL OR o_ol_cnt <> there",
		},
		{
			Name: "3.3.2.7", Says: "ol_delivery_d is null exactly if the order's o_carrier_id is",
			Columns: []string{"warehouse", "district", "order", "line"},
			Query: "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number FROM order_line LEFT JOIN orders ON o_w_id = ol_w_id AND " +
				"o_d_id = ol_d_id AND o_id = ol_o_id WHERE o_id IS NULL OR (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) " +
				"OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)",
		},
		{
			Name: "3.3.2.8", Says: "w_ytd = sum(h_amount)", Columns: []string{"warehouse", "w_ytd", "sum(h_amount)"},
			Query: "SELECT w_id, w_ytd, paid FROM warehouse LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS paid FROM history " +
				"GROUP BY h_w_id) AS h ON h_w_id = w_id WHERE paid IS NULL OR " + different("w_ytd", "paid"),
		},
		{
			Name: "3.3.2.9", Says: "d_ytd = sum(h_amount)",
			Columns: []string{"warehouse", "district", "d_ytd", "sum(h_amount)"},
			Query: "SELECT d_w_id, d_id, d_ytd, paid FROM district LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid " +
				"FROM history GROUP BY h_w_id, h_d_id) AS h ON h_w_id = d_w_id AND h_d_id = d_id WHERE paid IS NULL OR " +
				different("d_ytd", "paid"),
		},
		{
			Name: "3.3.2.10", Says: "c_balance = sum(ol_amount) of delivered lines - sum(h_amount)",
			Columns: []string{"warehouse", "district", "customer", "c_balance", "sum(ol_amount)", "sum(h_amount)"},
			Query: "SELECT c_w_id, c_d_id, c_id, c_balance, owed, paid FROM customer " + owed +
				"LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, " +
				"h_c_id) AS h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id WHERE " +
				different("c_balance", "COALESCE(owed, 0) - COALESCE(paid, 0)"),
		},
		{
			Name: "3.3.2.11", Says: "number of orders - number of new orders = " + delivered, Fresh: true,
			Columns: []string{"warehouse", "district", "orders", "new orders"},
			Query: "SELECT o_w_id, o_d_id, ordered, n_fresh FROM (SELECT o_w_id, o_d_id, COUNT(*) AS ordered FROM orders GROUP BY " +
				"o_w_id, o_d_id) AS o LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) AS n_fresh FROM new_order GROUP BY no_w_id, " +
				"no_d_id) AS n ON no_w_id = o_w_id AND no_d_id = o_d_id WHERE ordered - COALESCE(n_fresh, 0) <> " + delivered,
		},
		{
			Name: "3.3.2.12", Says: "c_balance + c_ytd_payment = sum(ol_amount) of delivered lines",
			Columns: []string{"warehouse", "district", "customer", "c_balance", "c_ytd_payment", "sum(ol_amount)"},
			Query: "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, owed FROM customer " + owed + "WHERE " +
				different("c_balance + c_ytd_payment", "COALESCE(owed, 0)"),
		},
	}
}

// owed joins customers with the amounts of their delivered order lines.
const owed = "LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS owed FROM orders INNER JOIN order_line ON " +
	"ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, " +
	"o_c_id) AS o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id "

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
