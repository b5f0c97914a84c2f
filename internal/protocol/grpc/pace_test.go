package grpc

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
)

// pacedTalk is a codec whose clock the test sets, with one paced call.
type pacedTalk struct {
	*testing.T
	c     *codec
	r     *protocol.Request
	reply protocol.Reply
	out   []byte
	at    time.Duration // since the call
}

// frames returns what the codec has written since, as kinds, payloads without the prefix of messages, and ends.
func (p *pacedTalk) frames() string {
	p.out = p.c.Speak(p.out)
	f := http2.NewFramer(io.Discard, bytes.NewReader(p.out))
	var all []string
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			break
		}
		text := frame.Header().Type.String()
		switch d := frame.(type) {
		case *http2.DataFrame:
			text = fmt.Sprintf("%q", d.Data()[min(7, len(d.Data())):])
		case *http2.RSTStreamFrame:
			text = "RST " + d.ErrCode.String()
		}
		if t := frame.Header().Type; (t == http2.FrameData || t == http2.FrameHeaders) &&
			frame.Header().Flags.Has(http2.FlagDataEndStream) {
			text += "."
		}
		all = append(all, text)
	}
	p.out = p.out[:0]
	return strings.Join(all, " ")
}

// step sets the clock, passes what the server has sent, and compares what is written and how long it is until the next.
func (p *pacedTalk) step(at time.Duration, server []byte, frames string, next time.Duration) {
	p.Helper()
	p.at = at
	done := false
	if server != nil {
		_, done, _ = p.c.Scan(server, p.r, &p.reply)
	}
	if ends := p.c.Pace(); ends != 0 {
		p.c.Turn(ends)
		_, done, _ = p.c.Scan(nil, p.r, &p.reply)
	}
	got := p.frames()
	wait, ok := p.c.Due()
	if !ok {
		wait = -1
	}
	if done {
		got += " done"
	}
	if got != frames || wait != next {
		p.Errorf("at %v: wrote %s, and waits %v; want %s, %v", at, got, wait, frames, next)
	}
}

// sentPaced returns a codec that has sent a paced call. before is what the server has sent before.
func sentPaced(t *testing.T, r protocol.Request, args []gen.Value, before []byte) *pacedTalk {
	t.Helper()
	p, fresh := sent(t, r, args)
	talk := &pacedTalk{T: t, c: newCodec(fresh().plan), r: &p.Requests[0]}
	zero := time.Now()
	talk.c.now = func() time.Time { return zero.Add(talk.at) }
	if len(before) > 0 {
		if _, end := talk.c.ScanIdle(before); end != nil {
			t.Fatal(end)
		}
		talk.frames()
	}
	talk.reply.Reset(0)
	var refused *protocol.Error
	if talk.out, refused = talk.c.Encode(nil, talk.r, args); refused != nil {
		t.Fatal(refused)
	}
	return talk
}

func setting(id http2.SettingID, value uint32) []byte {
	return frameOf(http2.FrameSettings, 0, 0, []byte{byte(id >> 8), byte(id), byte(value >> 24), byte(value >> 16),
		byte(value >> 8), byte(value)})
}

// lags returns the lags of messages, and the number of those that weren't sent.
func (p *pacedTalk) lags() string {
	if p.reply.Pacing == nil {
		return "none"
	}
	var all []string
	for _, s := range p.reply.Pacing.Lag.Steps {
		all = append(all, fmt.Sprintf("%d×%v", s.N, time.Duration(s.Ns).Round(time.Millisecond)))
	}
	return fmt.Sprintf("%s, %d unsent", strings.Join(all, " "), p.reply.Pacing.Unsent)
}

