package timeline

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

func interval(k int, ns ...int64) *measure.Interval {
	iv := &measure.Interval{Index: k, Phase: "hold", Kind: measure.KindOpen, Account: measure.Account{
		StartNs: int64(k) * 1e9, EndNs: int64(k+1) * 1e9, Offered: uint64(len(ns)),
		Operations: make([]measure.OperationAccount, 1),
	}}
	o := &iv.Operations[0]
	o.Response = measure.NewHistogram()
	for _, v := range ns {
		o.Done++
		o.Response.Record(v)
	}
	iv.Settle()
	return iv
}

func TestExtremesStayAndSumsToo(t *testing.T) {
	line := New(8)
	for k := range 1000 {
		iv := interval(k, 1000, 2000)
		switch k {
		case 313:
			iv = interval(k, 1000, 5e9)
		case 500:
			iv = interval(k)
		case 700:
			iv.Operations[0].Errors[protocol.Timeout] = 1
			iv.Operations[0].Done++
			iv.Backlog = 77
		}
		if err := line.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(line.Slots); n > 8 || n < 4 {
		t.Fatalf("%d slots", n)
	}
	var sum Slot
	for i := range line.Slots {
		s := &line.Slots[i]
		if i > 0 && s.StartNs != line.Slots[i-1].EndNs {
			t.Errorf("slot %d begins at %d", i, s.StartNs)
		}
		sum.OK, sum.Failed = sum.OK+s.OK, sum.Failed+s.Failed
		sum.ResponseMaxNs, sum.Backlog = max(sum.ResponseMaxNs, s.ResponseMaxNs), max(sum.Backlog, s.Backlog)
		sum.Response = sum.Response.Add(s.Response)
		sum.RateHigh = max(sum.RateHigh, s.RateHigh)
		if s.StartNs <= 500e9 && s.EndNs > 500e9 && s.RateLow != 0 {
			t.Errorf("the second without answers is lost: %g", s.RateLow)
		}
	}
	if sum.OK != 1998 || sum.Failed != 1 || sum.ResponseMaxNs != 5e9 || sum.Backlog != 77 || sum.Response.Count() != 1998 {
		t.Errorf("%+v", sum)
	}
	if line.Generation() == 0 || line.Slots[len(line.Slots)-1].EndNs != 1000e9 {
		t.Errorf("generation %d", line.Generation())
	}
}

func TestWhatIsLeftOfAPhaseIsNoSlot(t *testing.T) {
	line := New(0)
	for k := range 5 {
		_ = line.Interval(interval(k, 1000))
	}
	rest := interval(5, 1000)
	rest.EndNs = rest.StartNs + 3e6
	_ = line.Interval(rest)
	if n := len(line.Slots); n != 5 || line.Slots[4].OK != 2 {
		t.Errorf("%d slots", n)
	}
	warm := interval(6, 1000)
	warm.WarmUp = true
	_ = line.Interval(warm)
	if len(line.Slots) != 6 {
		t.Error("warm-up is joined with what it isn't")
	}
}

func TestSketchesKnowValuesToThreePerCent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h := measure.NewHistogram()
	for range 20_000 {
		h.Record(int64(1e5 * math.Exp(1.5*r.NormFloat64())))
	}
	s := SketchOf(h)
	if s.Count() != h.Count() {
		t.Errorf("%d values", s.Count())
	}
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
		if a, b := s.Quantile(q, 0), float64(h.Quantile(q)); math.Abs(a/b-1) > 0.03 {
			t.Errorf("quantile %g: %g, not %g", q, a, b)
		}
	}
	if v := s.Quantile(0.99, 20_000); !math.IsInf(v, 1) {
		t.Errorf("p99 with half unanswered: %g", v)
	}
	if v := Sketch(nil).Quantile(0.5, 0); !math.IsNaN(v) {
		t.Errorf("of nothing: %g", v)
	}
}

func TestBucketsFollowEachOther(t *testing.T) {
	for _, ns := range []int64{0, 1, 63, 64, 65, 127, 128, 1000, 1e6, 123_456_789, 3600e9, 24 * 3600e9} {
		i := IndexOf(ns)
		if EdgeOf(i) > ns || EdgeOf(i+1) <= ns {
			t.Errorf("%d lies in bucket %d, from %d to %d", ns, i, EdgeOf(i), EdgeOf(i+1))
		}
	}
	for i := range int(1400) {
		if IndexOf(EdgeOf(i)) != i {
			t.Errorf("bucket %d begins at %d, which lies in %d", i, EdgeOf(i), IndexOf(EdgeOf(i)))
		}
	}
}

// Parts have the slots of the whole, and add up to it.
func TestPartsAddUp(t *testing.T) {
	whole := New(8)
	whole.Part(3)
	many := New(8)
	many.Part(2)
	for k := range 37 {
		iv := &measure.Interval{Phase: "hold", WarmUp: k < 3, Account: measure.Account{
			StartNs: int64(k) * 1e9, EndNs: int64(k+1) * 1e9, Operations: make([]measure.OperationAccount, 3),
			Addresses: make([]measure.AddressAccount, 1),
		}}
		for i := range iv.Operations {
			h := measure.NewHistogram()
			h.RecordN(int64(i+1)*1e6, uint64(i+1))
			iv.Operations[i].Done, iv.Operations[i].Response, iv.Operations[i].Service = h.Count(), h, h
		}
		for _, line := range []*Timeline{whole, many} {
			if err := line.Interval(iv); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(whole.Operations) != 3 || len(whole.Addresses) != 0 || len(many.Operations) != 0 {
		t.Fatalf("%d operations, %d addresses; of too many %d", len(whole.Operations), len(whole.Addresses),
			len(many.Operations))
	}
	for k := range whole.Slots {
		var ok uint64
		for _, part := range whole.Operations {
			s := part.Slots[k]
			if s.StartNs != whole.Slots[k].StartNs || s.EndNs != whole.Slots[k].EndNs || s.WarmUp != whole.Slots[k].WarmUp {
				t.Errorf("slot %d of an operation is %d–%d", k, s.StartNs, s.EndNs)
			}
			ok += s.OK
		}
		if ok != whole.Slots[k].OK || ok == 0 {
			t.Errorf("slot %d: %d of %d", k, ok, whole.Slots[k].OK)
		}
	}
}

func TestColumns(t *testing.T) {
	line := New(0)
	empty, err := json.Marshal(line.Columns(0))
	if err != nil || strings.Contains(string(empty), "null") {
		t.Errorf("of nothing: %s, %v", empty, err)
	}
	iv := interval(0, 1000, 2000)
	iv.Operations[0].Errors[protocol.Timeout], iv.Operations[0].Done = 3, 5
	_ = line.Interval(iv)
	text, err := json.Marshal(line.Columns(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"rate":[2]`, `"errors":{"timeout":[3]}`, `"noAnswer":[3]`, `"p99":[null]`,
		`"max":[2000]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	for v, want := range map[Number]string{Number(math.NaN()): "null", Number(math.Inf(1)): "null", 1234567: "1235000",
		0.123456: "0.1235", 42: "42", 1e-7: "1e-07"} {
		if got, _ := v.MarshalJSON(); string(got) != want {
			t.Errorf("%g is %s, want %s", float64(v), got, want)
		}
	}
}
