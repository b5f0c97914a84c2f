package loop

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/load/gen"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/redis"
)

// BenchmarkRequest measures the loop's own work for a request of a closed load: begin, encode, note, scan, record.
// Nothing is written, and answers are in memory. One iteration is one request. In a turn of the loop, each session gets
// one answer, or as many as are pipelined.
func BenchmarkRequest(b *testing.B) {
	for _, c := range []struct{ sessions, pipeline int }{{1, 1}, {50, 1}, {50, 16}} {
		b.Run(fmt.Sprintf("sessions=%d/pipeline=%d", c.sessions, c.pipeline), func(b *testing.B) {
			l := offline(b, c.sessions, c.pipeline)
			answer := []byte("$3\r\nxxx\r\n")
			answers := bytes.Repeat(answer, c.pipeline)
			l.startStage(newStagePart(schedule.Stage{Operations: uint64(b.N)}, 0, 1, 0, make(chan *stagePart, 1)))
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; done += c.sessions * c.pipeline {
				for a := l.available.peek(); a != nil && l.startPipeline(a, l.now()); a = l.available.peek() {
					s := a.sessions[0]
					l.available.drop()
					l.stampSent(s)
					l.wrote(s, len(s.out))
				}
				for i := range l.sessions {
					s := &l.sessions[i]
					l.scan(s, answers[:s.outstanding*len(answer)], l.now())
				}
				l.rec.Poll()
			}
		})
	}
}

// offline returns a loop that doesn't run. Commands of Redis can be encoded for its sessions.
func offline(b *testing.B, sessions, pipeline int) *loop {
	b.Helper()
	p := &plan.Plan{Name: "get", Seed: 1, Operations: []plan.Operation{{Name: "get", Weight: 1, Steps: []plan.Step{{
		Request: protocol.Request{Verb: protocol.Command, Words: []string{"GET", "key:$1"}, Params: []gen.Kind{gen.Int}},
		Params: []plan.Param{{Value: &plan.ValueSpec{
			Spec: gen.Spec{Type: gen.TypeInteger, HasRange: true, IntLo: 1, IntHi: 100_000}}}},
	}}}}}
	work, err := workload.Compile(p)
	if err != nil {
		b.Fatal(err)
	}
	f, err := NewFleet(engine.FleetConfig{
		Workload: work, Sessions: sessions, Collector: measure.NewCollector(1, 1), Clock: engine.NewClock(time.Now()),
		Where:    engine.Where{Targets: []protocol.Target{{Address: ponger(b)}}},
		ForLoops: engine.ForLoops{Pipeline: pipeline, ClosedOnly: true, Loops: 1},
	}, redis.New())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(f.Close)
	l := f.loops[0]
	l.rec = f.recorder()
	for i := range l.sessions {
		fd, conn, refused := f.connect(0)
		if refused != nil {
			b.Fatal(refused)
		}
		l.connected(&l.sessions[i], fd, &conn)
	}
	return l
}

// ponger starts a server that answers only PING, which connections begin with.
func ponger(b *testing.B) (address string) {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for in := bufio.NewReader(c); ; {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					if line == "PING\r\n" {
						fmt.Fprint(c, "+PONG\r\n")
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}
