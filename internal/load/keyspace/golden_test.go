package keyspace

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lines reads a file with output of go-ycsb; see testdata/goycsb/README.
func lines(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join("../..", "dialect", "ycsb", "testdata", "goycsb", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		out = append(out, s.Text())
	}
	if len(out) == 0 {
		t.Fatalf("%s is empty", name)
	}
	return out
}

func TestHashOfPublishedConstants(t *testing.T) {
	for _, c := range []struct{ n, goYCSB, java int64 }{
		{0, 6284781860667377211, 6284781860667377211},
		{1, 6284782960179005422, 8517097267634966620},
		{2, 6284784059690633633, 1820151046732198393},
	} {
		if got := GoYCSB.Hash(c.n); got != c.goYCSB {
			t.Errorf("go-ycsb's hash of %d is %d, want %d", c.n, got, c.goYCSB)
		}
		if got := Java.Hash(c.n); got != c.java {
			t.Errorf("Java's hash of %d is %d, want %d", c.n, got, c.java)
		}
	}
}

func TestKeysAreGoYCSBs(t *testing.T) {
	for _, c := range []struct {
		file  string
		first int64
		keys  Keys
	}{
		{"keys-hashed.txt", 0, Keys{Prefix: "user", Padding: 1}},
		{"keys-from-1000.txt", 1000, Keys{Prefix: "user", Padding: 1}},
		{"keys-ordered-padded.txt", 0, Keys{Prefix: "k", Padding: 8, Ordered: true}},
		{"keys-hashed-padded.txt", 0, Keys{Padding: 24}},
	} {
		for i, want := range lines(t, c.file) {
			if got := string(c.keys.Append(nil, c.first+int64(i))); got != want {
				t.Errorf("%s: key %d is %s, want %s", c.file, i, got, want)
			}
		}
	}
}

func TestKeysOfNegativeNumbers(t *testing.T) {
	k := Keys{Prefix: "user", Padding: 6, Ordered: true}
	if got := string(k.Append(nil, -12)); got != "user-00012" {
		t.Errorf("got %s, want what %%06d gives", got)
	}
	if got := string(k.Append(nil, math.MinInt64)); got != "user-9223372036854775808" {
		t.Errorf("got %s", got)
	}
}

func TestIntegrityValuesAreGoYCSBs(t *testing.T) {
	for file, length := range map[string]int{"integrity-150.txt": 150, "integrity-7.txt": 7} {
		for _, line := range lines(t, file) {
			part := strings.Split(line, "\t")
			got := string(AppendIntegrity([]byte("x"), []byte(part[0]), strings.ToUpper(part[1]), length))
			if got != "x"+part[2] {
				t.Errorf("%s of %s is %s, want %s", part[1], part[0], got[1:], part[2])
			}
		}
	}
}

// The sums were computed by Python's math.fsum of k**-0.99. The last one is the constant that YCSB publishes.
func TestZeta(t *testing.T) {
	for _, c := range []struct {
		n         int64
		want      float64
		tolerance float64
	}{
		{1, 1, 1e-15},
		{2, 1.5034777750283594, 1e-15},
		{64, 4.831186373718823, 1e-14},
		{65, 4.847226795245089, 1e-13},
		{1000, 7.728953217284738, 1e-12},
		{1000000, 15.391849746036804, 1e-12},
		{10000000000, scrambledZeta, 1e-9},
	} {
		if got := Zeta(c.n); math.Abs(got-c.want) > c.tolerance*c.want {
			t.Errorf("Zeta(%d) is %.16g, want %.16g", c.n, got, c.want)
		}
	}
}
