package http2

import (
	"bytes"

	"golang.org/x/net/http2/hpack"
)

// Headers encodes the headers of requests whose fields are known in advance, in lists. Once a list has been sent, its
// fields are in the server's dynamic table (RFC 7541) and take only a few bytes, which are always the same. If the
// lists don't all fit into the table, none of them uses it: then nothing is ever evicted, and a block that was encoded
// once stays valid.
type Headers struct {
	lists   [][]hpack.HeaderField
	encoded bytes.Buffer
	encoder *hpack.Encoder
	size    uint32 // of a table that holds all fields, in bytes
	version int    // version of the server's dynamic table, incremented when we change it
	blocks  []struct {
		sent    bool
		block   []byte
		version int
	}
}

// standardTable is the size of the server's dynamic table unless its settings say otherwise, in bytes.
const standardTable = 4096

// NewHeaders returns the encoder of the lists.
func NewHeaders(lists [][]hpack.HeaderField) *Headers {
	h := &Headers{lists: lists}
	h.encoder = hpack.NewEncoder(&h.encoded)
	h.blocks = make([]struct {
		sent    bool
		block   []byte
		version int
	}, len(lists))
	seen := map[hpack.HeaderField]bool{}
	for _, l := range lists {
		for _, f := range l {
			if !seen[f] {
				seen[f] = true
				h.size += f.Size()
			}
		}
	}
	if h.size > standardTable {
		h.Limit(0)
	}
	return h
}

// Limit applies the server's limit for the size of its dynamic table, in bytes.
func (h *Headers) Limit(size uint32) {
	if size < h.size {
		size = 0
	}
	h.encoder.SetMaxDynamicTableSizeLimit(size)
	h.version++
	for i := range h.blocks {
		h.blocks[i].sent = false
	}
}

// Block returns the encoded list with a number. It is valid until the next call.
func (h *Headers) Block(list int) []byte {
	p := &h.blocks[list]
	if p.sent && p.block != nil && p.version == h.version {
		return p.block
	}
	h.encoded.Reset()
	for _, f := range h.lists[list] {
		h.encoder.WriteField(f) // writing to a bytes.Buffer can't fail
	}
	if !p.sent {
		p.sent = true
		h.version++
		return h.encoded.Bytes()
	}
	p.block, p.version = bytes.Clone(h.encoded.Bytes()), h.version
	return p.block
}

// AppendField appends a field that isn't kept in the dynamic table, without Huffman coding (RFC 7541, section 6.2.2).
// name must be in lower case.
func AppendField(dst []byte, name string, value []byte) []byte {
	dst = append(dst, 0)
	dst = appendNumber(dst, uint64(len(name)))
	dst = append(dst, name...)
	dst = appendNumber(dst, uint64(len(value)))
	return append(dst, value...)
}

// appendNumber appends a number with a prefix of 7 bits whose other bit is 0 (RFC 7541, section 5.1).
func appendNumber(dst []byte, n uint64) []byte {
	const prefix = 1<<7 - 1
	if n < prefix {
		return append(dst, byte(n))
	}
	dst, n = append(dst, prefix), n-prefix
	for ; n >= 128; n >>= 7 {
		dst = append(dst, byte(n)|128)
	}
	return append(dst, byte(n))
}
