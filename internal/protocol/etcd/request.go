package etcd

import (
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"
)

// request is a parsed request: one on records, or a command.
type request struct {
	kv.Request
	command *command // nil: a request on records
	params  int      // of the command
}

// requests holds a session's requests by ID.
type requests []request

func parseProgram(p *protocol.Program) (requests, *protocol.Error) {
	all := make(requests, len(p.Requests))
	for i := range p.Requests {
		r, refused := parseRequest(&p.Requests[i])
		if refused != nil {
			return nil, protocol.Bad("request %q: %s", p.Requests[i].Name, refused.Text)
		}
		all[i] = r
	}
	return all, nil
}

func parseRequest(req *protocol.Request) (r request, refused *protocol.Error) {
	if req.Verb == protocol.Command {
		r.command, refused = parseCommand(req)
		r.params = len(req.Params)
		return r, refused
	}
	r.Request, refused = kv.Parse(req)
	return r, refused
}

// check returns an error unless the request takes that many arguments.
func (r *request) check(args []gen.Value) *protocol.Error {
	if r.command != nil {
		return protocol.Arguments(args, r.params)
	}
	return r.Check(args)
}

// accepts reports whether a failure, by its text, is what the command wants.
func (c *command) accepts(text string) bool {
	return c.absent && strings.Contains(text, "lease already exists")
}
