package flight

import (
	"bytes"
	"compress/gzip"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// seen is what a recording says, with a sample's stack as one text.
type seen struct {
	after  time.Duration
	thread int64
	native bool
	stack  string
}

func read(data []byte) (all []seen, spans []Span, err error) {
	spans, err = Read(bytes.NewReader(data), func(s Sample) {
		all = append(all, seen{s.At.Sub(began), s.Thread, s.Native, strings.Join(s.Stack, " ")})
	})
	return all, spans, err
}

// two returns chunks with samples, and what they say.
func two() (chunks [][]byte, want []seen) {
	chunks = [][]byte{
		chunkOf(recordedSample{idInJava, time.Millisecond, 3, []string{"hot", "main"}},
			recordedSample{idInNative, 2 * time.Second, 4, []string{"wait"}}),
		chunkOf(recordedSample{idInJava, 5 * time.Second, 300, []string{"other", "main"}}),
	}
	return chunks, []seen{{time.Millisecond, 3, false, "app.Main.hot app.Main.main"},
		{2 * time.Second, 4, true, "app.Main.wait"}, {5 * time.Second, 300, false, "app.Main.other app.Main.main"}}
}

func TestChunks(t *testing.T) {
	chunks, want := two()
	whole := bytes.Join(chunks, nil)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(whole); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		data []byte
		want []seen
	}{{"one", chunks[1], want[2:]}, {"several", whole, want}, {"compressed", packed.Bytes(), want}} {
		t.Run(c.name, func(t *testing.T) {
			got, spans, err := read(c.data)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, %v", got, err)
			}
			if last := spans[len(spans)-1]; !last.From.Equal(began) || last.To.Sub(last.From) != time.Second {
				t.Errorf("%+v", spans)
			}
		})
	}
}

// The names of hidden classes don't have what differs from run to run.
func TestNamesOfMethods(t *testing.T) {
	for owner, want := range map[string]string{
		"app/Main": "app.Main.run",
		"app/Main$$Lambda$14+0x0000000800c9000.1773638": "app.Main$$Lambda.run",
		"app/Main$$Lambda$14+0x0000000800c9000/1773638": "app.Main$$Lambda.run",
		"app/Main$$Lambda+0x00007f1c3c000a00":           "app.Main$$Lambda.run",
		"app/Main$$Lambda$14/0x0000000800c9000":         "app.Main$$Lambda.run",
		"app/Main$$Lambda$14/250421012":                 "app.Main$$Lambda.run",
		"app/Main$Inner":                                "app.Main$Inner.run",
		"":                                              "run",
		strings.Repeat("x", 2*longestName):              "(unknown)",
	} {
		c := chunk{in: newDecoder(nil), symbols: map[int64]string{1: owner, 2: "run"}, owners: map[int64]int64{3: 1},
			methods: map[int64]method{4: {3, 2}}, names: map[int64]string{}}
		if got := c.methodName(4); got != want {
			t.Errorf("%s: %s", owner, got)
		}
	}
}

// Broken recordings are refused.
func TestBrokenRecordings(t *testing.T) {
	good, _ := two()
	changed := func(at int, value byte) []byte {
		data := bytes.Clone(good[0])
		data[at] = value
		return data
	}
	slow := bytes.Clone(good[0])
	clear(slow[56:64])
	// Types without bytes that contain each other: forty to the power of twenty values.
	var deep []described
	for i := range 20 {
		fields := make([]field, 40)
		for k := range fields {
			fields[k] = field{"x", int64(101 + i), false, false}
		}
		deep = append(deep, described{100 + i, "deep", fields})
	}
	deep = append(deep, described{120, "end", nil})
	values := &pool{kind: 100, number: 1}
	values.data.long(1)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "EOF"},
		{"text", []byte(strings.Repeat("no recording ", 20)), "no flight recording"},
		{"older version", changed(5, 1), "version 1.1"},
		{"integers of fixed size", changed(67, 0), "integers of fixed size"},
		{"clock without a frequency", slow, "broken"},
		{"a chunk of exabytes", changed(8, 0x7f), "a chunk of"},
		{"constants beyond the chunk", changed(17, 1), "broken"},
		{"types beyond the chunk", changed(25, 1), "broken"},
		{"cut", good[0][:len(good[0])-1], "broken"},
		{"types without bytes", assembled(nil, description(deep), list(0), list(0, values)), "broken"},
		{"lists in a circle", assembled(nil, description(types), list(0), list(1<<40)), "broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := read(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// FuzzRead: whatever is read, nothing panics, and memory stays within a multiple of the input.
func FuzzRead(f *testing.F) {
	chunks, _ := two()
	for _, c := range chunks {
		f.Add(c)
	}
	f.Add(bytes.Join(chunks, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 || bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = Read(bytes.NewReader(data), func(s Sample) {
			for _, name := range s.Stack {
				if len(name) > longestName {
					t.Errorf("a name of %d bytes", len(name))
				}
			}
		})
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("%d bytes allocated for %d", used, len(data))
		}
	})
}
