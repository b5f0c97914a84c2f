package etcd

import "encoding/binary"

// HTTP/2 frames (RFC 9113, section 4.1): length (24 bits), type, flags, stream (31 bits).
const (
	frameHead  = 9
	frameLimit = 16384 // the largest payload that we allow and, unless it says so, the server does

	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePush         = 5
	framePing         = 6
	frameGoAway       = 7
	frameWindow       = 8
	frameContinuation = 9

	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20

	settingTableSize = 1
	settingPush      = 2
	settingWindow    = 4
	settingFrameSize = 5

	standardWindow = 65535
	largestWindow  = 1<<31 - 1
	largestStream  = 1<<31 - 1
)

// preface is what a client begins a connection with (RFC 9113, section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// appendGreeting appends the preface and settings that spare us work later: no pushes, no dynamic
// table in the headers that we are sent, windows that a unary answer can't fill.
func appendGreeting(dst []byte) []byte {
	dst = append(dst, preface...)
	dst = appendFrameHead(dst, 3*6, frameSettings, 0, 0)
	for _, s := range [3][2]uint32{{settingTableSize, 0}, {settingPush, 0}, {settingWindow, largestWindow}} {
		dst = binary.BigEndian.AppendUint16(dst, uint16(s[0]))
		dst = binary.BigEndian.AppendUint32(dst, s[1])
	}
	return appendWindow(dst, largestWindow-standardWindow)
}

func appendFrameHead(dst []byte, length int, kind, flags byte, stream uint32) []byte {
	dst = append(dst, byte(length>>16), byte(length>>8), byte(length), kind, flags)
	return binary.BigEndian.AppendUint32(dst, stream)
}

// appendWindow lets the server send so many bytes more over the connection.
func appendWindow(dst []byte, bytes int64) []byte {
	dst = appendFrameHead(dst, 4, frameWindow, 0, 0)
	return binary.BigEndian.AppendUint32(dst, uint32(bytes))
}

// frame is one received frame.
type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

// cutFrame takes the first frame off buf. need is how many bytes buf must hold for that; fault
// says why this can't be a frame.
func cutFrame(buf []byte) (f frame, size, need int, fault string) {
	if len(buf) < frameHead {
		return f, 0, frameHead, ""
	}
	length := int(buf[0])<<16 | int(buf[1])<<8 | int(buf[2])
	if length > frameLimit {
		return f, 0, 0, "a frame is larger than allowed"
	}
	size = frameHead + length
	if len(buf) < size {
		return f, 0, size, ""
	}
	f = frame{buf[3], buf[4], binary.BigEndian.Uint32(buf[5:]) &^ (1 << 31), buf[frameHead:size]}
	return f, size, 0, ""
}

// unpad takes padding and priority off a payload.
func (f *frame) unpad() (fault string) {
	p := f.payload
	if f.flags&flagPadded != 0 {
		if len(p) < 1 || int(p[0]) > len(p)-1 {
			return "a frame has more padding than content"
		}
		p = p[1 : len(p)-int(p[0])]
	}
	if f.kind == frameHeaders && f.flags&flagPriority != 0 {
		if len(p) < 5 {
			return "a frame of headers is too short"
		}
		p = p[5:]
	}
	f.payload = p
	return ""
}
