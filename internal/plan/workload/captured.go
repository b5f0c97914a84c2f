package workload

import (
	"fmt"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// NothingCaptured is the code of the failure that an earlier step didn't find a value that a step writes into a text.
const NothingCaptured = "nothing-captured"

// texts returns those parameters of a request that are captured values and that the request writes into a text, where
// null would be no null but an empty text.
func texts(r *protocol.Request, params []param) (out []param) {
	if r.Verb != protocol.HTTP && r.Verb != protocol.Command && r.Verb != protocol.GRPC {
		return nil
	}
	for _, p := range params {
		if p.gen == nil && !p.argument {
			out = append(out, p)
		}
	}
	return out
}

// lacking returns the failure of a step for which an earlier one captured nothing; Class OK if nothing is lacking.
func (c *Cursor) lacking(s *Step) protocol.Failure {
	for _, p := range s.texts {
		if c.state.Captured[p.step][p.index].Kind != gen.Null {
			continue
		}
		r := c.op.Steps[p.step].Request
		from, name := r.Capture[p.index], ""
		if name = from.Name; name == "" {
			name = fmt.Sprintf("column %d", from.Column)
		}
		return protocol.Failure{Class: protocol.Server, Code: NothingCaptured,
			Text: fmt.Sprintf("the answer to %s holds nothing at %s, which %s sends", r.Name, name, s.Request.Name)}
	}
	return protocol.Failure{}
}
