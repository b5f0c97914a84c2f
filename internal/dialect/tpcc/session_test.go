package tpcc

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

func now() time.Time { return time.Unix(1_700_000_000, 0) }

func options(more map[string]string) map[string]string {
	o := map[string]string{optionSystem: "postgresql", optionWarehouses: "4", optionLastNameC: "20", optionItems: "1000",
		optionCustomers: "300"}
	for k, v := range more {
		o[k] = v
	}
	return o
}

func compile(t *testing.T, more map[string]string) *program {
	t.Helper()
	source := script.Source{Protocol: "pg", Seed: 3, Sessions: 40, Options: options(more)}
	for k := range kinds {
		source.Operations = append(source.Operations, script.Operation{Name: profiles[k].name, Text: profiles[k].name,
			Weight: profiles[k].weight})
	}
	p, err := Language{Now: now}.Compile(&source)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*program)
}

// far reports whether a share of draws is further from p than five standard deviations.
func far(k, n int, p float64) bool {
	return math.Abs(float64(k)-float64(n)*p) > 5*math.Sqrt(float64(n)*p*(1-p))
}

// What users enter has the specified shares, and item and customer numbers follow NURand with the load's constants.
func TestInputs(t *testing.T) {
	p := compile(t, nil)
	s := p.Session(17).(*session)
	const n = 60_000
	var lines, remote, rolledBack int
	lengths := [16]int{}
	items := make([]int, 1000)
	drawn := 0
	s.kind = NewOrder
	for i := range uint64(n) {
		r := p.draws[NewOrder].At(i)
		s.enter(&r)
		if s.in.warehouse != 2 {
			t.Fatalf("terminal 17 belongs to warehouse %d", s.in.warehouse)
		}
		lengths[s.in.count]++
		if s.in.rollBack {
			rolledBack++
		}
		for k, l := range s.in.lines[:s.in.count] {
			lines++
			if l.supply != 2 {
				remote++
			}
			if s.in.rollBack && k == s.in.count-1 {
				if l.item != 1001 {
					t.Fatalf("the last item of an order that is rolled back is %d", l.item)
				}
				continue
			}
			items[l.item-1]++
			drawn++
		}
	}
	if far(rolledBack, n, 0.01) || far(remote, lines, 0.01) {
		t.Errorf("%d of %d orders rolled back, %d of %d lines remote; want 1 %% each", rolledBack, n, remote, lines)
	}
	for k := 5; k <= 15; k++ {
		if far(lengths[k], n, 1./11) {
			t.Errorf("%d orders of %d lines, want %d", lengths[k], k, n/11)
		}
	}
	chi := 0.0
	for i, share := range law(8191, 1, 1000, p.Item) {
		want := share * float64(drawn)
		chi += math.Pow(float64(items[i])-want, 2) / want
	}
	if math.Abs(chi-999) > 5*math.Sqrt(2*999) {
		t.Errorf("items: chi-square is %.0f, want about 999", chi)
	}
	var byName, away, status int
	for i := range uint64(n) {
		s.kind = Payment
		r := p.draws[Payment].At(i)
		s.enter(&r)
		if s.in.byName {
			byName++
		}
		if s.in.customerWarehouse != 2 {
			away++
		}
		if s.in.cents < 100 || s.in.cents > 500_000 {
			t.Fatalf("a payment of %d cents", s.in.cents)
		}
		s.kind = OrderStatus
		r = p.draws[OrderStatus].At(i)
		s.enter(&r)
		if s.in.byName {
			status++
		}
	}
	if far(byName, n, 0.6) || far(status, n, 0.6) || far(away, n, 0.15) {
		t.Errorf("%d payments and %d status by name, %d remote of %d", byName, status, away, n)
	}
}

