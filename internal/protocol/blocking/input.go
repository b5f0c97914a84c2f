package blocking

import "io"

// input is the buffer for bytes that were read from a connection and not yet consumed.
type input struct {
	buf  []byte
	from int // start of the part of the current answer that is kept
	pos  int // buf[pos:end] has not been consumed
	end  int
	keep bool // keep consumed bytes of the current answer until next is called
}

// hold stores bytes that were read before.
func (b *input) hold(extra []byte) {
	if len(extra) > 0 {
		b.buf = append(make([]byte, 0, max(firstBuffer, 2*len(extra))), extra...)
		b.end = len(extra)
		b.buf = b.buf[:cap(b.buf)]
	}
}

func (b *input) unread() []byte { return b.buf[b.pos:b.end] }

// answer returns what has been kept of the current answer.
func (b *input) answer() []byte { return b.buf[b.from:b.pos] }

// held returns how many bytes the buffer must keep.
func (b *input) held() int { return b.end - b.from }

// consume moves past n bytes.
func (b *input) consume(n int) {
	b.pos += n
	if !b.keep {
		b.from = b.pos
	}
}

// next discards the current answer. A large buffer is released once it is empty.
func (b *input) next() {
	b.from, b.keep = b.pos, false
	if b.pos < b.end {
		return
	}
	b.from, b.pos, b.end = 0, 0, 0
	if len(b.buf) > keptBuffer {
		b.buf = nil
	}
}

// fill reads once into the buffer, after making room so that need unread bytes fit.
func (b *input) fill(r io.Reader, need int) error {
	b.room(need)
	n, err := r.Read(b.buf[b.end:])
	if n > 0 {
		b.end += n
		return nil // the next read returns the error again
	}
	return err
}

// room makes free space, first by discarding consumed bytes, then by allocating a larger buffer.
func (b *input) room(need int) {
	if b.from == b.end {
		b.from, b.pos, b.end = 0, 0, 0
	}
	least := max(need-(b.end-b.pos), 1)
	if len(b.buf)-b.end >= least {
		return
	}
	held := b.held()
	to := b.buf
	if least = max(least, firstBuffer/2); held+least > len(to)*3/4 {
		to = make([]byte, max(firstBuffer, 2*len(to), held+least))
	}
	copy(to, b.buf[b.from:b.end])
	b.buf, b.pos, b.end, b.from = to, b.pos-b.from, held, 0
}
