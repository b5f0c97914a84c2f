package script

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	planscript "brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// compile compiles scripts.
func compile(t testing.TB, o Options, scripts ...string) *Program {
	t.Helper()
	var all []planscript.Operation
	for i, text := range scripts {
		all = append(all, planscript.Operation{Name: fmt.Sprintf("s%d", i), Text: text, Weight: 1})
	}
	p, err := compileAll(all, o.complete())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sent says what a step sends: the text, with the arguments.
func sent(p *Program, operation int, step planscript.Step) string {
	if step.Move != planscript.Send {
		return fmt.Sprintf("move %d %s", step.Move, step.Failure.Text)
	}
	r := &p.Requests(operation)[step.Request]
	var b strings.Builder
	switch {
	case r.Verbatim:
		return string(step.Args[0].B)
	case len(r.Pipeline) > 0:
		for _, part := range r.Pipeline {
			fmt.Fprintf(&b, "[%s %d %v]", part.Text, part.Params, part.Sync)
		}
	default:
		b.WriteString(r.Text)
	}
	for i := range step.Args {
		if step.Args[i].Kind == gen.Null {
			b.WriteString(" NULL")
			continue
		}
		fmt.Fprintf(&b, " %q", step.Args[i].B)
	}
	return b.String()
}

// answer continues after a success.
func answer(s *session, inBlock bool) planscript.Step {
	return s.Answered(&protocol.Reply{InBlock: inBlock})
}

// refuse continues after an error.
func refuse(s *session, code string, inBlock bool) planscript.Step {
	return s.Answered(&protocol.Reply{InBlock: inBlock,
		Failure: protocol.Failure{Class: protocol.Retryable, Code: code, Text: "failed"}})
}

func TestModes(t *testing.T) {
	const script = "\\set x 1.5\nselect :x, :nosuch, :x::int;\nselect 1;\n"
	for mode, want := range map[string][2]string{
		Simple:   {"select 1.5, :nosuch, 1.5::int;", "select 1;"},
		Extended: {`select $1, $2, $3::int; "1.5" NULL "1.5"`, "select 1;"},
		Prepared: {`select $1, $2, $3::int; "1.5" NULL "1.5"`, "select 1;"},
	} {
		t.Run(mode, func(t *testing.T) {
			p := compile(t, Options{Mode: mode}, script)
			s := p.session(0)
			step := s.Begin(0, 0)
			if got := sent(p, 0, step); got != want[0] {
				t.Errorf("got %s, want %s", got, want[0])
			}
			if step.Last {
				t.Error("the first request is called the last")
			}
			step = answer(s, false)
			if got := sent(p, 0, step); got != want[1] {
				t.Errorf("got %s, want %s", got, want[1])
			}
			if !step.Last {
				t.Error("the last request isn't called so")
			}
			if step = answer(s, false); step.Move != planscript.End || step.Failure.Class != protocol.OK || step.Quit {
				t.Errorf("got %+v, want a success", step)
			}
		})
	}
}

// TestAgainRestoresRandomNumbers checks what pgbench does: a transaction is repeated with the same random numbers, and
// with the variables as they are. TestScriptsAsPgbench shows that it is so.
func TestAgainRestoresRandomNumbers(t *testing.T) {
	p := compile(t, Options{Clients: 1, RandomSeed: 1, Variables: map[string]string{"n": "0"}},
		"\\set n :n + 1\n\\set r random(1, 1000000)\nBEGIN;\nselect :n, :r;\nEND;\n")
	s := p.session(0)
	next := func(step planscript.Step) string { return sent(p, 0, step) }
	s.Begin(0, 0)
	first := next(answer(s, true))
	if got := next(refuse(s, serializationFailure, true)); got != "ROLLBACK" {
		t.Fatalf("after the failure: %s, want ROLLBACK", got)
	}
	step := answer(s, false)
	if step.Move != planscript.End || step.Failure.Code != serializationFailure || step.Quit {
		t.Fatalf("after ROLLBACK: %+v, want the end with the failure", step)
	}
	s.Again()
	second := next(answer(s, true))
	if got, want := second, strings.Replace(first, "select 1,", "select 2,", 1); got != want {
		t.Errorf("the second try sends %q, want %q", got, want)
	}
	// A failure of COMMIT leaves no block, so that there is nothing to roll back.
	answer(s, true)
	if step := refuse(s, deadlockDetected, false); step.Move != planscript.End || step.Failure.Code != deadlockDetected {
		t.Errorf("after a failed COMMIT: %+v, want the end", step)
	}
	if failures, retries := p.Counts(0, 3); failures != 0 || retries != 1 {
		t.Errorf("command 3 has %d failures and %d retries, want 0 and 1", failures, retries)
	}
	s.Begin(0, 1)
	third := next(answer(s, true))
	if strings.TrimPrefix(third, "select 3,") == strings.TrimPrefix(second, "select 2,") {
		t.Errorf("the next transaction has the same random number: %q", third)
	}
	if failures, retries := p.Counts(0, 4); failures != 1 || retries != 0 {
		t.Errorf("command 4 has %d failures and %d retries, want 1 and 0", failures, retries)
	}
}

func TestTransactionsAreCounted(t *testing.T) {
	p := compile(t, Options{Transactions: 2}, "\\set x 1\n")
	s := p.session(0)
	if s.Begin(0, 0).Quit {
		t.Error("quits after one transaction of two")
	}
	if !s.Begin(0, 1).Quit {
		t.Error("doesn't quit after two transactions")
	}
}

func TestShares(t *testing.T) {
	source := planscript.Source{Sessions: 1, Operations: []planscript.Operation{
		{Text: "select 1;", Weight: 0.25}, {Text: "select 2;", Weight: 0}, {Text: "select 3;", Weight: 0.75}}}
	p, err := Language().Compile(&source)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Session(0).(*session)
	var counts [3]int
	for i := range 10000 {
		counts[s.Choose(uint64(i))]++
	}
	if counts[1] != 0 || counts[0] < 2200 || counts[0] > 2800 {
		t.Errorf("chosen %v times, want about 2500, 0 and 7500", counts)
	}
}

func TestLostConnection(t *testing.T) {
	p := compile(t, Options{}, "select 1;\n")
	s := p.session(3)
	s.Begin(0, 0)
	step := s.Answered(&protocol.Reply{Failure: protocol.Failure{Class: protocol.UnknownOutcome, Fatal: true,
		Text: "reset"}})
	want := protocol.Failure{Class: protocol.UnknownOutcome, Fatal: true,
		Text: "client 3 aborted in command 0 (SQL) of script 0; perhaps the backend died while processing"}
	if step.Move != planscript.End || !step.Quit || step.Failure != want {
		t.Errorf("got %+v, want %+v", step, want)
	}
}

func TestPipelineVariants(t *testing.T) {
	p := compile(t, Options{Mode: Extended, Version: 17, Variables: map[string]string{"c": "1"}}, `\startpipeline
\syncpipeline
select 1;
\if :c = 1
select :c;
\set c 2
\elif :c = 2
\set c 3
\endif
\syncpipeline
\syncpipeline
select :c;
\endpipeline
`)
	if got := len(p.Requests(0)); got != 3 {
		t.Errorf("%d requests, want two pipelines and ROLLBACK", got)
	}
	s := p.session(0)
	for _, want := range []string{
		`[ 0 true][select 1; 0 false][select $1; 1 true][ 0 true][select $1; 1 false] "1" "2"`,
		`[ 0 true][select 1; 0 true][ 0 true][select $1; 1 false] "3"`,
		`[ 0 true][select 1; 0 true][ 0 true][select $1; 1 false] "3"`,
	} {
		step := s.Begin(0, 0)
		if got := sent(p, 0, step); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		if at := p.Command(0, step.Request); p.Commands(0)[at].Text != `\endpipeline` {
			t.Errorf("the request belongs to command %d", at)
		}
		if step := answer(s, false); step.Move != planscript.End {
			t.Errorf("got %+v, want the end", step)
		}
	}
}

func TestTooManyVariants(t *testing.T) {
	for _, conditions := range []int{9, 40} {
		var b strings.Builder
		b.WriteString("select 1;\n\\startpipeline\n")
		for i := range conditions {
			fmt.Fprintf(&b, "\\if :x > %d\nselect %d;\n\\endif\n", i, i)
		}
		b.WriteString("\\endpipeline\n")
		_, err := compileAll([]planscript.Operation{{Name: "s", Text: b.String()}}, Options{Mode: Extended}.complete())
		if err == nil || err.Line != 2 || !strings.Contains(err.Text, "more than 256") {
			t.Errorf("%d conditions: got %v, want an error in line 2", conditions, err)
		}
	}
}

func TestCommands(t *testing.T) {
	p := compile(t, Options{Mode: Prepared}, "-- c\n\\set x \\\n  1\nselect :x\n  as y;\n\\if 1\nselect 2 \\gset\n\\endif\n")
	var got []string
	for _, c := range p.Commands(0) {
		got = append(got, fmt.Sprintf("%d %v %d %s", c.Line, c.SQL, c.Request, c.Text))
	}
	want := []string{"2 false -1 \\set x \\\n  1", "4 true 0 select :x", "6 false -1 \\if 1", "7 true 1 select 2 ",
		"8 false -1 \\endif"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if at := p.Command(0, 1); at != 3 {
		t.Errorf("request 1 belongs to command %d, want 3", at)
	}
}

func TestOptionsInPlans(t *testing.T) {
	want := Options{Version: 16, Mode: Prepared, Variables: map[string]string{"a": "x y", "b": ""}, Scale: 5,
		RandomSeed: 18446744073709551615, Clients: 3, Threads: 2, Transactions: 10, MaxTries: 4, Verbose: true}
	got, err := ParseOptions(want.Strings())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for name, text := range map[string]string{"version": "14", "mode": "x", "scale": "-1", "nosuch": "1",
		"define.1": "x", "max-tries": "4294967296", "verbose-errors": "maybe", "random-seed": "1.5"} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseOptions(map[string]string{name: text})
			if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(name, "define.")) {
				t.Errorf("got %v, want an error that names the option", err)
			}
		})
	}
}

