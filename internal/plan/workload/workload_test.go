package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

func value(s gen.Spec) plan.Param { return plan.Param{Value: &plan.ValueSpec{Spec: s}} }

func integers(lo, hi int64) gen.Spec {
	return gen.Spec{Type: gen.TypeInteger, HasRange: true, IntLo: lo, IntHi: hi}
}

func reference(column, sameRow string) plan.Param {
	return plan.Param{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeReference, Table: "t", Column: column},
		SameRow: sameRow}}
}

// sample returns a plan with a query, a transaction whose second step uses values that the first captured and sent, and
// references to one row.
func sample() *plan.Plan {
	return &plan.Plan{
		Seed: 5,
		Tables: []plan.Table{{Name: "t", Rows: 100, PrimaryKeys: []string{"id"}, Columns: []plan.Column{
			{Name: "id", ValueSpec: plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger, HasRange: true, IntLo: 1, IntHi: 100,
				Unique: true}}},
			{Name: "s", ValueSpec: plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeString}}},
			{Name: "parent", ValueSpec: plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeReference, Table: "t", Column: "id"}}},
		}}},
		Operations: []plan.Operation{
			{Name: "read", Weight: 3, Count: 30, Think: plan.Think{Distribution: "uniform", Min: time.Millisecond,
				Max: 3 * time.Millisecond},
				Steps: []plan.Step{{Request: protocol.Request{Text: "select $1, $2"},
					Params: []plan.Param{reference("id", "r"), reference("s", "r")}}}},
			{Name: "never"},
			{Name: "buy", Weight: 1, Count: 10, Transaction: true, Isolation: "serializable", Steps: []plan.Step{
				{Request: protocol.Request{Text: "select $1", Capture: []protocol.Capture{{Name: "a", Kind: gen.Int}}},
					Params: []plan.Param{value(integers(1, 9))}, Think: plan.Think{Distribution: "constant", Min: time.Second}},
				{Request: protocol.Request{Text: "update $1, $2, $3"}, Params: []plan.Param{
					{Step: 0, Index: 0}, {Step: 0, Index: 0, Argument: true}, value(gen.Spec{Type: gen.TypeBoolean})}},
			}},
		},
	}
}