// Each deck has the specified cards, and the rest between two transactions is the think time of the one and the keying
// time of the other.
func TestDecksAndRests(t *testing.T) {
	p := compile(t, nil)
	s := p.Session(3).(*session)
	if s.terminalWarehouse != 4 || s.terminalDistrict != 1 {
		t.Errorf("terminal 3 is at %d, %d", s.terminalWarehouse, s.terminalDistrict)
	}
	var seen [kinds]int
	for i := range uint64(23 * 100) {
		k := p.kinds[s.Choose(i)]
		seen[k]++
		s.kind = k
		rest := s.Rest()
		next := profiles[s.next]
		if least := next.keying; rest < least || rest > least+10*profiles[k].think {
			t.Fatalf("%v after %s and before %s", rest, profiles[k].name, next.name)
		}
		if i%23 == 22 {
			for k := range kinds {
				if seen[k] != profiles[k].cards {
					t.Fatalf("deck %d has %v", i/23, seen)
				}
			}
			seen = [kinds]int{}
		}
	}
	s = compile(t, map[string]string{optionThink: "no", optionDeck: "no"}).Session(0).(*session)
	seen = [kinds]int{}
	const n = 50_000
	for i := range uint64(n) {
		s.kind = s.p.kinds[s.Choose(i)]
		seen[s.kind]++
		if d := s.Rest(); d != 0 {
			t.Fatalf("a rest of %v without think times", d)
		}
	}
	for k := range kinds {
		if far(seen[k], n, profiles[k].weight/100) {
			t.Errorf("%s: %d of %d", profiles[k].name, seen[k], n)
		}
	}
}

// server answers the requests of a session as a database would, and remembers them.
type server struct {
	p        *program
	requests []string
	args     [][]gen.Value
	fail     func(name string, args []gen.Value) *protocol.Failure
}

// run executes one transaction and returns its last step.
func (v *server) run(t *testing.T, s *session, step script.Step) script.Step {
	t.Helper()
	for range 1000 {
		if step.Move == script.End {
			return step
		}
		r := &v.p.lists[s.kind][step.Request]
		v.requests = append(v.requests, strings.TrimPrefix(r.Name, profiles[s.kind].name+"/"))
		var args []gen.Value
		for i := range step.Args {
			args = append(args, step.Args[i].Clone())
		}
		v.args = append(v.args, args)
		if len(args) != len(r.Params) {
			t.Fatalf("%s: %d arguments for %d parameters", r.Name, len(args), len(r.Params))
		}
		step = s.Answered(v.answer(r, args))
	}
	t.Fatal("the transaction doesn't end")
	return step
}

func (v *server) answer(r *protocol.Request, args []gen.Value) *protocol.Reply {
	reply := &protocol.Reply{Rows: 1, Affected: 1}
	reply.Reset(len(r.Capture))
	reply.Rows, reply.Affected = 1, 1
	if v.fail != nil {
		if f := v.fail(r.Name, args); f != nil {
			reply.Failure = *f
			return reply
		}
	}
	if strings.HasSuffix(r.Name, "/item") && args[0].I > v.p.Items {
		reply.Rows = 0
		return reply
	}
	for i, c := range r.Capture {
		switch c.Kind {
		case gen.String:
			reply.Captured[i].SetString("BC")
		case gen.Decimal:
			reply.Captured[i] = gen.Value{Kind: gen.Decimal, I: 12_34, Scale: 2}
		default:
			reply.Captured[i].SetInt(15)
		}
	}
	return reply
}

// find returns the number of a New-Order whose input satisfies a condition.
func find(t *testing.T, s *session, is func(*input) bool) uint64 {
	t.Helper()
	s.kind = NewOrder
	for i := range uint64(100_000) {
		r := s.p.draws[NewOrder].At(i)
		if s.enter(&r); is(&s.in) {
			return i
		}
	}
	t.Fatal("no such order")
	return 0
}

func count(names []string, name string) (n int) {
	for _, one := range names {
		if one == name {
			n++
		}
	}
	return n
}