func TestPace(t *testing.T) {
	const ms = time.Millisecond
	ok := string(frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, block(":status", "200"))) +
		string(frameOf(http2.FrameData, 0, 1, []byte("\x00\x00\x00\x00\x03\x0a\x01x"))) +
		string(frameOf(http2.FrameHeaders, endOfAll, 1, block("grpc-status", "0")))
	answer := []byte(ok)
	grow := func(n byte) []byte { return frameOf(http2.FrameWindowUpdate, 0, 1, []byte{0, 0, 0, n}) }
	call := func(method string, send int, interval, duration time.Duration) protocol.Request {
		r := request(method, 1, nil, `{"text": "a$1"}`, `{"text": "b$1"}`)
		if method == "List" {
			r.RPC.Messages = nil
			r.Params = nil
		}
		r.RPC.Send, r.RPC.Interval, r.RPC.Duration = send, interval, duration
		return r
	}
	one := protocoltest.Values("1")
	t.Run("a count", func(t *testing.T) {
		p := sentPaced(t, call("Gather", 3, 10*ms, 0), one, nil)
		p.step(0, nil, `HEADERS "a1"`, 10*ms)
		p.step(9*ms, nil, ``, ms)
		p.step(12*ms, nil, `"b1"`, 8*ms) // late, and the next one is due when it was
		p.step(20*ms, nil, `"a1".`, -1)
		p.step(30*ms, answer, ` done`, -1)
		if got := p.lags(); got != "2×0s 1×2ms, 0 unsent" {
			t.Error(got)
		}
	})
	t.Run("a standstill of the generator", func(t *testing.T) {
		p := sentPaced(t, call("Gather", 9, 10*ms, 35*ms), one, nil)
		p.step(0, nil, `HEADERS "a1"`, 10*ms)
		p.step(99*ms, nil, `"b1" "a1" "b1" "".`, -1) // what was due before the end, and the end
		p.step(99*ms, answer, ` done`, -1)
		if got := p.lags(); got != "1×0s 1×69ms 1×79ms 1×89ms, 0 unsent" {
			t.Error(got)
		}
	})
	t.Run("a message is due when the duration ends", func(t *testing.T) {
		p := sentPaced(t, call("Chat", 9, 10*ms, 20*ms), one, nil)
		p.step(10*ms, nil, `HEADERS "a1" "b1"`, 10*ms)
		p.step(20*ms, nil, `"".`, -1)
		p.step(21*ms, answer, ` done`, -1)
		if got := p.lags(); got != "2×0s, 0 unsent" {
			t.Error(got)
		}
	})
	t.Run("the server ends it", func(t *testing.T) {
		p := sentPaced(t, call("Chat", 9, 10*ms, 0), one, nil)
		p.step(0, nil, `HEADERS "a1"`, 10*ms)
		p.step(5*ms, answer, `RST CANCEL done`, -1)
	})
	t.Run("the window is full", func(t *testing.T) {
		p := sentPaced(t, call("Gather", 4, 10*ms, 0), one, setting(http2.SettingInitialWindowSize, 9))
		p.step(0, nil, `HEADERS "a1"`, 10*ms)
		p.step(10*ms, nil, ``, -1) // it waits, and those after it
		p.step(31*ms, grow(18), `"b1" "a1"`, -1)
		p.step(45*ms, grow(9), `"b1".`, -1)
		p.step(50*ms, answer, ` done`, -1)
		if got := p.lags(); got != "1×0s 1×11ms 1×15ms 1×21ms, 0 unsent" {
			t.Error(got)
		}
	})
	t.Run("the window stays full", func(t *testing.T) {
		p := sentPaced(t, call("Gather", 9, 10*ms, 35*ms), one, setting(http2.SettingInitialWindowSize, 9))
		p.step(0, nil, `HEADERS "a1"`, 10*ms)
		p.step(10*ms, nil, ``, 25*ms)
		p.step(35*ms, nil, ``, -1)
		p.step(40*ms, answer, `RST CANCEL done`, -1)
		if got := p.lags(); got != "1×0s, 3 unsent" { // one has been queued, two were due after it
			t.Error(got)
		}
	})
	t.Run("no stream is free", func(t *testing.T) {
		p := sentPaced(t, call("Gather", 2, 10*ms, 0), one, setting(http2.SettingMaxConcurrentStreams, 0))
		p.step(50*ms, nil, ``, -1)
		p.step(60*ms, setting(http2.SettingMaxConcurrentStreams, 1), `SETTINGS HEADERS "a1"`, 10*ms)
		p.step(70*ms, nil, `"b1".`, -1)
		p.step(70*ms, answer, ` done`, -1)
		if got := p.lags(); got != "2×0s, 0 unsent" {
			t.Error(got)
		}
	})
	t.Run("a stream of the server", func(t *testing.T) {
		p := sentPaced(t, call("List", 0, 0, 20*ms), nil, nil)
		p.step(19*ms, []byte(ok[:len(ok)/2]), `HEADERS "".`, ms)
		p.step(20*ms, nil, `RST CANCEL done`, -1)
		if got := p.lags(); got != "none" || p.reply.Class != protocol.OK {
			t.Error(got, p.reply.Failure)
		}
	})
	t.Run("no interval", func(t *testing.T) {
		p := sentPaced(t, call("Gather", 3, 0, 20*ms), one, nil)
		p.step(0, nil, `HEADERS "a1" "b1" "a1".`, -1)
	})
	t.Run("dropped", func(t *testing.T) {
		p := sentPaced(t, call("Gather", 3, 10*ms, 0), one, nil)
		p.c.Drop(p.c.Tag())
		p.step(99*ms, nil, `HEADERS "a1" RST CANCEL`, -1)
	})
}
