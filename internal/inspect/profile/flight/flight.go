// Package flight reads recordings of Java's Flight Recorder: the samples of what threads executed. A recording is a
// list of chunks, each of which describes its own types and has its own constants (JDK's jdk.jfr.internal.consumer and
// share/jfr/recorder; format 2.x, of Java 11 and later). Whatever is read, memory and time stay within a multiple of a
// chunk's size.
package flight

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Sample is what one thread executed at one time.
type Sample struct {
	At     time.Time
	Thread int64    // the operating system's number of the thread, in the process's namespace; 0 if it isn't known
	Native bool     // it was in code outside of the JVM: a system call or a library in C, which may be a wait
	Stack  []string // of methods, the innermost first; shared by samples: it mustn't be changed
}

// Span is a time that a chunk of a recording covers.
type Span struct{ From, To time.Time }

const (
	headerSize = 68
	mostChunk  = 64 << 20 // bytes; a JVM's have 12 MB by default
	mostChunks = 1 << 16
	version    = 2
)

// magic begins each chunk.
var magic = []byte("FLR\x00")

// errBroken is returned for recordings that aren't as the format says.
var errBroken = errors.New("the flight recording is broken")

// header is that of a chunk.
type header struct {
	constants, metadata int64 // offsets in the chunk
	began, length       int64 // ns
	ticks, perSecond    int64 // the clock of the events: its value at the chunk's beginning, and its frequency
	compressed          bool  // integers are written as LEB128
}

// Read calls f for each sample of a recording, which may be compressed by gzip, and returns the times that its chunks
// cover.
func Read(r io.Reader, f func(Sample)) (spans []Span, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if start, _ := in.Peek(2); bytes.Equal(start, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("the flight recording: %w", err)
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	for range mostChunks {
		data, err := nextChunk(in)
		if errors.Is(err, io.EOF) && len(spans) > 0 {
			return spans, nil
		}
		if err != nil {
			return spans, err
		}
		span, err := readChunk(data, f)
		if err != nil {
			return spans, err
		}
		spans = append(spans, span)
	}
	return spans, errBroken
}

// nextChunk reads a chunk, header included. io.EOF means that there is none.
func nextChunk(r io.Reader) ([]byte, error) {
	head := make([]byte, headerSize)
	if n, err := io.ReadFull(r, head); err != nil {
		if n == 0 {
			return nil, io.EOF
		}
		return nil, errBroken
	}
	size := int64(binary.BigEndian.Uint64(head[8:]))
	switch {
	case !bytes.Equal(head[:4], magic):
		return nil, errors.New("this is no flight recording")
	case binary.BigEndian.Uint16(head[4:]) != version:
		return nil, fmt.Errorf("the flight recording has version %d.%d of the format; brunt reads 2.x, of Java 11 and later",
			binary.BigEndian.Uint16(head[4:]), binary.BigEndian.Uint16(head[6:]))
	case size < headerSize:
		return nil, errBroken
	case size > mostChunk:
		return nil, fmt.Errorf("the flight recording has a chunk of %d bytes; brunt reads up to %d", size, mostChunk)
	}
	// The buffer grows with what is there, not with what the header says.
	data := bytes.NewBuffer(head)
	if n, err := io.Copy(data, io.LimitReader(r, size-headerSize)); err != nil || n < size-headerSize {
		return nil, errBroken
	}
	return data.Bytes(), nil
}

// parseHeader parses the header of a chunk.
func parseHeader(data []byte) header {
	number := func(at int) int64 { return int64(binary.BigEndian.Uint64(data[at:])) }
	return header{constants: number(16), metadata: number(24), began: number(32), length: number(40), ticks: number(48),
		perSecond: number(56), compressed: data[67]&1 == 1}
}

// readChunk calls f for the samples of a chunk.
func readChunk(data []byte, f func(Sample)) (span Span, err error) {
	h := parseHeader(data)
	if h.perSecond <= 0 || h.length < 0 || h.began < 0 {
		return span, errBroken
	}
	if !h.compressed {
		return span, errors.New("the flight recording has integers of fixed size; record without compressedintegers=false")
	}
	span = Span{time.Unix(0, h.began), time.Unix(0, h.began+h.length)}
	c := &chunk{in: newDecoder(data)}
	if err := c.readMetadata(h.metadata); err != nil {
		return span, err
	}
	if err := c.readConstants(h.constants); err != nil {
		return span, err
	}
	return span, c.events(&h, f)
}

// at returns the time of an event.
func (h *header) at(ticks int64) time.Time {
	// Split, since the product of a day's ticks and 1e9 doesn't fit.
	passed := ticks - h.ticks
	ns := passed/h.perSecond*int64(time.Second) + int64(float64(passed%h.perSecond)/float64(h.perSecond)*1e9)
	return time.Unix(0, h.began).Add(time.Duration(ns))
}

// events calls f for the samples among the events.
func (c *chunk) events(h *header, f func(Sample)) error {
	sampled := map[int64]*class{}
	for _, name := range []string{sampleInJava, sampleInNative} {
		if t := c.named[name]; t != nil {
			sampled[t.id] = t
		}
	}
	for at := int64(headerSize); at < int64(len(c.in.data)); {
		c.in.seek(at)
		size, kind := c.in.long(), c.in.long()
		if c.in.failed || size <= 0 || size > int64(len(c.in.data))-at {
			return errBroken
		}
		at += size
		t := sampled[kind]
		if t == nil {
			continue
		}
		var ticks, thread, stack int64
		c.object(t, 0, func(name string) *int64 {
			switch name {
			case "startTime":
				return &ticks
			case "sampledThread":
				return &thread
			case "stackTrace":
				return &stack
			}
			return nil
		}, nil)
		if c.in.failed {
			return errBroken
		}
		f(Sample{At: h.at(ticks), Thread: c.threads[thread], Native: t.name == sampleInNative, Stack: c.stack(stack)})
	}
	return nil
}
