package measure

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"math"
	"runtime"
	"strings"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// encodeHDR returns the encoding of h in base64.
func encodeHDR(h *Histogram) string { return string(new(HDREncoder).Append(nil, h)) }

// decodeHDR is the inverse of encodeHDR. The sum is that of the buckets' middle values.
func decodeHDR(s string) (*Histogram, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, err
	}
	h := NewHistogram()
	if err := new(HDRDecoder).DecodeInto(h, b); err != nil {
		return nil, err
	}
	h.sumBuckets()
	return h, nil
}

func TestEncodingBothWays(t *testing.T) {
	var e HDREncoder
	for seed := range uint64(12) {
		values := spread(seed, int(seed*seed)*60)
		if seed == 11 {
			values = append(values, 0, 0, 1, highestNs)
		}
		h, p := record(values), peer(t, values)
		text := encodeHDR(h)
		if again := string(e.Append([]byte("x"), h)); again != "x"+text {
			t.Fatalf("seed %d: a used encoder gives another text", seed)
		}
		theirs, err := hdr.Decode([]byte(text))
		if err != nil {
			t.Fatalf("seed %d: the peer can't read it: %v", seed, err)
		}
		if !theirs.Equals(p) || theirs.TotalCount() != int64(len(values)) {
			t.Fatalf("seed %d: the peer reads something else", seed)
		}
		b, err := p.Encode(hdr.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeHDR(string(b))
		if err != nil {
			t.Fatalf("seed %d: can't read the peer's: %v", seed, err)
		}
		mustEqualCounts(t, back, h)
		back.Restore(h.Min(), h.Max(), h.Mean())
		if back.Min() != h.Min() || back.Max() != h.Max() || math.Abs(back.Mean()-h.Mean()) > h.Mean()*1e-15 {
			t.Fatalf("seed %d: restored %d–%d %g, want %d–%d %g", seed, back.Min(), back.Max(), back.Mean(), h.Min(), h.Max(),
				h.Mean())
		}
	}
}

func TestDecodedFiguresAreTheBuckets(t *testing.T) {
	h := NewHistogram()
	h.Record(1_000_001)
	h.Record(3_000_001)
	back, err := decodeHDR(encodeHDR(h))
	if err != nil {
		t.Fatal(err)
	}
	lo, _ := bucketRange(bucketOf(1_000_001))
	_, hi := bucketRange(bucketOf(3_000_001))
	if back.Min() != lo || back.Max() != hi || math.Abs(back.Mean()-2_000_001) > 2000 {
		t.Errorf("%d–%d, mean %g", back.Min(), back.Max(), back.Mean())
	}
	back.Restore(0, math.MaxInt64, math.NaN())
	if back.Min() != lo || back.Max() != hi {
		t.Errorf("nonsense was restored: %d–%d", back.Min(), back.Max())
	}
}

// wrap compresses and encodes a payload as HDREncoder.Append does.
func wrap(payload []byte) string {
	var b bytes.Buffer
	b.Write(make([]byte, 8))
	z := zlib.NewWriter(&b)
	z.Write(payload)
	z.Close()
	binary.BigEndian.PutUint32(b.Bytes(), cookieV2Compressed)
	binary.BigEndian.PutUint32(b.Bytes()[4:], uint32(b.Len()-8))
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// payload returns counts with a valid header.
func payload(counts []byte) []byte {
	b := appendRaw(nil, NewHistogram())
	binary.BigEndian.PutUint32(b[4:], uint32(len(counts)))
	return append(b, counts...)
}

func TestDecodeRefuses(t *testing.T) {
	header := func(at int, v uint64) string {
		b := payload(nil)
		if at < 16 {
			binary.BigEndian.PutUint32(b[at:], uint32(v))
		} else {
			binary.BigEndian.PutUint64(b[at:], v)
		}
		return wrap(b)
	}
	most := appendZigZag(nil, math.MaxInt64)
	for _, c := range []struct{ text, say string }{
		{"", "not in the V2"},
		{strings.Repeat("A", maxEncoded/3*4+8), "more than a histogram"},
		{base64.StdEncoding.EncodeToString([]byte("\x1c\x84\x93\x14\x00\x00\x00\x09abc")), "announced"},
		{base64.StdEncoding.EncodeToString([]byte("\x1c\x84\x93\x14\x00\x00\x00\x03abc")), "zlib"},
		{wrap([]byte("short")), "no V2 header"},
		{wrap(make([]byte, 100)), "no V2 header"},
		{wrap(payload(make([]byte, maxPayload))), "more counts"},
		{header(4, 99), "announced"},
		{header(8, 1), "layout"},
		{header(12, 2), "layout"},
		{header(16, 1000), "layout"},
		{header(32, 0), "layout"},
		{wrap(payload([]byte{0x80})), "cut off"},
		{wrap(payload(appendZigZag(nil, math.MinInt64))), "beyond bucket"},
		{wrap(payload(append(appendZigZag(nil, -1), appendZigZag(nil, -math.MaxInt64)...))), "beyond bucket"},
		{wrap(payload(appendZigZag(appendZigZag(nil, -buckets), 1))), "beyond bucket"},
		{wrap(payload(bytes.Repeat(most, 3))), "64 bits"},
	} {
		h, err := decodeHDR(c.text)
		if err == nil || h != nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%.40q: %v, want %q", c.text, err, c.say)
		}
	}
}

// A zlib bomb, 64 MiB of zeros in a valid encoding, is decoded in bounded memory.
func TestDecodeIsBounded(t *testing.T) {
	var b bytes.Buffer
	b.Write(make([]byte, 8))
	z, err := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range 16 { // twice the allowed memory
		z.Write(zeros)
	}
	z.Close()
	binary.BigEndian.PutUint32(b.Bytes(), cookieV2Compressed)
	binary.BigEndian.PutUint32(b.Bytes()[4:], uint32(b.Len()-8))
	text := base64.StdEncoding.EncodeToString(b.Bytes())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := decodeHDR(text); err == nil {
		t.Error("a bomb was taken")
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
}

func TestZigZag(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 63, 64, -64, -65, 1 << 20, -1 << 40, 1<<55 - 1, 1 << 55, 1 << 56, math.MaxInt64,
		math.MinInt64} {
		b := appendZigZag(nil, v)
		got, rest, ok := readZigZag(append(b, 0xff))
		if !ok || got != v || len(rest) != 1 || len(b) > maxVarint {
			t.Errorf("%d came back as %d from % x", v, got, b)
		}
	}
}

func FuzzDecodeHDR(f *testing.F) {
	f.Add(encodeHDR(record(spread(1, 500))))
	f.Add(encodeHDR(NewHistogram()))
	f.Add(wrap(payload([]byte{0x81, 0x80, 0x02, 0x03})))
	f.Fuzz(func(t *testing.T, text string) {
		h, err := decodeHDR(text)
		if err != nil {
			return
		}
		again, err := decodeHDR(encodeHDR(h))
		if err != nil {
			t.Fatal(err)
		}
		mustEqual(t, again, h)
	})
}

// FuzzDecodeCounts tests the decoder behind the decompression.
func FuzzDecodeCounts(f *testing.F) {
	raw := appendRaw(nil, record(spread(1, 500)))
	f.Add(raw[headerSize:])
	f.Add([]byte{0, 0, 1, 2, 4})
	f.Add(appendZigZag(appendZigZag(nil, -38000), 5))
	f.Fuzz(func(t *testing.T, counts []byte) {
		h := NewHistogram()
		err := h.readCounts(counts)
		h.sumBuckets()
		if err != nil {
			return
		}
		again, err := decodeHDR(encodeHDR(h))
		if err != nil {
			t.Fatal(err)
		}
		mustEqual(t, again, h)
	})
}

// FuzzAgainstPeer records arbitrary values and compares with an independent implementation.
func FuzzAgainstPeer(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), 0.5)
	f.Fuzz(func(t *testing.T, data []byte, q float64) {
		var values []int64
		for len(data) >= 8 {
			values = append(values, int64(binary.LittleEndian.Uint64(data)>>(data[0]&63))&(1<<46-1))
			data = data[8:]
		}
		h, p := record(values), peer(t, values)
		theirs, err := hdr.Decode([]byte(encodeHDR(h)))
		if err != nil {
			t.Fatal(err)
		}
		if !theirs.Equals(p) {
			t.Fatalf("the peer reads something else of %v", values)
		}
		if len(values) == 0 || !(q >= 0 && q <= 1) {
			return
		}
		rank := int64(math.Ceil(q * float64(len(values))))
		exact := float64(max(rank, 1)) / float64(len(values))
		if got, want := h.Quantile(exact), p.ValueAtPercentile(exact*100); got != min(want, h.Max()) {
			t.Fatalf("quantile %g of %v is %d, want %d", exact, values, got, want)
		}
	})
}

