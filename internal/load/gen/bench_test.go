package gen

import "testing"

func BenchmarkValue(b *testing.B) {
	for _, c := range []struct {
		name string
		spec Spec
	}{
		{"integer/uniform", Spec{Type: TypeInteger}},
		{"integer/normal", Spec{Type: TypeInteger, Distribution: Normal}},
		{"integer/zipf", Spec{Type: TypeInteger, Distribution: Zipf}},
		{"integer/exponential", Spec{Type: TypeInteger, Distribution: Exponential}},
		{"integer/hotspot", Spec{Type: TypeInteger, Distribution: Hotspot}},
		{"integer/sequential", Spec{Type: TypeInteger, Distribution: Sequential}},
		{"integer/histogram", Spec{Type: TypeInteger, Distribution: Histogram, Buckets: []Bucket{{Weight: 1}, {Weight: 2}}}},
		{"integer/nulls", Spec{Type: TypeInteger, NullPercent: 10}},
		{"integer/unique", Spec{Type: TypeInteger, Unique: true}},
		{"double/uniform", Spec{Type: TypeDouble}},
		{"boolean", Spec{Type: TypeBoolean}},
		{"datetime", Spec{Type: TypeDatetime}},
		{"uuid", Spec{Type: TypeUUID}},
		{"string/en-16", Spec{Type: TypeString, HasRange: true, IntLo: 16, IntHi: 16}},
		{"string/en-100", Spec{Type: TypeString, HasRange: true, IntLo: 100, IntHi: 100}},
		{"string/ru-100", Spec{Type: TypeString, Alphabet: []string{"ru"}, HasRange: true, IntLo: 100, IntHi: 100}},
		{"json", Spec{Type: TypeJSON}},
	} {
		b.Run(c.name, func(b *testing.B) {
			g, err := New(&c.spec, NewStream(42), 0, nil)
			if err != nil {
				b.Fatal(err)
			}
			v := Value{B: make([]byte, 0, 1024)}
			b.ReportAllocs()
			for i := uint64(0); b.Loop(); i++ {
				g.Value(&v, i)
			}
		})
	}
}

func BenchmarkPermutation(b *testing.B) {
	p := NewPermutation(NewStream(42), 1_000_000)
	for i := uint64(0); b.Loop(); i++ {
		p.At(i)
	}
}

func BenchmarkWeighted(b *testing.B) {
	w, err := NewWeighted([]float64{10, 10, 6, 5, 1, 1, 1})
	if err != nil {
		b.Fatal(err)
	}
	s := NewStream(42)
	for i := uint64(0); b.Loop(); i++ {
		w.At(s, i)
	}
}

func BenchmarkChecksumRow(b *testing.B) {
	row := make([]Value, 4)
	row[0].SetInt(5)
	row[1].SetString("a text of about thirty letters")
	row[2].SetAny(1.5)
	row[3].SetAny(true)
	b.ReportAllocs()
	for b.Loop() {
		ChecksumRow(row)
	}
}