func TestLanguage(t *testing.T) {
	source := planscript.Source{Sessions: 2, Options: Options{RandomSeed: 42}.Strings()}
	source.Operations = []planscript.Operation{
		{Name: "a", Text: "\\set x random(1, 1000000)\nselect :x, :client_id, :scale;\n", Weight: 1},
		{Name: "b", Text: "select 2;\n", Weight: 0}}
	p, err := Language().Compile(&source)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Session(1).(*session)
	if got := sent(p.(*Program), 0, s.Begin(s.Choose(0), 0)); got != "select 844242, 1, 1;" {
		t.Errorf("got %s", got)
	}
	if more := p.Session(7).(*session); sent(p.(*Program), 0, more.Begin(0, 0)) == "" {
		t.Error("a session beyond the clients sends nothing")
	}
	source.Operations[1].Text = "select 1;\n\\set i 1 +\n"
	_, err = Language().Compile(&source)
	fault := (*planscript.Error)(nil)
	if !errors.As(err, &fault) || *fault != (planscript.Error{Operation: 1, Line: 2, Column: 11,
		Text: `syntax error in command "set"`}) {
		t.Errorf("got %+v", err)
	}
}

func TestBuiltins(t *testing.T) {
	for prefix, want := range map[string]string{"t": "tpcb-like", "si": "simple-update", "select-only": "select-only"} {
		name, text, description, err := Builtin(prefix)
		if err != nil || name != want || !strings.HasPrefix(description, "<builtin: ") {
			t.Errorf("%s: %q %q %v", prefix, name, description, err)
		}
		compile(t, Options{Mode: Prepared}, text)
	}
	for prefix, want := range map[string]string{"s": "ambiguous builtin name: 2 builtin scripts found for prefix \"s\"",
		"x": `no builtin script found for name "x"`} {
		if _, _, _, err := Builtin(prefix); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", prefix, err, want)
		}
	}
}

