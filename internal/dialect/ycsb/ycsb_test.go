package ycsb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/dialect/ycsb/workloads"
	"brunt/internal/load/gen"
	"brunt/internal/load/keyspace"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

func settings(t *testing.T, command Command, database string, values ...string) *Settings {
	t.Helper()
	d, err := FindDatabase(database)
	if err != nil {
		t.Fatal(err)
	}
	set, _, err := Given{Values: values}.Gather(os.ReadFile, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	s, err := Understand(command, d, set, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func compiled(t *testing.T, s *Settings) (*Job, *workload.Workload) {
	t.Helper()
	j, err := Compile(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.Compile(j.Plan)
	if err != nil {
		t.Fatal(err)
	}
	return j, w
}

// arguments returns the arguments of operation i as text.
func arguments(w *workload.Workload, i uint64) string {
	var st workload.State
	op := w.Pick(i)
	var b strings.Builder
	b.WriteString(w.Operations[op].Name)
	for k := range w.Operations[op].Steps {
		r := w.Operations[op].Steps[k].For(i)
		fmt.Fprintf(&b, " | %s %v", r.Text, r.Words)
		for _, v := range w.Args(&st, op, k, i) {
			fmt.Fprintf(&b, " %s/%d", v.B, v.I)
		}
	}
	return b.String()
}

func TestStatementsAreGoYCSBs(t *testing.T) {
	store, err := postgresDatabase().store(settings(t, Shell, "pg", "fieldcount=2", "fieldlength=7"))
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"field0", "field1"}
	for _, c := range []struct{ got, want string }{
		{store.Prepare(true)[0].Text, "DROP TABLE IF EXISTS usertable"},
		{store.Prepare(false)[0].Text,
			"CREATE TABLE IF NOT EXISTS usertable (YCSB_KEY VARCHAR(64) PRIMARY KEY, FIELD0 VARCHAR(7), FIELD1 VARCHAR(7))"},
		{store.Read(all, false)[0].Text, "SELECT field0,field1 FROM usertable WHERE YCSB_KEY = $1"},
		{store.Scan(all)[0].Text, "SELECT field0,field1 FROM usertable WHERE YCSB_KEY >= $1 LIMIT $2"},
		{store.Insert(all)[0].Text,
			"INSERT INTO usertable (YCSB_KEY ,field0 ,field1) VALUES ($1 ,$2 ,$3) ON CONFLICT DO NOTHING"},
		{store.Update(all[1:])[0].Text, "UPDATE usertable SET field1 = $1 WHERE YCSB_KEY = $2"},
		{store.Delete()[0].Text, "DELETE FROM usertable WHERE YCSB_KEY = $1"},
	} {
		if c.got != c.want {
			t.Errorf("%s\nwant %s", c.got, c.want)
		}
	}
}

func TestMixFollowsTheShares(t *testing.T) {
	j, w := compiled(t, settings(t, Run, "pg", "recordcount=100", "operationcount=1", "readproportion=5",
		"updateproportion=2",
		"insertproportion=1", "scanproportion=1", "readmodifywriteproportion=1"))
	want := map[string]float64{OpRead: 0.5, OpUpdate: 0.2, OpInsert: 0.1, OpScan: 0.1, OpRMW: 0.1}
	const n = 50_000
	got := map[string]float64{}
	for i := range uint64(n) {
		got[j.Plan.Operations[w.Pick(i)].Name]++
	}
	for name, p := range want {
		if sigma := math.Sqrt(n * p * (1 - p)); math.Abs(got[name]-n*p) > 4.5*sigma {
			t.Errorf("%s: %.0f of %d, want %.0f ± %.0f", name, got[name], n, n*p, sigma)
		}
	}
}

func TestOperationsAreReproducible(t *testing.T) {
	values := []string{"recordcount=100", "operationcount=1", "insertproportion=0.2", "scanproportion=0.1",
		"readmodifywriteproportion=0.2", "seed=3"}
	_, a := compiled(t, settings(t, Run, "pg", values...))
	_, b := compiled(t, settings(t, Run, "pg", values...))
	_, other := compiled(t, settings(t, Run, "pg", append(values, "seed=4")...))
	same := 0
	for i := uint64(299); i < 300; i-- {
		x := arguments(a, i)
		if y := arguments(b, i); x != y {
			t.Fatalf("operation %d is\n%s\nand\n%s", i, x, y)
		}
		if x == arguments(other, i) {
			same++
		}
	}
	if same > 10 {
		t.Errorf("%d of 300 operations are the same with another seed", same)
	}
}

// TestPartitionsMakeTheSameRecords loads the records as a whole and in two parts.
func TestPartitionsMakeTheSameRecords(t *testing.T) {
	for _, integrity := range []string{"dataintegrity=false", "dataintegrity=true"} {
		_, whole := compiled(t, settings(t, Load, "pg", "recordcount=100", integrity))
		_, part := compiled(t, settings(t, Load, "pg", "recordcount=100", "insertstart=60", "insertcount=40", integrity))
		for i := range uint64(40) {
			if a, b := arguments(whole, 60+i), arguments(part, i); a != b {
				t.Fatalf("record %d is\n%s\nand\n%s", 60+i, a, b)
			}
		}
	}
	j, err := Compile(settings(t, Load, "pg", "recordcount=100"), 60)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := workload.Compile(j.Plan)
	if err != nil {
		t.Fatal(err)
	}
	_, whole := compiled(t, settings(t, Load, "pg", "recordcount=100"))
	if a, b := arguments(whole, 60), arguments(rest, 0); a != b {
		t.Errorf("after a resumption record 60 is\n%s\nand\n%s", a, b)
	}
	if n := j.Plan.Load[0].Operations; n != 40 {
		t.Errorf("%d records are left, want 40", n)
	}
}

func TestUpdatesTouchEveryFieldAlike(t *testing.T) {
	_, w := compiled(t, settings(t, Run, "pg", "recordcount=10", "operationcount=1", "readproportion=0",
		"updateproportion=1", "fieldcount=4"))
	got := map[string]int{}
	for i := range uint64(4000) {
		got[w.Operations[0].Steps[0].For(i).Text]++
	}
	if len(got) != 4 {
		t.Fatalf("%v", got)
	}
	for text, n := range got {
		if n < 870 || n > 1130 {
			t.Errorf("%s: %d of 4000", text, n)
		}
	}
}

// In TestOneRecordAnOperation the choice of records changes between the parts of an operation.
func TestOneRecordAnOperation(t *testing.T) {
	j, w := compiled(t, settings(t, Run, "pg", "recordcount=100", "operationcount=1000", "readproportion=0",
		"updateproportion=0",
		"insertproportion=0.5", "readmodifywriteproportion=0.5", "requestdistribution=latest", "dataintegrity=true",
		"fieldcount=3", "writeallfields=true"))
	var st workload.State
	checked := 0
	for i := range uint64(400) {
		op := w.Pick(i)
		if j.Plan.Operations[op].Inserts {
			w.Done(op, i, protocol.OK)
			continue
		}
		key := string(w.Args(&st, op, 0, i)[0].B)
		for k := i + 1; k < i+20; k++ {
			if j.Plan.Operations[w.Pick(k)].Inserts {
				w.Records.Done(true, k, true)
			}
		}
		update := w.Args(&st, op, 1, i)
		if got := string(update[3].B); got != key {
			t.Fatalf("operation %d reads %s and updates %s", i, key, got)
		}
		for f := range 3 {
			if !strings.HasPrefix(string(update[f].B), fmt.Sprintf("%s:field%d:", key, f)) {
				t.Fatalf("operation %d writes %s to %s", i, update[f].B, key)
			}
		}
		w.Done(op, i, protocol.OK)
		checked++
	}
	if checked < 100 {
		t.Errorf("%d operations checked", checked)
	}
}

func TestPhases(t *testing.T) {
	for _, c := range []struct {
		values string
		want   []plan.Phase
	}{
		{"operationcount=1000", []plan.Phase{{Name: "run", Kind: plan.Closed, Operations: 1000}}},
		{"operationcount=1000 batch.size=10 maxexecutiontime=3",
			[]plan.Phase{{Name: "run", Kind: plan.Closed, Operations: 100, Duration: 3 * time.Second}}},
		{"operationcount=1000 target=100 warmuptime=2", []plan.Phase{
			{Name: "warm-up", Kind: plan.Open, RateFrom: 100, RateTo: 100, Duration: 2 * time.Second, WarmUp: true},
			{Name: "run", Kind: plan.Open, RateFrom: 100, RateTo: 100, Operations: 1000, Duration: 11 * time.Second},
		}},
		{"target=100 maxexecutiontime=5",
			[]plan.Phase{{Name: "run", Kind: plan.Open, RateFrom: 100, RateTo: 100, Duration: 5 * time.Second}}},
	} {
		j, err := Compile(settings(t, Run, "pg", append(strings.Fields(c.values), "recordcount=10")...), 0)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%+v", j.Plan.Load) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s:\n%+v\nwant\n%+v", c.values, j.Plan.Load, c.want)
		}
	}
}

func TestEveryDatabaseCompilesEveryWorkload(t *testing.T) {
	for _, d := range Databases() {
		for _, name := range workloads.Names() {
			for _, command := range []Command{Load, Run} {
				set, _, err := Given{Workload: name, Values: []string{"recordcount=100", "operationcount=10"}}.Gather(os.ReadFile,
					os.LookupEnv)
				if err != nil {
					t.Fatal(err)
				}
				s, err := Understand(command, d, set, os.ReadFile)
				if err != nil {
					t.Fatalf("%s %s: %v", d.Names[0], name, err)
				}
				if len(s.Warnings) > 0 && name != "etcd_offcial_workload" {
					t.Errorf("%s: %v", name, s.Warnings)
				}
				j, err := Compile(s, 0)
				if err != nil {
					if store, _ := d.store(s); s.Shares.Scan > 0 && len(store.Scan(s.Fields)) == 0 {
						continue
					}
					t.Fatalf("%s %s: %v", d.Names[0], name, err)
				}
				w, err := workload.Compile(j.Plan)
				if err != nil {
					t.Fatalf("%s %s: %v", d.Names[0], name, err)
				}
				if text := arguments(w, 3); !strings.Contains(text, "/") {
					t.Errorf("%s %s sends %s", d.Names[0], name, text)
				}
			}
		}
	}
}

// TestArticleKeyHas256Bytes counts the parts that the article names: the table's name, a colon, the prefix and the
// hash.
func TestArticleKeyHas256Bytes(t *testing.T) {
	for _, name := range []string{"etcd_offcial_workload", "etcd/read-one-key-1", "etcd/write-one-key-256"} {
		set, _, err := Given{Workload: name}.Gather(os.ReadFile, os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Understand(Run, etcdDatabase(), set, os.ReadFile)
		if err != nil {
			t.Fatal(err)
		}
		if n := len("usertable:") + len(s.Keys.Append(nil, 0)); n != 256 {
			t.Errorf("%s: the key has %d bytes", name, n)
		}
	}
}

func TestIntervalMeansTwoThings(t *testing.T) {
	for _, c := range []struct {
		values  string
		flag    string
		every   time.Duration
		measure string
	}{
		{"", "", 10 * time.Second, "op"}, {"target=5", "", 10 * time.Second, "intended"},
		{"measurement.interval=0.5", "", 500 * time.Millisecond, "op"},
		{"measurement.interval=both", "3", 3 * time.Second, "both"},
		{"target=5 measurement.interval=op", "", 10 * time.Second, "op"},
		{"measurement.interval=7", "2", 2 * time.Second, "op"}, {"measurement.interval=intended status.interval=4", "",
			4 * time.Second, "intended"},
	} {
		g := Given{Values: append(strings.Fields(c.values), "recordcount=1", "operationcount=1")}
		if c.flag != "" {
			g.Flags = map[string]string{"measurement.interval": c.flag}
		}
		set, _, err := g.Gather(os.ReadFile, os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Understand(Run, postgresDatabase(), set, os.ReadFile)
		if err != nil {
			t.Fatal(err)
		}
		if s.Output.Every != c.every || s.Output.Measure != c.measure {
			t.Errorf("%s %s: every %v, %s", c.values, c.flag, s.Output.Every, s.Output.Measure)
		}
	}
}

func TestOnlyLoadsPipeline(t *testing.T) {
	for _, c := range []struct {
		command  Command
		database string
		values   string
		want     int
	}{
		{Load, "pg", "", 8}, {Load, "pg", "load.pipeline=1", 1}, {Load, "redis", "load.pipeline=3", 3},
		{Load, "redis", "", 8}, {Load, "redis", "redis.mode=cluster", 1}, {Load, "etcd", "", 1},
		{Load, "pg", "target=10", 1}, {Load, "pg", "batch.size=2", 1}, {Load, "pg", "pg.sslmode=require", 1},
		{Load, "pg", "core_workload_insertion_retry_limit=2", 1}, {Run, "pg", "load.pipeline=4", 0},
	} {
		values := append(strings.Fields(c.values), "recordcount=10", "operationcount=10")
		j, err := Compile(settings(t, c.command, c.database, values...), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := j.Plan.Settings.Pipeline; got != c.want {
			t.Errorf("%s %s %s: %d in flight, want %d", c.command, c.database, c.values, got, c.want)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		database, properties, want string
	}{
		{"pg", "pg.host=a,b:5433,::1,[::1]:7 pg.port=99", "a:99 b:5433 [::1]:99 [::1]:7"},
		{"redis", "redis.addr=/run/r.sock redis.network=unix", "/run/r.sock"},
		{"redis", "redis.addr=localhost:1 redis.network=unix",
			"redis.network=unix: redis.addr=localhost:1 isn't the path of a socket, which begins with a slash"},
	} {
		set := properties.NewSet()
		for p := range strings.FieldsSeq(c.properties) {
			name, value, _ := strings.Cut(p, "=")
			set.Put(name, value, "")
		}
		d, err := FindDatabase(c.database)
		if err != nil {
			t.Fatal(err)
		}
		target, err := d.target(set)
		got := strings.Join(target.Addresses, " ")
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.properties, got, c.want)
		}
	}
}

func TestSecretsAreHidden(t *testing.T) {
	j, err := Compile(settings(t, Load, "pg", "recordcount=1", "pg.password=s3cret"), 0)
	if err != nil {
		t.Fatal(err)
	}
	var banner bytes.Buffer
	if err := j.Settings.Banner(&banner); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(banner.String(), "s3cret") {
		t.Error(banner.String())
	}
}

func TestBannerIsGoYCSBs(t *testing.T) {
	for values, want := range map[string]string{
		"recordcount=3": "Using request distribution 'uniform' a keyrange of [0 2]\n***************** properties *****************\n\"command\"=\"run\"\n",
		"recordcount=100 requestdistribution=zipfian insertproportion=0.5": "Using request distribution 'zipfian' a keyrange of [0 140]\n",
		"recordcount=100 insertstart=10 insertcount=20":                    "Using request distribution 'uniform' a keyrange of [10 29]\n",
	} {
		var b bytes.Buffer
		if err := settings(t, Run, "pg", append(strings.Fields(values), "operationcount=40")...).Banner(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), want) || !strings.HasSuffix(b.String(), "\n"+strings.Repeat("*", 46)+"\n") {
			t.Errorf("%s:\n%s", values, b.String())
		}
	}
}

// meterOf feeds a meter intervals of one second, with one operation of 1 ms each.
func meterOf(t *testing.T, out io.Writer, warm, count int, values ...string) *Meter {
	t.Helper()
	j, err := Compile(settings(t, Run, "pg", append(values, "recordcount=10", "operationcount=10")...), 0)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMeter(j, out, func(string) (io.WriteCloser, error) { return nil, errors.New("no files here") })
	for k := range warm + count {
		iv := &measure.Interval{WarmUp: k < warm, Account: measure.Account{StartNs: int64(k) * 1e9, EndNs: int64(k+1) * 1e9,
			Operations: make([]measure.OperationAccount, len(j.Plan.Operations))}}
		h := measure.NewHistogram()
		h.Record(1_000_000)
		iv.Operations[0].Service = h
		if err := m.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestLinesComeAtEachInterval(t *testing.T) {
	var out bytes.Buffer
	m := meterOf(t, &out, 3, 7, "measurement.interval=2")
	if n := strings.Count(out.String(), "READ   - "); n != 3 {
		t.Errorf("%d lines in 7 s\n%s", n, out.String())
	}
	if !strings.HasPrefix(out.String(), "READ   - Takes(s): 2.0, Count: 2, OPS: 1.0,") {
		t.Errorf("the warm-up counts:\n%s", out.String())
	}
	if n := countsOf(t, m)["TOTAL"]; n != "7" {
		t.Errorf("%s done", n)
	}
	out.Reset()
	meterOf(t, &out, 0, 7, "measurement.interval=2", "measurementtype=raw")
	if out.Len() > 0 {
		t.Errorf("raw prints lines: %s", out.String())
	}
}

func TestPartsOfReadModifyWrite(t *testing.T) {
	m := meterOf(t, io.Discard, 0, 0, "readproportion=0", "updateproportion=0", "readmodifywriteproportion=1")
	var w workload.Workload
	m.Attach(&w)
	say := func(step int, class protocol.Class) {
		w.TimedRequests(workload.Timing{Step: step, SentNs: 1000, EndNs: 3_001_000, Class: class})
	}
	say(0, protocol.OK)
	say(1, protocol.OK)
	say(0, protocol.OK)
	say(1, protocol.Server)
	m.takeParts()
	counts := countsOf(t, m)
	for name, want := range map[string]string{"READ": "2", "UPDATE": "1", "UPDATE_ERROR": "1", "TOTAL": "3",
		"READ_ERROR": ""} {
		if counts[name] != want {
			t.Errorf("%s: %q, want %q", name, counts[name], want)
		}
	}
}

// countsOf returns the counts in the results of m so far, by operation.
func countsOf(t *testing.T, m *Meter) map[string]string {
	t.Helper()
	var out bytes.Buffer
	var rows []struct{ Operation, Count string }
	if err := m.results.Write(&out, "json"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	counts := map[string]string{}
	for _, r := range rows {
		counts[r.Operation] = r.Count
	}
	return counts
}

func TestIntegrityCheck(t *testing.T) {
	_, w := compiled(t, settings(t, Run, "pg", "recordcount=10", "operationcount=1", "readproportion=1",
		"updateproportion=0", "dataintegrity=true", "fieldcount=2", "fieldlength=40"))
	var st workload.State
	key := string(w.Args(&st, 0, 0, 5)[0].B)
	value := func(s string) (v gen.Value) { v.SetString(s); return v }
	good := []gen.Value{value(string(keyspace.AppendIntegrity(nil, []byte(key), "field0", 40))),
		value(string(keyspace.AppendIntegrity(nil, []byte(key), "field1", 40)))}
	for _, c := range []struct {
		captured []gen.Value
		ok       bool
	}{
		{good, true}, {[]gen.Value{good[1], good[0]}, false}, {[]gen.Value{good[0], {}}, false}, {make([]gen.Value, 2), true},
		{[]gen.Value{good[0], value("")}, false},
	} {
		st.Captured = [][]gen.Value{c.captured}
		if f := w.Check(0, 0, &st); (f.Class == protocol.OK) != c.ok {
			t.Errorf("%v: %+v", c.captured, f)
		} else if !c.ok && (f.Code != workload.IntegrityCode ||
			!strings.HasPrefix(f.Text, `unexpected deterministic value, expect "`+key+`:field`)) {
			t.Errorf("%+v", f)
		}
	}
}

func TestCheckpointIsReadBack(t *testing.T) {
	s := settings(t, Load, "pg", "recordcount=50", "resume=true")
	j, w := compiled(t, s)
	for i := range uint64(7) {
		w.Done(0, i, protocol.OK)
	}
	w.Done(0, 8, protocol.OK)
	var file []byte
	c := &Checkpoint{Job: j, Last: w.Records.Last, Write: func(_ string, data []byte) error { file = data; return nil }}
	if err := c.Interval(nil); err != nil {
		t.Fatal(err)
	}
	read := func(string) ([]byte, error) { return file, nil }
	if n, err := s.Resumable("f", read); n != 7 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if n, err := s.Resumable("f", func(string) ([]byte, error) { return nil, fs.ErrNotExist }); n != 0 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if _, err := settings(t, Load, "pg", "recordcount=51", "resume=true").Resumable("f", read); err == nil {
		t.Error("the checkpoint of another load was taken")
	}
	for _, bad := range []string{"", "{", `{"load":"","done":3}`, strings.Replace(string(file), "7", "-7", 1)} {
		if _, err := s.Resumable("f", func(string) ([]byte, error) { return []byte(bad), nil }); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestEveryPropertyHasANameAndAMeaning(t *testing.T) {
	lists := map[string][]Property{"core": CoreProperties()}
	for _, d := range Databases() {
		lists[d.Names[0]] = d.Properties
	}
	for name, list := range lists {
		for i, p := range list {
			if p.Name == "" || p.About == "" {
				t.Errorf("%s: property %d is %+v", name, i+1, p)
			}
		}
	}
}
