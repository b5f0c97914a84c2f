package http2

import (
	"encoding/binary"

	"golang.org/x/net/http2"

	"brunt/internal/protocol"
)

// HTTP/2 frames (RFC 9113, section 4.1). http2.Framer writes the frames that aren't a part of a request. Its ReadFrame
// isn't used, because it blocks for bytes, copies each frame, and allocates twice per answer. ReadFrameHeader uses a
// pool, which the garbage collector empties.
const (
	FrameHead  = 9     // bytes of a frame before its payload
	FrameLimit = 16384 // the largest payload that we accept, and the server's limit unless it sets another

	StandardWindow = 65535     // bytes, unless settings say otherwise
	LargestWindow  = 1<<31 - 1 // bytes
	LargestStream  = 1<<31 - 1
)

// Output collects frames. Its Framer can't fail, because Write accepts everything and all arguments are in
// range.
type Output struct {
	*http2.Framer
	B []byte
}

// NewOutput returns an empty Output.
func NewOutput() *Output {
	o := &Output{}
	o.Framer = http2.NewFramer(o, nil)
	return o
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.B = append(o.B, p...)
	return len(p), nil
}

// frame appends a frame. It writes those of requests, for which http2.Framer would copy each payload once more.
func (o *Output) frame(kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte) {
	n := len(payload)
	o.B = append(o.B, byte(n>>16), byte(n>>8), byte(n), byte(kind), byte(flags),
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
	o.B = append(o.B, payload...)
}

// greet appends the preface (RFC 9113, section 3.4) and settings that save us work later: no pushes, no dynamic
// table for the headers that we receive, and windows that few answers exhaust.
func (o *Output) greet() {
	o.B = append(o.B, http2.ClientPreface...)
	o.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0},
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: LargestWindow})
	o.WriteWindowUpdate(0, LargestWindow-StandardWindow)
}

// Frame is one received frame.
type Frame struct {
	http2.FrameHeader
	Payload []byte
}

// Cut returns the first frame of buf. If bytes are missing, size is 0 and need is the number of bytes that buf
// must hold. violation says why buf doesn't begin with a valid frame.
func Cut(buf []byte) (f Frame, size, need int, violation protocol.Violation) {
	if len(buf) < FrameHead {
		return f, 0, FrameHead, ""
	}
	head := http2.FrameHeader{
		Length: uint32(buf[0])<<16 | uint32(buf[1])<<8 | uint32(buf[2]),
		Type:   http2.FrameType(buf[3]), Flags: http2.Flags(buf[4]),
		StreamID: binary.BigEndian.Uint32(buf[5:]) & LargestStream,
	}
	if head.Length > FrameLimit {
		return f, 0, 0, "a frame is larger than allowed"
	}
	size = FrameHead + int(head.Length)
	if len(buf) < size {
		return f, 0, size, ""
	}
	return Frame{head, buf[FrameHead:size]}, size, 0, ""
}

// unpad removes padding and priority from the payload of a DATA or HEADERS frame, which use the same flags.
func (f *Frame) unpad() (violation protocol.Violation) {
	p := f.Payload
	if f.Flags.Has(http2.FlagDataPadded) {
		if len(p) < 1 || int(p[0]) > len(p)-1 {
			return "a frame has more padding than content"
		}
		p = p[1 : len(p)-int(p[0])]
	}
	if f.Type == http2.FrameHeaders && f.Flags.Has(http2.FlagHeadersPriority) {
		if len(p) < 5 {
			return "a frame of headers is too short"
		}
		p = p[5:]
	}
	f.Payload = p
	return ""
}
