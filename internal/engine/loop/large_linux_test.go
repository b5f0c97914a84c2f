package loop_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/load/gen"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/echo"
)

// large is a protocol whose answers have any length. A request is a length of 4 bytes. Its answer is this length,
// followed by that many bytes. The codec needs the whole answer at once.
type large struct {
	echo.Driver
	lengths []uint32
	told    bool // the codec announces how many bytes it needs
}

func (p large) Open(ctx context.Context, t protocol.Target, _ *protocol.Program) (protocol.CodecConn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.Address)
	if err != nil {
		return protocol.CodecConn{}, err
	}
	return protocol.CodecConn{Net: c, Codec: &largeCodec{large: p}}, nil
}

type largeCodec struct {
	large
	sent, answered int
}

func (c *largeCodec) Encode(dst []byte, _ *protocol.Request, _ []gen.Value) ([]byte, *protocol.Error) {
	dst = binary.LittleEndian.AppendUint32(dst, c.lengths[c.sent%len(c.lengths)])
	c.sent++
	return dst, nil
}

func (c *largeCodec) Scan(buf []byte, _ *protocol.Request, reply *protocol.Reply) (n int, done bool, need int) {
	if len(buf) < 4 {
		return 0, false, 0
	}
	length := binary.LittleEndian.Uint32(buf)
	if length != c.lengths[c.answered%len(c.lengths)] {
		reply.Failure = protocol.Failure{Class: protocol.Protocol, Text: "wrong length", Fatal: true}
		return 0, false, 0
	}
	if uint32(len(buf)-4) < length {
		if c.told {
			need = int(length) + 4
		}
		return 0, false, need
	}
	for i := range length {
		if buf[4+i] != byte(i*7) {
			reply.Failure = protocol.Failure{Class: protocol.Protocol, Text: "wrong content", Fatal: true}
			return 0, false, 0
		}
	}
	c.answered++
	reply.BytesIn = int64(length) + 4
	return int(length) + 4, true, 0
}

func serveLarge(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			var head [4]byte
			for {
				if _, err := io.ReadFull(c, head[:]); err != nil {
					return
				}
				answer := make([]byte, 4+binary.LittleEndian.Uint32(head[:]))
				copy(answer, head[:])
				for i := range answer[4:] {
					answer[4+i] = byte(i * 7)
				}
				if _, err := c.Write(answer); err != nil {
					return
				}
			}
		}()
	}
}

func TestLargeAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go serveLarge(l)
	w, err := workload.Compile(single())
	if err != nil {
		t.Fatal(err)
	}
	for _, told := range []bool{false, true} {
		p := large{lengths: []uint32{0, 3 << 20, 1, 70_000, 256<<10 - 4, 256 << 10, 1 << 20, 100}, told: told}
		collector := measure.NewCollector(1, 1)
		f, err := loop.NewFleet(engine.FleetConfig{
			Workload: w, Sessions: 3, Clock: engine.NewClock(time.Now()), Collector: collector,
			Where:    engine.Where{Targets: []protocol.Target{{Address: l.Addr().String()}}},
			ForLoops: engine.ForLoops{Pipeline: 3},
		}, p)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Connect(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Run(context.Background(), nil, schedule.Stage{Operations: 96}); err != nil {
			t.Fatal(err)
		}
		f.Close()
		collector.Cut(1, measure.Meta{})
		if o := collector.Total().Operations[0]; o.OK() != 96 {
			t.Errorf("told %v: %d OK of 96, errors %v", told, o.OK(), o.Errors)
		}
	}
}