// TestTransactionsDoNotAllocate runs the builtin script in each mode.
func TestTransactionsDoNotAllocate(t *testing.T) {
	_, text, _, err := Builtin("tpcb-like")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{Simple, Extended, Prepared} {
		t.Run(mode, func(t *testing.T) {
			s := compile(t, Options{Mode: mode, Clients: 1}, text).session(0)
			reply := &protocol.Reply{}
			transaction := func() {
				for step := s.Begin(0, 0); step.Move == planscript.Send; {
					step = s.Answered(reply)
				}
			}
			for range 100 {
				transaction()
			}
			if n := testing.AllocsPerRun(1000, transaction); n > 0 {
				t.Errorf("%v allocations a transaction, want none", n)
			}
		})
	}
}

func TestNamesOfMetaCommandsAreComplete(t *testing.T) {
	if got, want := slices.Sorted(maps.Values(metaNames)), slices.Sorted(maps.Keys(metas)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func BenchmarkTPCB(b *testing.B) {
	_, text, _, err := Builtin("tpcb-like")
	if err != nil {
		b.Fatal(err)
	}
	for _, mode := range []string{Simple, Prepared} {
		b.Run(mode, func(b *testing.B) {
			s := compile(b, Options{Mode: mode, Clients: 1}, text).session(0)
			reply := &protocol.Reply{}
			b.ReportAllocs()
			for b.Loop() {
				for step := s.Begin(0, 0); step.Move == planscript.Send; {
					step = s.Answered(reply)
				}
			}
		})
	}
}

func BenchmarkDraw(b *testing.B) {
	p := newPRNG(1)
	for name, draw := range map[string]func(){
		"uniform":     func() { p.uniform(1, 1000000) },
		"exponential": func() { p.exponential(1, 1000000, 3) },
		"gaussian":    func() { p.gaussian(1, 1000000, 3) },
		"zipfian":     func() { p.zipfian(1, 1000000, 1.1) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				draw()
			}
		})
	}
}
