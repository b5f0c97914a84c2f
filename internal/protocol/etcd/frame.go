package etcd

import (
	"encoding/binary"

	"golang.org/x/net/http2"

	"brunt/internal/protocol"
)

// HTTP/2 frames (RFC 9113, section 4.1). http2.Framer writes the frames that we send. Its ReadFrame isn't used,
// because it blocks for bytes, copies each frame, and allocates twice per answer. ReadFrameHeader uses a pool,
// which the garbage collector empties.
const (
	frameHead  = 9
	frameLimit = 16384 // the largest payload that we accept, and the server's limit unless it sets another

	standardWindow = 65535
	largestWindow  = 1<<31 - 1
	largestStream  = 1<<31 - 1
)

// output collects frames. Its Framer can't fail, because Write accepts everything and all arguments are in
// range.
type output struct {
	*http2.Framer
	b []byte
}

func newOutput() *output {
	o := &output{}
	o.Framer = http2.NewFramer(o, nil)
	return o
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.b = append(o.b, p...)
	return len(p), nil
}

// greet appends the preface (RFC 9113, section 3.4) and settings that save us work later: no pushes, no dynamic
// table for the headers that we receive, and windows that a unary answer can't exhaust.
func (o *output) greet() {
	o.b = append(o.b, http2.ClientPreface...)
	o.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0},
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: largestWindow})
	o.WriteWindowUpdate(0, largestWindow-standardWindow)
}

// frame is one received frame.
type frame struct {
	http2.FrameHeader
	payload []byte
}

// cut returns the first frame of buf. If bytes are missing, size is 0 and need is the number of bytes that buf
// must hold. violation says why buf doesn't begin with a valid frame.
func cut(buf []byte) (f frame, size, need int, violation protocol.Violation) {
	if len(buf) < frameHead {
		return f, 0, frameHead, ""
	}
	head := http2.FrameHeader{
		Length: uint32(buf[0])<<16 | uint32(buf[1])<<8 | uint32(buf[2]),
		Type:   http2.FrameType(buf[3]), Flags: http2.Flags(buf[4]),
		StreamID: binary.BigEndian.Uint32(buf[5:]) & largestStream,
	}
	if head.Length > frameLimit {
		return f, 0, 0, "a frame is larger than allowed"
	}
	size = frameHead + int(head.Length)
	if len(buf) < size {
		return f, 0, size, ""
	}
	return frame{head, buf[frameHead:size]}, size, 0, ""
}

// unpad removes padding and priority from the payload of a DATA or HEADERS frame, which use the same flags.
func (f *frame) unpad() (violation protocol.Violation) {
	p := f.payload
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
	f.payload = p
	return ""
}
