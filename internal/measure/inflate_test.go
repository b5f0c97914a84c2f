package measure

import (
	"bytes"
	"compress/zlib"
	"io"
	"math/rand/v2"
	"testing"
)

// zipped compresses data at a level.
func zipped(t testing.TB, data []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unzipped decompresses a stream with compress/zlib.
func unzipped(stream []byte, most int) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(data) > most {
		err = io.ErrShortBuffer
	}
	return data, err
}

// texts returns data of various kinds.
func texts() (all [][]byte) {
	r := rand.New(rand.NewPCG(1, 2))
	all = append(all, nil, []byte{0}, bytes.Repeat([]byte{7}, 70_000), bytes.Repeat([]byte("abcabd"), 5000))
	for _, spread := range []int{2, 20, 256} {
		data := make([]byte, 100_000)
		for i := range data {
			data[i] = byte(min(r.IntN(spread), r.IntN(spread)))
		}
		all = append(all, data, data[:300], data[:40])
	}
	skewed := make([]byte, 60_000) // long codes
	for i := range skewed {
		for skewed[i] < 40 && r.IntN(2) == 0 {
			skewed[i]++
		}
	}
	return append(all, skewed, appendRaw(nil, record(spread(1, 5000))))
}

// Data that is compressed at any level is decompressed correctly.
func TestInflate(t *testing.T) {
	var f inflater
	for i, data := range texts() {
		for _, level := range []int{zlib.HuffmanOnly, zlib.NoCompression, zlib.BestSpeed, zlib.DefaultCompression,
			zlib.BestCompression} {
			got, err := f.inflate(zipped(t, data, level), len(data))
			if err != nil {
				t.Fatalf("text %d, level %d: %v", i, level, err)
			}
			if !bytes.Equal(got, data) {
				t.Errorf("text %d, level %d: %d bytes came back, not the %d", i, level, len(got), len(data))
			}
			if len(data) > 0 {
				if _, err := f.inflate(zipped(t, data, level), len(data)-1); err == nil {
					t.Errorf("text %d, level %d: more bytes than allowed were taken", i, level)
				}
			}
		}
	}
}

// FuzzInflate compares the inflater with compress/zlib: both accept the same streams, with the same result.
func FuzzInflate(f *testing.F) {
	for _, data := range texts() {
		data = data[:min(len(data), 2000)]
		f.Add(zipped(f, data, zlib.DefaultCompression))
		f.Add(zipped(f, data, zlib.HuffmanOnly))
		f.Add(zipped(f, data, zlib.NoCompression))
	}
	f.Add([]byte{0x78, 0x9c, 0x4b, 0x04, 0x00, 0x00, 0x62, 0x00, 0x62}) // fixed codes
	f.Fuzz(func(t *testing.T, stream []byte) {
		const most = 1 << 16
		var in inflater
		got, err := in.inflate(stream, most)
		want, failure := unzipped(stream, most)
		if (err == nil) != (failure == nil) {
			t.Fatalf("%v, compress/zlib says %v", err, failure)
		}
		if err == nil && !bytes.Equal(got, want) {
			t.Errorf("%d bytes, compress/zlib has %d", len(got), len(want))
		}
	})
}

// BenchmarkInflate decompresses the histogram of a worker's second.
func BenchmarkInflate(b *testing.B) {
	raw := appendRaw(nil, record(spread(1, 2500)))
	stream := zipped(b, raw, zlib.DefaultCompression)
	b.SetBytes(int64(len(raw)))
	b.Run("brunt", func(b *testing.B) {
		var f inflater
		for b.Loop() {
			if _, err := f.inflate(stream, maxPayload); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compress/zlib", func(b *testing.B) {
		r, err := zlib.NewReader(bytes.NewReader(stream))
		if err != nil {
			b.Fatal(err)
		}
		var out bytes.Buffer
		for b.Loop() {
			out.Reset()
			if err := r.(zlib.Resetter).Reset(bytes.NewReader(stream), nil); err != nil {
				b.Fatal(err)
			}
			if _, err := out.ReadFrom(r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