func compile(t testing.TB, p *plan.Plan) *Workload {
	t.Helper()
	for i := range p.Operations {
		if len(p.Operations[i].Steps) == 0 {
			p.Operations[i].Steps = []plan.Step{{Request: protocol.Request{Text: "select 1"}}}
		}
	}
	w, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// render returns operation number i as text. Captures in transactions are 77.
func render(w *Workload, st *State, i uint64) string {
	op := w.Pick(i)
	var b strings.Builder
	fmt.Fprintf(&b, "%s", w.Operations[op].Name)
	for s := range w.Operations[op].Steps {
		b.WriteByte(';')
		args := w.Args(st, op, s, i)
		for k := range args {
			b.WriteByte(' ')
			b.Write(args[k].AppendText(nil))
		}
		reply := protocol.Reply{}
		reply.Reset(len(w.Operations[op].Steps[s].Request.Capture))
		for k := range reply.Captured {
			reply.Captured[k].SetInt(77)
		}
		st.Capture(s, &reply)
	}
	return b.String()
}

func TestCompileLaysOutTransactions(t *testing.T) {
	w := compile(t, sample())
	buy := w.Operations[2]
	var verbs []protocol.Verb
	for _, s := range buy.Steps {
		verbs = append(verbs, s.Request.Verb)
	}
	if want := []protocol.Verb{protocol.Begin, protocol.SQL, protocol.SQL,
		protocol.Commit}; fmt.Sprint(verbs) != fmt.Sprint(want) {
		t.Fatalf("verbs %v, want %v", verbs, want)
	}
	if buy.Steps[0].Request.Text != "serializable" || buy.Rollback == nil || buy.Rollback.Verb != protocol.Rollback {
		t.Errorf("begin %q, rollback %v", buy.Steps[0].Request.Text, buy.Rollback)
	}
	for i := range w.Program.Requests {
		if w.Program.Requests[i].ID != i {
			t.Errorf("request %d has ID %d", i, w.Program.Requests[i].ID)
		}
	}
	for _, op := range w.Operations {
		for _, s := range op.Steps {
			if s.Request != &w.Program.Requests[s.Request.ID] {
				t.Errorf("%s: a step's request isn't the program's", op.Name)
			}
		}
	}
	if got, want := fmt.Sprint(buy.Steps[2].Request.Params),
		fmt.Sprint([]gen.Kind{gen.Int, gen.Int, gen.Bool}); got != want {
		t.Errorf("kinds %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(w.Operations[0].Steps[0].Request.Params),
		fmt.Sprint([]gen.Kind{gen.Int, gen.String}); got != want {
		t.Errorf("kinds %s, want %s", got, want)
	}
	if w.Operations[0].Rollback != nil || w.Total != 0 {
		t.Errorf("rollback %v, total %d", w.Operations[0].Rollback, w.Total)
	}
	var st State
	for i := range uint64(200) {
		if w.Pick(i) != 2 {
			continue
		}
		first := w.Args(&st, 2, 1, i)[0].I
		reply := protocol.Reply{Captured: []gen.Value{{Kind: gen.Int, I: 4711}}}
		st.Capture(1, &reply)
		second := w.Args(&st, 2, 2, i)
		if second[0].I != 4711 || second[1].I != first || second[2].Kind != gen.Bool {
			t.Fatalf("operation %d: %+v after argument %d", i, second, first)
		}
		return
	}
	t.Error("no transaction among 200 operations")
}

func TestSameRowReferencesComeFromOneRow(t *testing.T) {
	p := sample()
	w := compile(t, p)
	row, columns, err := Rows(p, &p.Tables[0])
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(columns), "[{id integer} {s string} {parent integer}]"; got != want {
		t.Fatalf("columns %s, want %s", got, want)
	}
	texts := map[string]string{}
	values := make([]gen.Value, len(columns))
	for r := range uint64(100) {
		row(values, r)
		id := string(values[0].AppendText(nil))
		if _, again := texts[id]; again {
			t.Fatalf("id %s twice", id)
		}
		texts[id] = string(values[1].B)
		if values[2].I < 1 || values[2].I > 100 {
			t.Fatalf("row %d refers to %d", r, values[2].I)
		}
	}
	var st State
	different := map[string]bool{}
	for i := range uint64(500) {
		a := w.Args(&st, 0, 0, i)
		id := string(a[0].AppendText(nil))
		if texts[id] != string(a[1].B) {
			t.Fatalf("operation %d: id %s has %q, got %q", i, id, texts[id], a[1].B)
		}
		different[id] = true
	}
	if len(different) < 80 {
		t.Errorf("500 draws of 100 rows found only %d", len(different))
	}
}

// TestStreamDoesNotDependOnOrder evaluates the stream in order, and in a shuffled order by eight goroutines with
// separate states.
func TestStreamDoesNotDependOnOrder(t *testing.T) {
	for _, mix := range []plan.Mix{plan.ByWeight, plan.ByCount} {
		p := sample()
		p.Mix = mix
		w := compile(t, p)
		n := uint64(2000)
		if mix == plan.ByCount {
			n = w.Total
		}
		want := make([]string, n)
		var st State
		for i := range want {
			want[i] = render(w, &st, uint64(i))
		}
		again := compile(t, p)
		got := make([]string, n)
		order := rand.New(rand.NewPCG(1, 2)).Perm(int(n))
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				var st State
				for k := g; k < len(order); k += 8 {
					got[order[k]] = render(again, &st, uint64(order[k]))
				}
			})
		}
		wg.Wait()
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("mix %d, operation %d: %q, then %q", mix, i, want[i], got[i])
			}
		}
	}
}

func TestQueueHoldsEachOperationSoOften(t *testing.T) {
	p := sample()
	p.Mix = plan.ByCount
	w := compile(t, p)
	if w.Total != 40 {
		t.Fatalf("total %d, want 40", w.Total)
	}
	var n [3]int
	runs := 0
	for i := range w.Total {
		op := w.Pick(i)
		n[op]++
		if i > 0 && op != w.Pick(i-1) {
			runs++
		}
	}
	if n != [3]int{30, 0, 10} {
		t.Errorf("counts %v, want 30, 0, 10", n)
	}
	if runs < 5 {
		t.Errorf("the queue changes only %d times between operations: it isn't shuffled", runs)
	}
}

