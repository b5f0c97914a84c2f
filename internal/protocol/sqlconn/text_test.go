package sqlconn

import (
	"brunt/internal/load/gen"
	"testing"
	"time"
)

func TestInsert(t *testing.T) {
	for want, got := range map[string]string{
		`REPLACE INTO t (a, b) VALUES (?, ?), (?, ?)`:    Insert("REPLACE", "t", []string{"a", "b"}, 2, false),
		`INSERT INTO "t" ("a") VALUES ($1), ($2), ($3)`:  Insert("INSERT", `"t"`, []string{`"a"`}, 3, true),
		`INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4)`: Insert("INSERT", "t", []string{"a", "b"}, 2, true),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestText(t *testing.T) {
	for want, v := range map[string]any{
		"": nil, "-1": int64(-1), "18446744073709551615": ^uint64(0), "0.1": float32(0.1), "1e+300": 1e300, "x": "x",
		"y":                           []byte("y"),
		"2023-11-14T22:13:20.000001Z": time.UnixMicro(1700000000000001), "true": true,
	} {
		if got := string(Text(v)); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}

// Decoding never panics and gives the kind asked for or an error.
func FuzzDecode(f *testing.F) {
	f.Add("12.50", int64(3), 1.5)
	f.Add("00112233-4455-6677-8899-aabbccddeeff", int64(-1), 1e300)
	f.Fuzz(func(t *testing.T, s string, i int64, x float64) {
		for want := gen.Null; want <= gen.JSON; want++ {
			for _, bytes := range []gen.Kind{gen.Bytes, gen.String} {
				for _, from := range []any{nil, s, []byte(s), i, x, time.UnixMicro(i)} {
					var v gen.Value
					if err := decode(&v, from, want, bytes); err == nil && want != gen.Null && from != nil && v.Kind != want &&
						!(want == gen.UUID && bytes == gen.String && v.Kind == gen.String) {
						t.Errorf("%v became kind %d, want %d", from, v.Kind, want)
					}
				}
			}
		}
	})
}