// An order with an unused item handles all its other lines before it rolls back, and counts as done only if the server
// has rolled back.
func TestRollbacks(t *testing.T) {
	p := compile(t, nil)
	s := p.Session(0).(*session)
	i := find(t, s, func(in *input) bool { return in.rollBack })
	v := &server{p: p}
	end := v.run(t, s, s.Begin(p.of[NewOrder], i))
	if end.Failure.Class != protocol.OK || end.Counts[rolledBackCounter] != 1 || end.Counts[linesCounter] != 0 {
		t.Errorf("ended with %+v", end)
	}
	lines := count(v.requests, "line")
	if lines != s.in.count-1 || count(v.requests, "item") != s.in.count {
		t.Errorf("%d lines of %d were inserted, %d items read", lines, s.in.count, count(v.requests, "item"))
	}
	if last := v.requests[len(v.requests)-1]; last != "rollback" || count(v.requests, "commit") > 0 {
		t.Errorf("the last request is %s: %v", last, v.requests)
	}
	v = &server{p: p, fail: func(name string, _ []gen.Value) *protocol.Failure {
		if strings.HasSuffix(name, "rollback") {
			return &protocol.Failure{Class: protocol.Server, Text: "no"}
		}
		return nil
	}}
	if end := v.run(t, s, s.Begin(p.of[NewOrder], i)); end.Failure.Class != protocol.Server {
		t.Errorf("a failed ROLLBACK ended with %+v", end)
	}
}

// An item that is missing although it must be there is a failure, after a ROLLBACK.
func TestMissingItemsFail(t *testing.T) {
	p := compile(t, nil)
	s := p.Session(0).(*session)
	i := find(t, s, func(in *input) bool { return !in.rollBack })
	v := &server{p: p}
	p.Items = 0 // the server knows no item
	end := v.run(t, s, s.Again())
	_ = i
	if end.Failure.Class != protocol.Server || v.requests[len(v.requests)-1] != "rollback" {
		t.Errorf("ended with %+v after %v", end, v.requests)
	}
}

// Remote lines read and change the stock of the warehouse that supplies them, as a remote order.
func TestRemoteLinesUseTheirStock(t *testing.T) {
	p := compile(t, nil)
	s := p.Session(0).(*session)
	i := find(t, s, func(in *input) bool { return !in.rollBack && in.lines[0].supply != in.warehouse })
	v := &server{p: p}
	end := v.run(t, s, s.Begin(p.of[NewOrder], i))
	supply := s.in.lines[0].supply
	var read, changed, remote, lineOf, local int64
	for k, name := range v.requests {
		a := v.args[k]
		switch {
		case strings.HasPrefix(name, "stock ") && read == 0:
			read = a[1].I
		case name == "change stock" && changed == 0:
			changed, remote = a[4].I, a[2].I
		case name == "line" && lineOf == 0:
			lineOf = a[5].I
		case name == "order":
			local = a[6].I
		}
	}
	if read != supply || changed != supply || lineOf != supply || remote != 1 || local != 0 {
		t.Errorf("supplied by %d: read %d, changed %d (remote %d), line %d; all local %d", supply, read, changed, remote,
			lineOf, local)
	}
	if end.Counts[remoteLinesCounter] == 0 {
		t.Errorf("counts %v", end.Counts)
	}
}

// A transaction that is repeated sends what it sent before.
func TestRepeatsSendTheSame(t *testing.T) {
	p := compile(t, nil)
	for k := range kinds {
		s := p.Session(0).(*session)
		first, second := &server{p: p}, &server{p: p}
		first.run(t, s, s.Begin(p.of[k], 77))
		second.run(t, s, s.Again())
		for i := range first.args {
			if first.requests[i] != second.requests[i] || gen.ChecksumRow(first.args[i]) != gen.ChecksumRow(second.args[i]) {
				t.Fatalf("%s: request %d was %s %v, then %s %v", profiles[k].name, i, first.requests[i], first.args[i],
					second.requests[i], second.args[i])
			}
		}
	}
}

