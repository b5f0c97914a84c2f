package planfile

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"brunt/internal/dialect/slowcooker"
	"brunt/internal/dialect/ycsb"
	"brunt/internal/dialect/ycsb/workloads"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// The number of operations that are compared: for a plan, and for one of hundreds of plans.
const (
	many = 10_000
	few  = 200
)

// operations returns what the first n operations of a plan send, as text.
func operations(t *testing.T, p *plan.Plan, n uint64) []string {
	t.Helper()
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	if w.Total > 0 {
		n = min(n, w.Total)
	}
	var st workload.State
	out := make([]string, n)
	for i := range n {
		op := w.Pick(i)
		var b strings.Builder
		fmt.Fprintf(&b, "%s", w.Operations[op].Name)
		for step := range w.Operations[op].Steps {
			r := w.Operations[op].Steps[step].For(i)
			fmt.Fprintf(&b, "\n%d %q %q %q %v %d %v", r.Verb, r.Text, r.Words, r.Fields, r.Params, r.Rows, r.Simple)
			if r.Web != nil {
				fmt.Fprintf(&b, " %+v", *r.Web)
			}
			args := w.Args(&st, op, step, i)
			for k := range args {
				b.WriteByte(' ')
				b.Write(args[k].AppendText(nil))
			}
		}
		if w.Done != nil {
			w.Done(op, i, protocol.OK)
		}
		out[i] = b.String()
	}
	return out
}

// readBack writes a plan, reads it, and compares the plans and what they send.
func readBack(t *testing.T, what string, p *plan.Plan, n uint64) {
	t.Helper()
	written, err := Write(p)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	again, err := Read("plan.yml", written)
	if err != nil {
		t.Errorf("%s: what was written isn't valid:\n%v\n%.2000s", what, err, written)
		return
	}
	withoutPlaces(reflect.ValueOf(p))
	withoutPlaces(reflect.ValueOf(again))
	if !reflect.DeepEqual(p, again) {
		t.Errorf("%s changes by writing and reading:\n%.3000s\n%+v\n%+v", what, written, p, again)
		return
	}
	if len(p.Operations) == 0 {
		return
	}
	before, after := operations(t, p, n), operations(t, again, n)
	for i := range before {
		if before[i] != after[i] {
			t.Errorf("%s: operation %d was\n%s\nand is\n%s", what, i, before[i], after[i])
			return
		}
	}
}

// TestExamplesAreReadBack checks that the project's examples send the same after they were written and read.
func TestExamplesAreReadBack(t *testing.T) {
	for _, path := range goodFiles(t) {
		readBack(t, path, mustRead(t, path), many)
	}
}

func ycsbPlan(t *testing.T, command ycsb.Command, d *ycsb.Database, given ycsb.Given) (*plan.Plan, error) {
	t.Helper()
	set, _, err := given.Gather(os.ReadFile, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ycsb.Understand(command, d, set, os.ReadFile)
	if err != nil {
		return nil, err
	}
	j, err := ycsb.Compile(s, 0)
	if err != nil {
		return nil, err
	}
	if j.Plan.Target.Password != "" {
		t.Fatal("a password")
	}
	return j.Plan, nil
}

// TestYCSBIsReadBack covers each workload on each database, whole records and single fields, batches and data integrity
// checks.
func TestYCSBIsReadBack(t *testing.T) {
	tried := map[string]int{}
	for _, d := range ycsb.Databases() {
		for n, name := range workloads.Names() {
			values := []string{"recordcount=2000", "operationcount=100000", "threadcount=3", "fieldlength=20", "seed=7"}
			switch n % 4 {
			case 1:
				values = append(values, "readallfields=false", "writeallfields=true", "hash=java",
					"fieldlengthdistribution=zipfian")
			case 2:
				values = append(values, "dataintegrity=true", "insertorder=ordered", "zeropadding=9")
			case 3:
				values = append(values, "readallfields=false", "dataintegrity=true", "compat=goycsb", "target=500")
			}
			for _, command := range []ycsb.Command{ycsb.Load, ycsb.Run} {
				p, err := ycsbPlan(t, command, d, ycsb.Given{Workload: name, Values: values})
				if err != nil {
					continue // the database doesn't support it
				}
				compared := uint64(few)
				if tried[d.Names[0]]++; d.Names[0] == "redis" && n < 4 && !testing.Short() {
					compared = many
				}
				readBack(t, fmt.Sprintf("%s %s %s", command, d.Names[0], name), p, compared)
			}
		}
		if tried[d.Names[0]] < 3 {
			t.Errorf("%s: only %d plans", d.Names[0], tried[d.Names[0]])
		}
	}
}

func TestYCSBBatchesAreReadBack(t *testing.T) {
	for _, d := range ycsb.Databases() {
		for _, command := range []ycsb.Command{ycsb.Load, ycsb.Run} {
			p, err := ycsbPlan(t, command, d,
				ycsb.Given{Values: []string{"recordcount=1000", "operationcount=100000", "batch.size=10",
					"readproportion=0.4", "updateproportion=0.3", "insertproportion=0.3", "requestdistribution=latest"}})
			if err == nil {
				readBack(t, fmt.Sprintf("%s %s in batches", command, d.Names[0]), p, few)
			} else if d.Batches && d.Names[0] != "mysql" && command == ycsb.Load {
				t.Errorf("%s: %v", d.Names[0], err)
			}
		}
	}
}

func TestSlowCookerIsReadBack(t *testing.T) {
	urls := filepath.Join(t.TempDir(), "urls")
	if err := os.WriteFile(urls, []byte("http://a:8/x?a=$1\nhttps://b/y\nhttp://a:8/z\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"http://127.0.0.1:8080/"}, {"-qps", "5", "-concurrency", "3", "-host", "a,b", "-header", "X: y$", "-method", "POST",
			"-data", "{$1}", "http://h/"},
		{"-totalRequests", "9", "-hashValue", "77", "-hashSampleRate", "0.1", "http://h/"},
		{"-compat", "-concurrency", "2", "@" + urls},
		{"-threshold", "p(99) < 10ms", "-late", "drop", "-iterations", "3", "@" + urls},
	} {
		o, err := slowcooker.Parse(args, nil, "report")
		if err != nil {
			t.Fatal(err)
		}
		p, err := o.Plan(false)
		if err != nil {
			t.Fatal(err)
		}
		readBack(t, strings.Join(args, " "), p, many)
	}
}
