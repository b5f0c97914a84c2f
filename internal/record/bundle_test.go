package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/measure"
)

func TestFolderNames(t *testing.T) {
	root := filepath.Join(t.TempDir(), "results")
	want := []string{"cars-20260301T123005Z", "cars-20260301T123005Z-2", "cars-20260301T123005Z-3"}
	for _, w := range want {
		b, err := Create(OS{}, root, "cars", began, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := filepath.Base(b.Dir); got != w {
			t.Errorf("folder %s, want %s", got, w)
		}
		b.Abandon()
	}
}

func TestSafeName(t *testing.T) {
	for in, want := range map[string]string{
		"cars": "cars", "": "run", "../../etc/passwd": "etc-passwd", "a b/c": "a-b-c",
		"нагрузка 1": "нагрузка-1", "...": "run", "a\x00b\n": "a-b", strings.Repeat("x", 100): strings.Repeat("x", 60),
	} {
		if got := SafeName(in); got != want {
			t.Errorf("SafeName(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestExplicitFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	b, err := CreateIn(OS{}, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abandon()
	if _, err = CreateIn(OS{}, dir, Options{}); err == nil || !strings.Contains(err.Error(), "already holds a run") {
		t.Errorf("second run into one folder: %v", err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis.doc"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err = CreateIn(OS{}, full, Options{}); err == nil || !strings.Contains(err.Error(), "thesis.doc") {
		t.Errorf("folder that isn't empty: %v", err)
	}
}

func TestOneOfManyGetsTheFolder(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	var mu sync.Mutex
	won, lost := 0, 0
	for range 16 {
		wg.Go(func() {
			b, err := CreateIn(OS{}, dir, Options{})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
				b.Abandon()
			} else {
				lost++
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("more than one line: %q", err)
				}
			}
		})
	}
	wg.Wait()
	if won != 1 || lost != 15 {
		t.Errorf("%d runs got the folder and %d did not", won, lost)
	}
}

// denied is a file system in which nothing can be written, even as root.
type denied struct{ OS }

func (denied) Mkdir(path string) error {
	return &fs.PathError{Op: "mkdir", Path: path, Err: fs.ErrPermission}
}
func (denied) Create(path string) (File, error) {
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
}

func TestReadOnlyFolder(t *testing.T) {
	root := t.TempDir()
	_, err := Create(denied{}, root, "cars", began, Options{})
	if err == nil || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "make it writable") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("Create: %v", err)
	}
	if _, err = CreateIn(denied{}, root, Options{}); err == nil || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("CreateIn: %v", err)
	}
}