// Merging a histogram's compact form is the same as recording its values again, including sums and extremes.
func TestCompactKeepsEverything(t *testing.T) {
	for name, values := range map[string][]int64{
		"nothing": nil, "one": {7}, "few": {0, 1, 1, 2047, 2048}, "many": nil, "the greatest": {highestNs, highestNs - 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h, want := NewHistogram(), NewHistogram()
			if name == "many" {
				for i := range int64(5000) {
					values = append(values, i*i*i)
				}
			}
			for _, v := range values {
				h.Record(v)
			}
			h.RecordN(12345, uint64(len(values))<<33)
			want.Merge(h)
			want.Merge(h)
			got := NewHistogram()
			packed := h.AppendCompact(nil)
			got.MergeCompact(packed)
			got.MergeCompact(packed)
			if got.Count() != want.Count() || got.Min() != want.Min() || got.Max() != want.Max() || got.Sum() != want.Sum() {
				t.Errorf("%d values from %d to %d, sum %g; want %d from %d to %d, %g",
					got.Count(), got.Min(), got.Max(), got.Sum(), want.Count(), want.Min(), want.Max(), want.Sum())
			}
			if encodeHDR(got) != encodeHDR(want) {
				t.Error("the counts differ")
			}
		})
	}
}

func TestEncodersAgreeWithFreshOnes(t *testing.T) {
	histograms := []*Histogram{NewHistogram(), NewHistogram(), NewHistogram(), NewHistogram()}
	histograms[1].Record(5)
	for i := range int64(1000) {
		histograms[2].Record(i * 7919)
		histograms[3].Record(i * 7907)
	}
	var e HDREncoder
	for _, i := range []int{0, 1, 1, 2, 2, 3, 2, 1, 2, 0, 0, 3, 3, 1} {
		if got, want := string(e.Append(nil, histograms[i])), encodeHDR(histograms[i]); got != want {
			t.Fatalf("histogram %d is encoded as %q, want %q", i, got, want)
		}
	}
}
