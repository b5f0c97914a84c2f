package tpcc

import "brunt/internal/dialect/tpc"

// address returns the columns of an address (clause 1.3.1).
func address(prefix string) []tpc.Column {
	return []tpc.Column{{Name: prefix + "_street_1", Type: tpc.Text, Size: 20},
		{Name: prefix + "_street_2", Type: tpc.Text, Size: 20}, {Name: prefix + "_city", Type: tpc.Text, Size: 20},
		{Name: prefix + "_state", Type: tpc.Char, Size: 2}, {Name: prefix + "_zip", Type: tpc.Char, Size: 9}}
}

func ints(names ...string) (out []tpc.Column) {
	for _, n := range names {
		out = append(out, tpc.Column{Name: n})
	}
	return out
}

func join(parts ...[]tpc.Column) (out []tpc.Column) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// schema returns the nine tables (clause 1.3.1). Keys begin with the warehouse. Table order is called orders, because
// the word is reserved.
func schema() []tpc.Table {
	out := make([]tpc.Table, tables)
	out[warehouse] = tpc.Table{Keys: []string{"w_id"}, Columns: join(ints("w_id"),
		[]tpc.Column{{Name: "w_name", Type: tpc.Text, Size: 10}}, address("w"),
		[]tpc.Column{{Name: "w_tax", Type: tpc.Fraction, Size: 4}, {Name: "w_ytd", Type: tpc.Money, Size: 12}})}
	out[districtTable] = tpc.Table{Keys: []string{"d_w_id", "d_id"}, Columns: join(ints("d_w_id", "d_id"),
		[]tpc.Column{{Name: "d_name", Type: tpc.Text, Size: 10}}, address("d"),
		[]tpc.Column{{Name: "d_tax", Type: tpc.Fraction, Size: 4}, {Name: "d_ytd", Type: tpc.Money, Size: 12}},
		ints("d_next_o_id"))}
	out[customer] = tpc.Table{Keys: []string{"c_w_id", "c_d_id", "c_id"}, Columns: join(
		ints("c_w_id", "c_d_id", "c_id"),
		[]tpc.Column{{Name: "c_last", Type: tpc.Text, Size: 16}, {Name: "c_middle", Type: tpc.Char, Size: 2},
			{Name: "c_first", Type: tpc.Text, Size: 16}}, address("c"),
		[]tpc.Column{{Name: "c_phone", Type: tpc.Char, Size: 16}, {Name: "c_since", Type: tpc.Date},
			{Name: "c_credit", Type: tpc.Char, Size: 2}, {Name: "c_credit_lim", Type: tpc.Money, Size: 12},
			{Name: "c_discount", Type: tpc.Fraction, Size: 4}, {Name: "c_balance", Type: tpc.Money, Size: 12},
			{Name: "c_ytd_payment", Type: tpc.Money, Size: 12}},
		ints("c_payment_cnt", "c_delivery_cnt"), []tpc.Column{{Name: "c_data", Type: tpc.Text, Size: 500}}),
		Indexes: []tpc.Index{{Name: "customer_name", Columns: []string{"c_w_id", "c_d_id", "c_last", "c_first"}}}}
	out[history] = tpc.Table{Needed: "h_id", Columns: join(ints("h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id"),
		[]tpc.Column{{Name: "h_date", Type: tpc.Date}, {Name: "h_amount", Type: tpc.Money, Size: 6},
			{Name: "h_data", Type: tpc.Text, Size: 24}})}
	out[newOrder] = tpc.Table{Keys: []string{"no_w_id", "no_d_id", "no_o_id"},
		Columns: ints("no_w_id", "no_d_id", "no_o_id")}
	out[orders] = tpc.Table{Keys: []string{"o_w_id", "o_d_id", "o_id"}, Columns: join(
		ints("o_w_id", "o_d_id", "o_id", "o_c_id"),
		[]tpc.Column{{Name: "o_entry_d", Type: tpc.Date}, {Name: "o_carrier_id", Null: true}},
		ints("o_ol_cnt", "o_all_local")),
		Indexes: []tpc.Index{{Name: "orders_customer", Columns: []string{"o_w_id", "o_d_id", "o_c_id", "o_id"}}}}
	out[orderLine] = tpc.Table{Keys: []string{"ol_w_id", "ol_d_id", "ol_o_id", "ol_number"}, Columns: join(
		ints("ol_w_id", "ol_d_id", "ol_o_id", "ol_number", "ol_i_id", "ol_supply_w_id"),
		[]tpc.Column{{Name: "ol_delivery_d", Type: tpc.Date, Null: true}}, ints("ol_quantity"),
		[]tpc.Column{{Name: "ol_amount", Type: tpc.Money, Size: 6}, {Name: "ol_dist_info", Type: tpc.Char, Size: 24}})}
	out[item] = tpc.Table{Keys: []string{"i_id"}, Columns: join(ints("i_id", "i_im_id"),
		[]tpc.Column{{Name: "i_name", Type: tpc.Text, Size: 24}, {Name: "i_price", Type: tpc.Money, Size: 5},
			{Name: "i_data", Type: tpc.Text, Size: 50}})}
	dists := []tpc.Column{}
	for _, d := range distColumns() {
		dists = append(dists, tpc.Column{Name: d, Type: tpc.Char, Size: 24})
	}
	out[stock] = tpc.Table{Keys: []string{"s_w_id", "s_i_id"}, Columns: join(ints("s_w_id", "s_i_id", "s_quantity"),
		dists, ints("s_ytd", "s_order_cnt", "s_remote_cnt"), []tpc.Column{{Name: "s_data", Type: tpc.Text, Size: 50}})}
	for i := range out {
		out[i].Name = tableNames[i]
	}
	return out
}

// distColumns are the columns of stock with a text for each district.
func distColumns() []string {
	return []string{"s_dist_01", "s_dist_02", "s_dist_03", "s_dist_04", "s_dist_05", "s_dist_06", "s_dist_07", "s_dist_08",
		"s_dist_09", "s_dist_10"}
}
