package tpcc

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/dialect/tpc"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// sent is a request of a transaction.
type sent struct {
	name string
	args []gen.Value
}

// trace is a transaction as the server sees it, and how it ends.
type trace struct {
	home     int64
	requests []sent
	end      script.Step
	rest     float64 // the think time, as a multiple of its mean
}

// find returns the arguments of the requests whose names begin with a text.
func (c *trace) find(name string) (all [][]gen.Value) {
	for _, r := range c.requests {
		if strings.HasPrefix(r.name, name) {
			all = append(all, r.args)
		}
	}
	return all
}

// traces runs transactions of one kind by one terminal, with a server that answers as fail says.
func traces(t *testing.T, p *program, k Kind, n int, fail func(string, []gen.Value) *protocol.Failure) (all []trace) {
	t.Helper()
	s := p.Session(0).(*session)
	for i := range uint64(n) {
		v := &server{p: p, fail: fail}
		end := v.run(t, s, s.Begin(p.of[k], i))
		one := trace{home: s.terminalWarehouse, end: end}
		for j, name := range v.requests {
			one.requests = append(one.requests, sent{name, v.args[j]})
		}
		one.rest = float64(s.Rest()-profiles[s.next].keying) / float64(profiles[k].think)
		all = append(all, one)
	}
	return all
}

// rule is something that TPC-C wants, as it can be seen from outside: of transactions of one kind that a server has
// received.
type rule struct {
	name  string
	kind  Kind
	fail  func(string, []gen.Value) *protocol.Failure // what the server refuses; may be nil
	count int                                         // transactions
	holds func(p *program, all []trace) bool
}

// each makes a rule about all transactions of one about each.
func each(holds func(c *trace) bool) func(*program, []trace) bool {
	return func(_ *program, all []trace) bool {
		return !slices.ContainsFunc(all, func(c trace) bool { return !holds(&c) })
	}
}

// shareOf makes a rule about a share of what is counted.
func shareOf(want float64, count func(c *trace) (part, of int)) func(*program, []trace) bool {
	return func(_ *program, all []trace) bool {
		part, of := 0, 0
		for i := range all {
			k, n := count(&all[i])
			part, of = part+k, of+n
		}
		return of > 0 && !far(part, of, want)
	}
}

// lawOf makes a rule about the law of an argument with values from 1 on, by a test of chi-square. limits are the
// number of values and A; constant is C.
func lawOf(request string, at int, a int64, limit, constant func(p *program) int64) func(*program, []trace) bool {
	exact := map[int64][]float64{} // by C
	return func(p *program, all []trace) bool {
		n := limit(p)
		seen, total := make([]int, n), 0
		for i := range all {
			for _, args := range all[i].find(request) {
				if v := args[at].I; v <= n {
					seen[v-1]++
					total++
				}
			}
		}
		chi, c := 0.0, constant(p)
		if exact[c] == nil {
			exact[c] = law(a, 1, n, c)
		}
		for i, share := range exact[c] {
			want := share * float64(total)
			chi += math.Pow(float64(seen[i])-want, 2) / want
		}
		freedom := float64(n - 1)
		return math.Abs(chi-freedom) < 6*math.Sqrt(2*freedom)
	}
}