func TestUniqueParametersOfAQueueDontRepeat(t *testing.T) {
	p := sample()
	p.Mix = plan.ByCount
	s := integers(1, 10)
	s.Unique = true
	p.Operations[2].Steps[0].Params[0] = value(s)
	w := compile(t, p)
	var st State
	seen := map[int64]bool{}
	for i := range w.Total {
		if w.Pick(i) != 2 {
			continue
		}
		v := w.Args(&st, 2, 1, i)[0].I
		if seen[v] {
			t.Fatalf("%d twice", v)
		}
		seen[v] = true
	}
	if len(seen) != 10 {
		t.Errorf("%d values, want 10", len(seen))
	}
}

// In TestMixFollowsWeights the share of n independent draws with p = 3/4 is within 5 standard deviations √(p(1−p)/n) of
// p.
func TestMixFollowsWeights(t *testing.T) {
	w := compile(t, sample())
	const n = 100_000
	var hits [3]int
	for i := range uint64(n) {
		hits[w.Pick(i)]++
	}
	if sd := math.Sqrt(0.75 * 0.25 / n); math.Abs(float64(hits[0])/n-0.75) > 5*sd || hits[1] != 0 {
		t.Errorf("%v of %d draws with weights 3, 0, 1", hits, n)
	}
}

// In TestStreamsDependOnNamesOnly other operations, tables and columns change nothing.
func TestStreamsDependOnNamesOnly(t *testing.T) {
	p, q := sample(), sample()
	q.Tables = append([]plan.Table{{Name: "other", Rows: 3,
		Columns: []plan.Column{{Name: "x", ValueSpec: plan.ValueSpec{Spec: integers(1, 5)}}}}}, q.Tables...)
	q.Operations = append([]plan.Operation{{Name: "first", Weight: 1}}, q.Operations...)
	a, b := compile(t, p), compile(t, q)
	var sa, sb State
	for i := range uint64(100) {
		x, y := a.Args(&sa, 0, 0, i), b.Args(&sb, 1, 0, i)
		for k := range x {
			if got, want := string(y[k].AppendText(nil)), string(x[k].AppendText(nil)); got != want {
				t.Fatalf("operation %d, parameter %d: %q, want %q", i, k, got, want)
			}
		}
	}
}

func TestArgsAllocateNothing(t *testing.T) {
	w := compile(t, sample())
	var st State
	i := uint64(0)
	next := func() {
		op := w.Pick(i)
		for s := range w.Operations[op].Steps {
			w.Args(&st, op, s, i)
		}
		_ = w.ThinkTime(op, -1, i)
		i++
	}
	for range 1000 {
		next()
	}
	if n := testing.AllocsPerRun(1000, next); n != 0 {
		t.Errorf("%v allocations an operation, want none", n)
	}
}

func TestBatchNumbersItsRows(t *testing.T) {
	p := &plan.Plan{Seed: 1, Operations: []plan.Operation{{Name: "b", Weight: 1, Steps: []plan.Step{{
		Request: protocol.Request{Verb: protocol.Batch, Text: "insert", Rows: 3},
		Params: []plan.Param{{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger, Distribution: gen.Sequential}}},
			value(integers(1, 1))},
	}}}}}
	w := compile(t, p)
	var st State
	var got []int64
	for _, v := range w.Args(&st, 0, 0, 5) {
		got = append(got, v.I)
	}
	if want := "[15 1 16 1 17 1]"; fmt.Sprint(got) != want {
		t.Errorf("arguments %v, want %s", got, want)
	}
}