// A failure inside a transaction is followed by ROLLBACK, one of COMMIT isn't, and a lost connection ends it at once.
func TestFailures(t *testing.T) {
	p := compile(t, nil)
	for _, c := range []struct {
		at    string
		fatal bool
		last  string
	}{{"payment/pay district", false, "rollback"}, {"payment/commit", false, "commit"}, {"payment/begin", false, "begin"},
		{"payment/district", true, "district"}} {
		s := p.Session(0).(*session)
		v := &server{p: p, fail: func(name string, _ []gen.Value) *protocol.Failure {
			if name == c.at {
				return &protocol.Failure{Class: protocol.Retryable, Code: "40001", Fatal: c.fatal}
			}
			return nil
		}}
		end := v.run(t, s, s.Begin(p.of[Payment], 5))
		if last := v.requests[len(v.requests)-1]; end.Failure.Code != "40001" || last != c.last {
			t.Errorf("failure at %s: ended with %+v after %s", c.at, end.Failure, last)
		}
	}
}

// The middle customer of a name is at n/2, rounded up.
func TestMiddle(t *testing.T) {
	for n, want := range map[int64]int64{1: 1, 2: 1, 3: 2, 4: 2, 5: 3} {
		if got := middle(n); got != want {
			t.Errorf("the middle of %d is %d, want %d", n, got, want)
		}
	}
}

// Systems without transactions get neither BEGIN nor COMMIT, and orders that must be rolled back count as not undone.
func TestWithoutTransactions(t *testing.T) {
	for _, system := range []string{"picodata", "tarantool"} {
		p := compile(t, map[string]string{optionSystem: system})
		for k := range kinds {
			for _, r := range p.lists[k] {
				offset := system == "picodata" && strings.Contains(r.Text, "OFFSET")
				if r.Frames() || strings.Contains(r.Text, "FOR UPDATE") || offset {
					t.Errorf("%s: %s sends %s %s", system, r.Name, r.Verb.Name(), r.Text)
				}
			}
		}
		s := p.Session(0).(*session)
		v := &server{p: p}
		end := v.run(t, s, s.Begin(p.of[NewOrder], find(t, s, func(in *input) bool { return in.rollBack })))
		if end.Counts[notUndoneCounter] != 1 || end.Counts[rolledBackCounter] != 1 {
			t.Errorf("%s: counts %v", system, end.Counts)
		}
		for k := range kinds { // names are found without OFFSET on Picodata
			v := &server{p: p}
			for i := range uint64(20) {
				if end := v.run(t, s, s.Begin(p.of[k], i)); end.Failure.Class != protocol.OK {
					t.Errorf("%s: %s ended with %+v", system, profiles[k].name, end.Failure)
				}
			}
		}
	}
	if len(benchmark.Gaps(protocol.FlavorPicodata)) < 5 || len(benchmark.Gaps(protocol.FlavorPostgreSQL)) != 0 {
		t.Error("the guarantees of the systems are not listed")
	}
}

func TestLanguageRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		options map[string]string
		text    string
		want    string
	}{
		"zero warehouses": {map[string]string{optionWarehouses: "0"}, "payment", `option warehouses: "0"`},
		"system":          {map[string]string{optionSystem: "oracle"}, "payment", `option system: "oracle" is none of`},
		"option":          {map[string]string{"threads": "4"}, "payment", "no option threads"},
		"think":           {map[string]string{optionThink: "maybe"}, "payment", "neither yes nor no"},
		"constant":        {map[string]string{optionLastNameC: "256"}, "payment", "256 is above 255"},
		"transaction":     {nil, "neworder", `no transaction "neworder"`},
		"deck":            {nil, "payment", "a deck of cards has all five"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Language{Now: now}.Compile(&script.Source{Options: options(c.options),
				Operations: []script.Operation{{Name: "a", Text: c.text, Weight: 1}}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			var e *script.Error
			if name == "transaction" && (!errors.As(err, &e) || e.Line != 1) {
				t.Errorf("got %#v", err)
			}
		})
	}
}
