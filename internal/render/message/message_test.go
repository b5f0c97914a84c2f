package message

import (
	"math"
	"testing"
	"time"

	"brunt/internal/render/units"
)

func TestTexts(t *testing.T) {
	late := New("verdict.late", Ns("added", 1_500_000), Nested("of", New("response.p99")), Ns("response", 3_000_000),
		Ns("most", 200_000),
		Nested("cause", New("cause.others", Share("share", 0.61))),
		Nested("remedy", New("remedy.codec", Nested("loops", Message{}))))
	for _, c := range []struct {
		name, en, ru string
		m            Message
	}{
		{
			"nested", "the generator itself sent late: 1.50 ms of the p99 of response time, 3.00 ms, are its own, at most 200 µs would do; other processes had 61.0 % of the cores: free this machine's cores, lower the load, or spread it over machines",
			"генератор сам слал поздно: 1,50\u00a0мс из p99 отклика, 3,00\u00a0мс, его собственные, допустимо не более 200\u00a0мкс; другие процессы заняли 61,0\u00a0% ядер: освободите ядра этой машины, снизьте нагрузку или разделите её между машинами", late},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.m.In(units.English); got != c.en {
				t.Errorf("got  %q\nwant %q", got, c.en)
			}
			if got := c.m.In(units.Russian); got != c.ru {
				t.Errorf("got  %q\nwant %q", got, c.ru)
			}
		})
	}
	_ = math.Inf
	_ = time.Second
}
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		mustLoad(units.English)
	}
}