func TestThinkTime(t *testing.T) {
	p := sample()
	p.Operations[1].Think = plan.Think{Distribution: "exponential", Min: 10 * time.Millisecond, Max: 50 * time.Millisecond}
	w := compile(t, p)
	var sum, most time.Duration
	const n = 100_000
	for i := range uint64(n) {
		if d := w.ThinkTime(0, -1, i); d < time.Millisecond || d > 3*time.Millisecond || d != w.ThinkTime(0, -1, i) {
			t.Fatalf("uniform pause %v", d)
		}
		d := w.ThinkTime(1, -1, i)
		sum, most = sum+d, max(most, d)
	}
	// The mean of an exponential variable of mean m cut at c is m·(1 − e^(−c/m)).
	want := 10e6 * (1 - math.Exp(-5))
	if mean := float64(sum) / n; math.Abs(mean-want) > 5*10e6/math.Sqrt(n) || most != 50*time.Millisecond {
		t.Errorf("exponential pauses have mean %v and maximum %v, want %v and 50ms", time.Duration(mean), most,
			time.Duration(want))
	}
	if d := w.ThinkTime(2, 1, 0); d != time.Second {
		t.Errorf("pause after the first statement (step 1 behind BEGIN) %v, want 1s", d)
	}
	for _, step := range []int{0, 2, 3, 9} {
		if d := w.ThinkTime(2, step, 0); d != 0 {
			t.Errorf("pause after step %d %v, want none", step, d)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *plan.Plan)
		want   string
	}{
		"unknown table": {func(p *plan.Plan) { v := p.Operations[0].Steps[0].Params[0].Value; v.Table, v.SameRow = "x", "" },
			`unknown table "x"; use t`},
		"unknown column": {func(p *plan.Plan) { p.Operations[0].Steps[0].Params[0].Value.Column = "x" },
			`table t has no column "x"; use id, s or parent`},
		"circle": {func(p *plan.Plan) {
			p.Operations[0].Steps[0].Params[0].Value.Column = "parent"
			p.Tables[0].Columns[2].Column = "parent"
		}, `column parent of table t refers to itself in a circle; give one column of the circle a type of its own`},
		"no capture": {func(p *plan.Plan) { p.Operations[2].Steps[1].Params[0].Index = 1 },
			`parameter 1 needs a value that statement 1 doesn't have; name one that it has`},
		"later step": {func(p *plan.Plan) { p.Operations[2].Steps[0].Params[0] = plan.Param{Step: 1} },
			`parameter 1 needs a value of a later statement; reorder the statements`},
		"no operations": {func(p *plan.Plan) { p.Operations = nil },
			`compile the plan: it has no operations; add queries or transactions`},
		"first of a queue": {func(p *plan.Plan) { p.First = 3; p.Mix = plan.ByCount; p.Operations[0].Count = 5 },
			`a queue of counts has no part to go on after: first is 3; leave it out, or give weights or rates instead of counts`},
		"first too far": {func(p *plan.Plan) { p.First = 1 << 63 },
			`first is 9223372036854775808; give a number up to 4611686018427387904`},
		"no weight": {func(p *plan.Plan) { p.Operations[0].Weight, p.Operations[2].Weight = 0, 0 },
			`all weights are zero; give an operation a weight above 0`},
		"no count": {func(p *plan.Plan) {
			p.Mix = plan.ByCount
			p.Operations[0].Count, p.Operations[2].Count = 0, 0
		}, `all counts are zero; give an operation a count above 0`},
		"long queue": {func(p *plan.Plan) {
			p.Mix = plan.ByCount
			p.Operations[0].Count, p.Operations[2].Count = math.MaxUint64, 1
		}, `the queue is longer than 2^64; lower it`},
	} {
		p := sample()
		p.Operations[1].Steps = []plan.Step{{Request: protocol.Request{Text: "select 1"}}}
		c.change(p)
		if _, err := Compile(p); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// What a check compares is a field's content, whatever type a store gives the field. Columns of statements keep their
// type.
func TestComparedFieldsAreContent(t *testing.T) {
	own := []protocol.Capture{{Name: "f0"}, {Name: "f1", Kind: gen.String}}
	for verb, want := range map[protocol.Verb]gen.Kind{protocol.Read: gen.Bytes, protocol.Scan: gen.Bytes,
		protocol.Batch: gen.Bytes, protocol.SQL: gen.Null, protocol.Command: gen.Null} {
		got := compared(protocol.Request{Verb: verb, Capture: own}).Capture
		if got[0].Kind != want || got[1].Kind != gen.String || own[0].Kind != gen.Null {
			t.Errorf("%s: %v, of %v", verb.Name(), got, own)
		}
	}
}