func TestCompleteRunReadsBack(t *testing.T) {
	dir := write(t, OS{}, intervalsOf(samples(500), everything), true)
	r, err := Open(OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Run.Complete || r.Run.Total.Done != 1500 || r.Run.DurationNs != 3e9 {
		t.Errorf("complete %v, %d done in %d ns", r.Run.Complete, r.Run.Total.Done, r.Run.DurationNs)
	}
	rebuilt, _, err := r.Rebuild()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(rebuilt, r.Run) {
		a, _ := json.MarshalIndent(r.Run, "", " ")
		b, _ := json.MarshalIndent(rebuilt, "", " ")
		t.Errorf("rebuilt run differs:\n%s\n%s", a, b)
	}
	if plan, err := r.Plan(); err != nil || string(plan) != "name: cars\n" {
		t.Errorf("plan %q, %v", plan, err)
	}
}

func TestKilledRunReadsBack(t *testing.T) {
	ivs := intervalsOf(samples(500), everything)
	dir := write(t, OS{}, ivs[:3], false)
	path := filepath.Join(dir, IntervalsFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line, err := new(lineEncoder).encode(ivs[3])
	if err != nil {
		t.Fatal(err)
	}
	for _, torn := range [][]byte{nil, line[:1], line[:len(line)/2], line[:len(line)-1], bytes.Repeat([]byte{0}, 100),
		[]byte("{}garbage\n")} {
		if err := os.WriteFile(path, append(append([]byte(nil), whole...), torn...), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Open(OS{}, dir)
		if err != nil {
			t.Fatal(err)
		}
		run, _, err := r.Result()
		if err != nil {
			t.Fatalf("torn by %.20q: %v", torn, err)
		}
		if run.Complete || run.Total.Done != 1000 || !run.Ended.Equal(began.Add(3*time.Second)) {
			t.Errorf("torn by %.20q: complete %v, %d done, ended %s", torn, run.Complete, run.Total.Done, run.Ended)
		}
	}
}

func TestDamageInTheMiddleCostsItsLineOnly(t *testing.T) {
	dir := write(t, OS{}, intervalsOf(samples(10), everything), true)
	path := filepath.Join(dir, IntervalsFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines[1] = []byte("{\"index\":1,\n")
	if err := os.WriteFile(path, bytes.Join(lines, nil), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Open(OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := r.Rebuild()
	if err != nil || run.Total.Done != 20 || run.Phases[1].Done != 20 {
		t.Fatalf("%d done, %v; want all but the damaged line's 10", run.Total.Done, err)
	}
	if w := run.Warnings; len(w) != 1 || w[0].ID != "record-damaged" ||
		!strings.Contains(w[0].Text.String(), "line 2 of ") {
		t.Errorf("warnings %+v", w)
	}
}

func TestUnreadableBundles(t *testing.T) {
	for content, want := range map[string]string{
		`{"schema": 99, "total": "whatever that will mean"}`: "schema version 99 is newer",
		`{"hello": 1}`:           "no schema version",
		`[1, 2]`:                 "not a run's record",
		``:                       "not a run's record",
		`{"schema":1,"name":12}`: "damaged",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, RunFile), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(OS{}, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
	}
	if _, err := Open(OS{}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "holds no run.json") {
		t.Errorf("empty folder: %v", err)
	}
	killed := t.TempDir()
	if err := os.Mkdir(filepath.Join(killed, WorkersFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(OS{}, killed); err == nil || !strings.Contains(err.Error(), "brunt resume "+killed) {
		t.Errorf("the process that led workers was killed: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(OS{}, file); err == nil || !strings.Contains(err.Error(), "file holds no run.json") {
		t.Errorf("a file: %v", err)
	}
	if _, err := Open(failing{}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("broken disk: %v", err)
	}
}

func TestHealthLineHoldsAllOfHealth(t *testing.T) {
	var h measure.Health
	v := reflect.ValueOf(&h).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Float64:
			f.SetFloat(float64(i) + 0.5)
		case reflect.Int64:
			f.SetInt(int64(i) + 1)
		default:
			f.SetUint(uint64(i) + 1)
		}
	}
	h.ObservedNs, h.LoopBusyMax, h.LoopFullNs, h.ProcessCPUMax = 0, 0, 0, 0 // these are computed when the bundle is read
	text, err := json.Marshal(intervalLine{Health: h})
	var back intervalLine
	if err != nil || json.Unmarshal(text, &back) != nil || back.Health != h {
		t.Errorf("%+v came back as %+v, %v", h, back.Health, err)
	}
}

func TestDiscardLeavesNothingOfARunThatDidNothing(t *testing.T) {
	root := t.TempDir()
	run := &Run{Operations: []Operation{{Name: "a"}}}
	b, err := Create(OS{}, root, "x", time.Now(), Options{})
	if err != nil || b.Start([]byte("plan"), run) != nil {
		t.Fatal(err)
	}
	b.Discard()
	if names, _ := (OS{}).List(root); len(names) != 0 {
		t.Errorf("it left %q", names)
	}
	named := filepath.Join(root, "named")
	for range 2 { // the second attempt finds that the folder is free
		if b, err = CreateIn(OS{}, named, Options{}); err != nil || b.Start([]byte("plan"), run) != nil {
			t.Fatal(err)
		}
		b.Discard()
	}
	if names, err := (OS{}).List(named); err != nil || len(names) != 0 {
		t.Errorf("the named folder holds %q, %v", names, err)
	}
	if b, err = CreateIn(OS{}, named, Options{}); err != nil || b.Start([]byte("plan"), run) != nil {
		t.Fatal(err)
	}
	if err := b.Interval(&measure.Interval{UnixNs: 1,
		Account: measure.Account{Operations: make([]measure.OperationAccount, 1)}}); err != nil {
		t.Fatal(err)
	}
	b.Discard()
	if names, _ := (OS{}).List(named); len(names) != 4 {
		t.Errorf("of a run in which something happened there is %q", names)
	}
}

// JSON distinguishes an infinite figure from a missing one.
func TestFiguresInJSON(t *testing.T) {
	for _, want := range []Figure{0, -2.5, Figure(math.Inf(1)), Figure(math.NaN())} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Figure
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if got != want && !(math.IsNaN(float64(got)) && math.IsNaN(float64(want))) {
			t.Errorf("%g is written as %s and read as %g", want, text, got)
		}
	}
}
