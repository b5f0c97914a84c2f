package http2

import (
	"testing"

	"golang.org/x/net/http2"

	"brunt/internal/protocol"
)

// resets returns the streams that frames reset, in order.
func resets(t *testing.T, frames []byte) []uint32 { return streamsOf(t, frames, http2.FrameRSTStream) }

// What the server still sends of a request that was given up is skipped: it belongs to no other.
func TestDroppedRequestsAreSkipped(t *testing.T) {
	for _, dropped := range []uint32{1, 3, 5} {
		c, _ := opened()
		for range 3 {
			c.Append(nil, 0, nil, nil)
		}
		c.Drop(uint64(dropped))
		if got := resets(t, c.Speak(nil)); len(got) != 1 || got[0] != dropped {
			t.Fatalf("%v are reset, not %d", got, dropped)
		}
		for _, id := range []uint32{1, 3, 5} {
			if id == dropped {
				continue
			}
			if _, ok := c.Answers(end(dropped)); ok {
				t.Errorf("stream %d, which was dropped, has an answer", dropped)
			}
			c.Turn(uint64(id))
			var reply protocol.Reply
			answer := append(frameOf(http2.FrameData, 0, dropped, []byte("late")), end(id)...)
			if n, done, _ := c.Scan(answer, &reply, ""); n != len(answer) || !done || reply.Class != protocol.OK {
				t.Errorf("stream %d without %d: %d of %d bytes, %v, %+v", id, dropped, n, len(answer), done, reply.Failure)
			}
		}
		if c.ID != 0 || len(c.streams) != 0 {
			t.Errorf("without %d, %d streams are left", dropped, len(c.streams))
		}
	}
}

// A request that waits for room is given up without a word, and one that is being sent makes room for the next.
func TestDroppedRequestsMakeRoom(t *testing.T) {
	c, _ := opened()
	c.Append(nil, 0, nil, make([]byte, StandardWindow+1))
	var reply protocol.Reply
	c.Scan(settings(http2.SettingMaxConcurrentStreams, 1), &reply, "")
	c.Speak(nil)
	for range 2 {
		c.Append(nil, 0, nil, nil)
	}
	c.Drop(3)
	if got := resets(t, c.Speak(nil)); len(got) != 0 || len(c.held) != 1 {
		t.Fatalf("%v are reset, %d wait", got, len(c.held))
	}
	c.Drop(1)
	if out := c.Speak(nil); len(resets(t, out)) != 1 || len(began(t, out)) != 1 || c.stuck != 0 || c.ID != 5 {
		t.Errorf("%v reset, %v begun, %d stuck, stream %d", resets(t, out), began(t, out), c.stuck, c.ID)
	}
}
