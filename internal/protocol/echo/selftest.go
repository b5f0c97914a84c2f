package echo

import "errors"

var errNotFrame = errors.New("a request isn't a frame")

// selfTestAnswers echoes frames, as a Server without a Config does.
func selfTestAnswers(out, in []byte) (answers []byte, consumed int, err error) {
	for len(in)-consumed >= Size {
		frame := in[consumed : consumed+Size]
		if string(frame[:len(magic)]) != magic {
			return out, consumed, errNotFrame
		}
		out = append(out, frame...)
		consumed += Size
	}
	return out, consumed, nil
}
