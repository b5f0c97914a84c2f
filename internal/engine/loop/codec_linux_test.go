package loop_test

import (
	"context"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/echo"
)

// lost is echo with a codec that reports a chosen number of consumed bytes, which may be impossible.
type lost struct {
	echo.Driver
	consumed func(held int) int
}

type lostCodec struct {
	protocol.Codec
	consumed func(held int) int
}

func (p lost) Open(ctx context.Context, t protocol.Target, program *protocol.Program) (protocol.CodecConn, error) {
	s, err := p.Driver.Open(ctx, t, program)
	s.Codec = lostCodec{s.Codec, p.consumed}
	return s, err
}

func (c lostCodec) Scan(buf []byte, _ *protocol.Request, _ *protocol.Reply) (n int, done bool, need int) {
	return c.consumed(len(buf)), true, 0
}

func TestCodecThatLosesItsPlace(t *testing.T) {
	for _, consumed := range []func(int) int{
		func(int) int { return -1 },
		func(held int) int { return held + 1 },
	} {
		s := listen(t, echo.Config{})
		w, err := workload.Compile(single())
		if err != nil {
			t.Fatal(err)
		}
		collector := measure.NewCollector(1, 1)
		f, err := loop.NewFleet(engine.FleetConfig{
			Workload: w, Clock: engine.NewClock(time.Now()), Collector: collector,
			Where: engine.Where{Targets: []protocol.Target{{Address: s.Address()}}},
		}, lost{consumed: consumed})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Connect(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Run(context.Background(), nil, schedule.Stage{Operations: 3}); err != nil {
			t.Fatal(err)
		}
		f.Close()
		s.Close()
		collector.Cut(1, measure.Meta{})
		if o := collector.Total().Operations[0]; o.Errors[protocol.Protocol] != 3 {
			t.Errorf("%d done, errors %v; want 3 of class protocol", o.Done, o.Errors)
		}
	}
}
