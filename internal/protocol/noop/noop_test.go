package noop

import (
	"context"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func TestAnswersAtOnce(t *testing.T) {
	c, err := Driver{}.Dial(context.Background(), protocol.Target{}, &protocol.Program{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := protocol.Request{Verb: protocol.Call, Capture: make([]protocol.Capture, 2)}
	args := make([]gen.Value, 1)
	args[0].SetInt(5)
	var reply protocol.Reply
	reply.Reset(2)
	allocations := testing.AllocsPerRun(100, func() {
		reply.Reset(2)
		c.Do(context.Background(), &r, args, &reply)
	})
	if reply.Class != protocol.OK || reply.Captured[0].I != 5 || reply.Captured[1].Kind != gen.Null || allocations != 0 {
		t.Errorf("%+v with %g allocations", reply, allocations)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if c.Do(ended, &r, args, &reply); reply.Class != protocol.Timeout {
		t.Errorf("after its end: %+v", reply.Failure)
	}
	if _, err := (Driver{}).Dial(ended, protocol.Target{}, &protocol.Program{}); protocol.AsError(err) == nil {
		t.Error("dialled after the end")
	}
}
