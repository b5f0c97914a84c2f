package protocoltest

import (
	"bytes"
	"fmt"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Outcome is the result of scanning bytes.
type Outcome struct {
	Reply protocol.Reply
	Done  bool
	Left  []byte // not consumed
}

// String returns everything that must not depend on how the bytes arrived. It leaves out the texts of failures,
// which may.
func (o Outcome) String() string {
	r := o.Reply
	text := fmt.Sprintf("done=%v class=%v code=%q fatal=%v status=%d rows=%d affected=%d missing=%v badhash=%v",
		o.Done, r.Class, r.Code, r.Fatal, r.Status, r.Rows, r.Affected, r.Missing, r.BadHash)
	if r.Misdirected {
		text += " misdirected"
	}
	if r.Class == protocol.Protocol {
		return text // the place where it was noticed may differ
	}
	text += fmt.Sprintf(" in=%d", r.BytesIn)
	if o.Done {
		text += fmt.Sprintf(" left=%q", o.Left)
	}
	for i := range r.Captured {
		text += fmt.Sprintf(" captured=%v", Text(&r.Captured[i]))
	}
	return text
}

// Text returns a value with its kind, for comparison.
func Text(v *gen.Value) string {
	switch v.Kind {
	case gen.Null:
		return "null"
	case gen.Float:
		return fmt.Sprintf("%d:%v", v.Kind, v.F)
	case gen.String, gen.Bytes, gen.JSON, gen.UUID, gen.Number, gen.Packed:
		return fmt.Sprintf("%d:%q", v.Kind, v.B)
	}
	return fmt.Sprintf("%d:%d", v.Kind, v.I)
}

// Scan passes an answer to a codec in pieces that end at cuts (ascending) and at the end of the answer, followed
// by the end of the stream if eof is true. The codec must not keep any piece: each is overwritten afterwards.
func Scan(c protocol.Codec, req *protocol.Request, answer []byte, cuts []int, eof bool) (o Outcome) {
	o.Reply.Reset(len(req.Capture))
	var pending []byte
	from := 0
	for i := 0; i <= len(cuts) && !o.Done; i++ {
		to := len(answer)
		if i < len(cuts) {
			to = cuts[i]
		}
		pending = append(bytes.Clone(pending), answer[from:to]...)
		from = to
		for {
			n, done, _ := c.Scan(pending, req, &o.Reply)
			rest := bytes.Clone(pending[n:])
			for k := range pending {
				pending[k] = '!'
			}
			pending, o.Done = rest, done
			if done || n == 0 {
				break
			}
		}
	}
	if e, ok := c.(protocol.EOFScanner); ok && eof && !o.Done {
		o.Done = e.ScanEOF(req, &o.Reply)
	}
	o.Left = append(pending, answer[from:]...)
	return o
}

// Torn checks that scanning an answer in pieces has the same outcome as scanning it whole: cut once at every
// byte, and cut into single bytes. It returns the outcome of scanning it whole.
func Torn(t TB, fresh func() protocol.Codec, req *protocol.Request, answer []byte, eof bool) Outcome {
	t.Helper()
	whole := Scan(fresh(), req, answer, nil, eof)
	every := make([]int, 0, len(answer))
	for i := 1; i < len(answer); i++ {
		every = append(every, i)
		if got := Scan(fresh(), req, answer, []int{i}, eof); got.String() != whole.String() {
			t.Fatalf("%.200q cut at %d:\n got %v\nwant %v", answer, i, got, whole)
		}
	}
	if got := Scan(fresh(), req, answer, every, eof); got.String() != whole.String() {
		t.Fatalf("%.200q in single bytes:\n got %v\nwant %v", answer, got, whole)
	}
	return whole
}