func refuse(what string) func(string, []gen.Value) *protocol.Failure {
	return func(name string, _ []gen.Value) *protocol.Failure {
		if strings.Contains(name, what) {
			return &protocol.Failure{Class: protocol.Server, Text: "no"}
		}
		return nil
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rules are what implementations of TPC-C are known to get wrong. Conditions of the data are those of TestConditions.
var rules = []rule{
	{"remote lines use the stock of their warehouse (2.4.2.2)", NewOrder, nil, 400, each(func(c *trace) bool {
		stocks, changes, lines := c.find("stock "), c.find("change stock"), c.find("line")
		for i := range lines {
			supply := lines[i][5].I
			if stocks[i][1].I != supply || changes[i][4].I != supply || changes[i][2].I != int64(boolInt(supply != c.home)) {
				return false
			}
		}
		return true
	})},
	{"one line in a hundred is remote (2.4.1.5)", NewOrder, nil, 3000, shareOf(0.01, func(c *trace) (remote, lines int) {
		for _, args := range c.find("line") {
			lines++
			remote += boolInt(args[5].I != c.home)
		}
		return remote, lines
	})},
	{"items follow NURand with the load's C (2.1.6)", NewOrder, nil, 2000, lawOf("item", 0, 8191,
		func(p *program) int64 { return p.Items }, func(p *program) int64 { return p.Item })},
	{"customers follow NURand with the load's C (2.1.6)", NewOrder, nil, 4000, lawOf("customer", 2, 1023,
		func(p *program) int64 { return p.Customers }, func(p *program) int64 { return p.Customer })},
	{"the constants of load and data belong together (2.1.6.1)", NewOrder, nil, 0, func(p *program, _ []trace) bool {
		return allowedDistance(p.LastName - p.LastNameLoad)
	}},
	{"one order in a hundred is rolled back (2.4.1.4)", NewOrder, nil, 5000, shareOf(0.01, func(c *trace) (int, int) {
		return len(c.find("rollback")), 1
	})},
	{"an order that is rolled back handles its other lines (2.4.2.3)", NewOrder, nil, 1000, each(func(c *trace) bool {
		return len(c.find("rollback")) == 0 || len(c.find("line")) == int(c.find("order")[0][5].I)-1
	})},
	{"a ROLLBACK that fails is a failure", NewOrder, refuse("rollback"), 1000, each(func(c *trace) bool {
		return len(c.find("rollback")) == 0 || c.end.Failure.Class != protocol.OK
	})},
	{"a stock that is missing is a failure", NewOrder, refuse("/stock "), 10, each(func(c *trace) bool {
		return c.end.Failure.Class != protocol.OK && len(c.find("rollback")) == 1
	})},
	{"the district is locked before its next order is taken (3.4.1)", NewOrder, nil, 0, func(p *program, _ []trace) bool {
		return slices.ContainsFunc(p.lists[NewOrder], func(r protocol.Request) bool {
			return r.Name == "new-order/district" && strings.HasSuffix(r.Text, "FOR UPDATE")
		})
	}},
	{"60 in a hundred Payments are by last name (2.5.1.2)", Payment, nil, 2000, shareOf(0.6, func(c *trace) (int, int) {
		return len(c.find("customers of a name")), 1
	})},
	{"15 in a hundred Payments are remote (2.5.1.2)", Payment, nil, 2000, shareOf(0.15, func(c *trace) (int, int) {
		h := c.find("history")[0]
		return boolInt(h[2].I != h[4].I), 1
	})},
	{"the middle one of a name pays (2.5.2.2)", Payment, nil, 100, each(func(c *trace) bool {
		by := c.find("customer by name")
		return len(by) == 0 || by[0][3].I == 7 // of 15 customers
	})},
	{"names follow NURand with the load's C (2.1.6)", Payment, nil, 6000, func(p *program, all []trace) bool {
		seen, total, chi := map[string]int{}, 0, 0.0
		for i := range all {
			for _, args := range all[i].find("customers of a name") {
				seen[string(args[2].B)]++
				total++
			}
		}
		shares := law(255, 0, p.names()-1, p.LastName)
		for n, share := range shares {
			want := share * float64(total)
			chi += math.Pow(float64(seen[string(AppendLastName(nil, int64(n)))])-want, 2) / want
		}
		freedom := float64(len(shares) - 1)
		return math.Abs(chi-freedom) < 6*math.Sqrt(2*freedom)
	}},
	{"the data of customers with bad credit grows (2.5.2.2)", Payment, nil, 100, each(func(c *trace) bool {
		bad := c.find("pay with bad credit") // the server says that all are
		return len(bad) == 1 && strings.Count(string(bad[0][4].B), " ") == 6
	})},
	{"H_DATA is two names and four blanks (2.5.2.2)", Payment, nil, 100, each(func(c *trace) bool {
		return string(c.find("history")[0][7].B) == "BC    BC"
	})},
	{"60 in a hundred Order-Status are by last name (2.6.1.2)", OrderStatus, nil, 2000, shareOf(0.6,
		func(c *trace) (int, int) { return len(c.find("customers of a name")), 1 })},
	{"a Delivery is one transaction of ten districts (2.7.4)", Delivery, nil, 20, each(func(c *trace) bool {
		last := c.requests[len(c.requests)-1].name
		return c.requests[0].name == "begin" && last == "commit" && len(c.find("oldest")) == Districts &&
			len(c.find("commit")) == 1
	})},
	{"the mix has its least shares (5.2.3)", Payment, nil, 0, func(p *program, _ []trace) bool {
		var seen [kinds]int
		s := p.Session(0).(*session)
		const n = 23 * 100
		for i := range uint64(n) {
			seen[p.kinds[s.Choose(i)]]++
		}
		for k := range kinds {
			if least := profiles[k].least / 100; float64(seen[k]) < n*least {
				return false
			}
		}
		return true
	}},
	{"terminals think (5.2.5.4)", Payment, nil, 2000, func(_ *program, all []trace) bool {
		sum := 0.0
		for i := range all {
			sum += all[i].rest
		}
		return math.Abs(sum/float64(len(all))-1) < 5/math.Sqrt(float64(len(all)))
	}},
}

// broken returns the names of the rules that a program breaks whose transactions of a kind are changed by alter.
func broken(t *testing.T, p *program, only string, alter func(*trace)) (names []string) {
	t.Helper()
	for _, r := range rules {
		if only != "" && r.name != only {
			continue
		}
		all := traces(t, p, r.kind, r.count, r.fail)
		for i := range all {
			if alter != nil {
				alter(&all[i])
			}
		}
		if !r.holds(p, all) {
			names = append(names, r.name)
		}
	}
	return names
}

// drop removes requests.
func (c *trace) drop(is func(name string) bool) {
	c.requests = slices.DeleteFunc(c.requests, func(r sent) bool { return is(r.name) })
}

// change changes the arguments of requests.
func change(name string, f func(c *trace, args []gen.Value)) func(*trace) {
	return func(c *trace) {
		for _, args := range c.find(name) {
			f(c, args)
		}
	}
}

// cheats are what implementations were found to do, planted into ours; see TestCheats.
var cheats = []struct {
	name    string
	caught  string // the beginning of the rule's name
	program func(p *program)
	trace   func(c *trace)
}{
	{"the home warehouse's stock for remote lines", "remote lines use", nil, func(c *trace) {
		change("stock ", func(c *trace, a []gen.Value) { a[1].SetInt(c.home) })(c)
		change("change stock", func(c *trace, a []gen.Value) { a[4].SetInt(c.home) })(c)
	}},
	{"remote lines that aren't counted as such", "remote lines use", nil,
		change("change stock", func(_ *trace, a []gen.Value) { a[2].SetInt(0) })},
	{"no remote lines", "one line in a hundred", func(p *program) { p.warehouses = 1 }, nil},
	{"uniform items", "items follow", nil, uniform("item", 0, 1000)},
	{"items by another C than the program says", "items follow", nil,
		change("item", func(_ *trace, a []gen.Value) { a[0].SetInt((a[0].I+499)%1000 + 1) })},
	{"uniform customers", "customers follow", nil, uniform("customer", 2, 300)},
	{"a constant of the clock's", "the constants", func(p *program) { p.LastName = p.LastNameLoad + 8 }, nil},
	{"the constant of the data", "the constants", func(p *program) { p.LastName = p.LastNameLoad }, nil},
	{"no order is rolled back", "one order in a hundred", nil,
		func(c *trace) { c.drop(func(name string) bool { return name == "rollback" }) }},
	{"a rollback before the other lines", "an order that is rolled back", nil, func(c *trace) {
		if len(c.find("rollback")) > 0 {
			c.drop(func(name string) bool { return name == "line" })
		}
	}},
	{"a failed rollback that counts as success", "a ROLLBACK that fails", nil,
		func(c *trace) { c.end.Failure = protocol.Failure{} }},
	{"a missing stock that is skipped", "a stock that is missing", nil,
		func(c *trace) { c.end.Failure = protocol.Failure{} }},
	{"no lock on the next order's number", "the district is locked", func(p *program) {
		for i := range p.lists[NewOrder] {
			r := &p.lists[NewOrder][i]
			r.Text = strings.TrimSuffix(r.Text, " FOR UPDATE")
		}
	}, nil},
	{"all Payments by number", "60 in a hundred Payments", nil,
		func(c *trace) { c.drop(func(name string) bool { return name == "customers of a name" }) }},
	{"no remote Payments", "15 in a hundred", func(p *program) { p.warehouses = 1 }, nil},
	{"the first one of a name", "the middle one", nil,
		change("customer by name", func(_ *trace, a []gen.Value) { a[3].SetInt(0) })},
	{"uniform names", "names follow", nil, func() func(*trace) {
		r := gen.NewStream(1, "uniform").At(0)
		return change("customers of a name", func(_ *trace, a []gen.Value) {
			a[2].SetString(string(AppendLastName(nil, r.Between(0, 299))))
		})
	}()},
	{"names by the constant of the data", "names follow", nil, func() func(*trace) {
		r := gen.NewStream(2, "names").At(0)
		return change("customers of a name", func(_ *trace, a []gen.Value) {
			a[2].SetString(string(AppendLastName(nil, r.NURand(255, 0, 299, 20))))
		})
	}()},
	{"bad credit without its data", "the data of customers", nil,
		func(c *trace) { c.drop(func(name string) bool { return name == "pay with bad credit" }) }},
	{"H_DATA without blanks", "H_DATA", nil,
		change("history", func(_ *trace, a []gen.Value) { a[7].SetString("BCBC") })},
	{"all Order-Status by number", "60 in a hundred Order-Status", nil,
		func(c *trace) { c.drop(func(name string) bool { return name == "customers of a name" }) }},
	{"a Delivery of a transaction for each district", "a Delivery is one", nil, func(c *trace) {
		var all []sent
		for _, r := range c.requests {
			if all = append(all, r); r.name == "customer" {
				all = append(all, sent{"commit", nil}, sent{"begin", nil})
			}
		}
		c.requests = all
	}},
	{"a Delivery of one district", "a Delivery is one", nil, func(c *trace) {
		seen := 0
		c.drop(func(name string) bool {
			seen += boolInt(name == "oldest")
			return name == "oldest" && seen > 1
		})
	}},
	{"no think times", "terminals think", func(p *program) { p.think = false }, nil},
	{"a mix of its own", "the mix", func(p *program) {
		p.deck, p.weights, p.total = false, [kinds]float64{60, 28, 4, 4, 4}, 100
	}, nil},
	{"half the think times", "terminals think", nil, func(c *trace) { c.rest /= 2 }},
}

// uniform replaces an argument by one that is uniform.
func uniform(request string, at int, limit int64) func(*trace) {
	r := gen.NewStream(1, "uniform").At(0)
	return change(request, func(_ *trace, a []gen.Value) { a[at].SetInt(r.Between(1, limit)) })
}

// Our program breaks no rule. Each cheat breaks the rule that it is about, so that a test fails for a program that has
// it.
func TestCheats(t *testing.T) {
	if names := broken(t, compile(t, nil), "", nil); len(names) > 0 {
		t.Errorf("without a cheat, it breaks %q", names)
	}
	tried := map[string]bool{}
	for _, c := range cheats {
		t.Run(c.name, func(t *testing.T) {
			i := slices.IndexFunc(rules, func(r rule) bool { return strings.HasPrefix(r.name, c.caught) })
			p := compile(t, nil)
			if c.program != nil {
				c.program(p)
			}
			if names := broken(t, p, rules[i].name, c.trace); len(names) == 0 {
				t.Errorf("the rule %q isn't broken", rules[i].name)
			}
			tried[rules[i].name] = true
		})
	}
	for _, r := range rules {
		if !tried[r.name] {
			t.Errorf("no cheat breaks the rule %q", r.name)
		}
	}
}

// dataRules are what implementations are known to get wrong in the population (clause 4.3.3.1), besides what the
// conditions of consistency tell.
var dataRules = []struct {
	name  string
	table int
	holds func(c *rowsOf) bool
}{
	{"middle names are OE", customer, func(c *rowsOf) bool {
		return c.count("c_middle", func(v gen.Value) bool { return string(v.B) == "OE" }) == len(c.rows)
	}},
	{"a tenth of the customers has bad credit", customer, func(c *rowsOf) bool {
		return c.count("c_credit", func(v gen.Value) bool { return string(v.B) == "BC" }) == len(c.rows)/10
	}},
	{"each of the first names is there", customer, func(c *rowsOf) bool {
		seen := map[string]bool{}
		c.count("c_last", func(v gen.Value) bool { seen[string(v.B)] = true; return false })
		return len(seen) == 30
	}},
	{"a tenth of the items is marked", item, func(c *rowsOf) bool {
		marked := c.count("i_data", func(v gen.Value) bool { return strings.Contains(string(v.B), "ORIGINAL") })
		return marked == len(c.rows)/10
	}},
	{"amounts are 0 exactly in delivered lines", orderLine, func(c *rowsOf) bool {
		amount, delivered := column(c.t, c.table, "ol_amount"), column(c.t, c.table, "ol_delivery_d")
		return !slices.ContainsFunc(c.rows, func(v []gen.Value) bool {
			return (v[amount].I == 0) != (v[delivered].Kind != gen.Null)
		})
	}},
}

// dataCheats are planted into our population; see TestCheatsOfData.
var dataCheats = []struct {
	name, caught, column string
	alter                func(v *gen.Value)
}{
	{"middle names as random as the others", "middle names", "c_middle", func(v *gen.Value) { v.SetString("Qx") }},
	{"no middle names", "middle names", "c_middle", func(v *gen.Value) { v.SetString("") }},
	{"good credit for all", "a tenth of the customers", "c_credit", func(v *gen.Value) { v.SetString("GC") }},
	{"one last name", "each of the first names", "c_last", func(v *gen.Value) { v.SetString("BARBARBAR") }},
	{"items without a mark", "a tenth of the items", "i_data", func(v *gen.Value) { v.SetString("data") }},
	{"amounts the other way round", "amounts are 0", "ol_amount", func(v *gen.Value) {
		v.SetInt(int64(boolInt(v.I == 0)))
	}},
}

// rowsOf are all rows of a table.
type rowsOf struct {
	t     *testing.T
	table *tpc.Table
	rows  [][]gen.Value
}

// count returns how many values of a column are so.
func (c *rowsOf) count(name string, is func(gen.Value) bool) (n int) {
	at := column(c.t, c.table, name)
	for _, v := range c.rows {
		n += boolInt(is(v[at]))
	}
	return n
}

// Our population breaks no rule, and each cheat breaks the rule that it is about.
func TestCheatsOfData(t *testing.T) {
	sizes, err := Shrunk(100)
	if err != nil {
		t.Fatal(err)
	}
	all := NewPopulation(5, sizes, 1, 1, date).Tables()
	read := func(table int) *rowsOf {
		c := &rowsOf{t: t, table: &all[table]}
		for i := range all[table].Rows {
			values := newRow(&all[table])
			all[table].Row(values, i)
			c.rows = append(c.rows, values)
		}
		return c
	}
	for _, r := range dataRules {
		if !r.holds(read(r.table)) {
			t.Errorf("without a cheat: %q is broken", r.name)
		}
		tried := false
		for _, cheat := range dataCheats {
			if !strings.HasPrefix(r.name, cheat.caught) {
				continue
			}
			tried = true
			c := read(r.table)
			at := column(t, c.table, cheat.column)
			for _, v := range c.rows {
				cheat.alter(&v[at])
			}
			if r.holds(c) {
				t.Errorf("%s: the rule %q isn't broken", cheat.name, r.name)
			}
		}
		if !tried {
			t.Errorf("no cheat breaks the rule %q", r.name)
		}
	}
}

// quotesTpmC reports whether a report calls its figure tpmC, or compares it with what TPC-C makes possible.
func quotesTpmC(f *figures) bool {
	return slices.ContainsFunc(f.head().Rows, func(row []cell.Cell) bool {
		return row[0].String() == "tpmC" || row[0].String() == f.say("share of the possible")
	})
}

// The figure of a variant isn't called tpmC, by which variant and in which language ever; only that of TPC-C is.
func TestVariantsHaveNoTpmC(t *testing.T) {
	extra := func(flags *runFlags, sizes Sizes) map[string]string {
		p := &plan.Plan{Scripts: plan.Scripts{Options: map[string]string{optionWarehouses: "2"}}}
		return flags.extra(p, &Data{Sizes: sizes}, "PostgreSQL 15.1")
	}
	whole, fewer := Full(), Sizes{Items: 1000, Customers: 30}
	variants := []struct {
		name  string
		extra map[string]string
	}{
		{"no think times", extra(&runFlags{mix: "deck", noThink: true}, whole)},
		{"a rate", extra(&runFlags{mix: "deck", RunFlags: tpc.RunFlags{Rate: 100}}, whole)},
		{"fewer items", extra(&runFlags{mix: "deck"}, fewer)},
		{"few Payments", extra(&runFlags{mix: "46,42,4,4,4"}, whole)},
		{"no Delivery", extra(&runFlags{mix: "45,47,4,0,4"}, whole)},
		{"a plan", nil},
	}
	for _, language := range []units.Language{units.English, units.Russian} {
		for _, v := range variants {
			f := minuteOf(v.extra)
			if f.language = language; f.variant() == "" || quotesTpmC(f) {
				t.Errorf("%s: the variant is %q, and its report has tpmC: %v", v.name, f.variant(), quotesTpmC(f))
			}
		}
		// The rule is no empty one: the same record without a difference breaks it, as a cheat's would.
		f := minuteOf(extra(&runFlags{mix: "45,43,4,4,4"}, whole))
		if f.language = language; f.variant() != "" || !quotesTpmC(f) {
			t.Errorf("the report of TPC-C has no tpmC, or is called a variant: %q", f.variant())
		}
	}
}

// minuteOf returns the figures of a record of a minute.
func minuteOf(extra map[string]string) *figures {
	return newFigures(&record.Run{DurationNs: int64(time.Minute), Extra: extra})
}
