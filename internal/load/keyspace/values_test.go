package keyspace

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"brunt/internal/load/gen"
)

func testValues(t *testing.T, integrity bool) *values {
	t.Helper()
	v, err := newValues(&Spec{
		Keys: Keys{Prefix: "user", Padding: 1}, Lengths: Lengths{Most: 33}, Integrity: integrity,
		Fields: []string{"field0", "field1", "field10", "field2"},
	}, 9)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func identity(idx uint64) int64 { return int64(idx) }

func TestRandomValuesAreLetters(t *testing.T) {
	stream := gen.NewStream(4)
	seen := map[byte]float64{}
	for i := range uint64(20_000) {
		r := stream.At(i)
		text := AppendLetters(nil, &r, 13)
		if len(text) != 13 {
			t.Fatalf("%d letters, want 13", len(text))
		}
		for _, c := range text {
			seen[c]++
		}
	}
	if len(seen) != 52 {
		t.Fatalf("%d different letters, want 52", len(seen))
	}
	x2 := 0.0
	for c, n := range seen {
		if !strings.ContainsRune(letters, rune(c)) {
			t.Errorf("%q is no letter", c)
		}
		e := 260_000.0 / 52
		x2 += (n - e) * (n - e) / e
	}
	if x2 > 51+4.5*10.1 {
		t.Errorf("chi-square of 51 degrees of freedom is %.0f", x2)
	}
}

func TestRowsDependOnTheRecordOnly(t *testing.T) {
	v := testValues(t, false)
	field := func(uint64) int { return 1 }
	shifted := v.one(source{record: func(i uint64) int64 { return int64(i) + 100 }, field: field, row: true})
	plain := v.one(source{record: identity, field: field, row: true})
	var a, b gen.Value
	shifted.Value(&a, 5)
	plain.Value(&b, 105)
	if string(a.B) != string(b.B) {
		t.Errorf("record 105 is %s and %s", a.B, b.B)
	}
	plain.Value(&b, 106)
	if string(a.B) == string(b.B) {
		t.Error("two records are alike")
	}
}

func TestDocumentIsWhatEncodingJSONMakes(t *testing.T) {
	v := testValues(t, true)
	var got gen.Value
	v.document(source{record: identity, row: true}).Value(&got, 3)
	want := map[string][]byte{}
	key := v.Keys.Append(nil, 3)
	for i, f := range v.Fields {
		want[f] = v.expected(nil, key, i)
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.B) != string(text) {
		t.Errorf("got %s, want %s", got.B, text)
	}
	if string(v.expectedDocument(nil, key)) != string(text) {
		t.Errorf("expected %s", v.expectedDocument(nil, key))
	}
	var plain gen.Value
	v.textDocument(source{record: identity, row: true}).Value(&plain, 3)
	if !strings.Contains(string(plain.B), string(want["field10"])) ||
		strings.Contains(string(plain.B), base64.StdEncoding.EncodeToString(want["field10"])) {
		t.Errorf("the text document is %s", plain.B)
	}
}

func TestValuesAllocateNothing(t *testing.T) {
	for _, integrity := range []bool{false, true} {
		v := testValues(t, integrity)
		g := v.one(source{record: identity, field: func(uint64) int { return 2 }, row: true})
		var out gen.Value
		g.Value(&out, 0)
		if n := testing.AllocsPerRun(100, func() { g.Value(&out, 77) }); n > 0 {
			t.Errorf("integrity %v: %v allocations a value", integrity, n)
		}
	}
}

func TestLengths(t *testing.T) {
	stream := gen.NewStream(1)
	histogram, err := HistogramLength("hist.txt", []byte("BlockSize\t10\n0\t1\n2\t3\n"), false)
	if err != nil {
		t.Fatal(err)
	}
	faulty, err := HistogramLength("hist.txt", []byte("BlockSize\t10\n0\t1\n2\t3\n"), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		lengths Lengths
		lo, hi  int
		mean    float64
	}{
		{"constant", Lengths{Most: 5}, 5, 5, 5},
		{"uniform", Lengths{Shape: "uniform", Most: 9}, 1, 9, 5},
		{"zipfian", Lengths{Shape: "zipfian", Most: 9}, 1, 9, 3.2},
		{"histogram", histogram, 10, 30, 25},
		{"histogram with faults", faulty, 10, 20, 17.5},
	} {
		drawn, err := c.lengths.prepare()
		if err != nil {
			t.Fatal(err)
		}
		sum, lo, hi := 0, 1<<30, 0
		for i := range uint64(20_000) {
			r := stream.At(i)
			n := drawn.draw(&r)
			sum, lo, hi = sum+n, min(lo, n), max(hi, n)
		}
		if mean := float64(sum) / 20_000; lo != c.lo || hi != c.hi || mean < c.mean*0.95 || mean > c.mean*1.05 {
			t.Errorf("%s: %d to %d, mean %.2f; want %d to %d, mean %.2f", c.name, lo, hi, mean, c.lo, c.hi, c.mean)
		}
	}
}

func TestBadHistogramsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "hist:1",
		"Blocksize\t1":                  "hist:1",
		"BlockSize\t0\n0\t1":            "hist:1",
		"BlockSize\t10\n0\tx":           "hist:2",
		"BlockSize\t10\n-1\t1":          "hist:2",
		"BlockSize\t10\n0\t0":           "hist",
		"BlockSize\t16777216\n90000\t1": "1 GiB",
	} {
		if _, err := HistogramLength("hist", []byte(text), false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzHistogramLength(f *testing.F) {
	f.Add([]byte("BlockSize\t10\n0\t1\n2\t3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := HistogramLength("f", data, false)
		if err != nil {
			return
		}
		drawn, err := l.prepare()
		if err != nil {
			t.Fatal(err)
		}
		r := gen.NewStream(1).At(0)
		if n := drawn.draw(&r); n < 1 || n > l.Most {
			t.Errorf("length %d of at most %d", n, l.Most)
		}
	})
}
