package script

import (
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// maxVariants is how many different sequences of statements the pipelines of a script may have. Each is a request.
const maxVariants = 256

// variant is a pipeline as far as it has been collected. What follows depends on the conditions within the pipeline.
type variant struct {
	request int // that sends it; −1: it can't end here, or there is nothing to send
	next    map[int]*variant
}

// compiler compiles a script: it follows all ways that a client may take through it.
type compiler struct {
	*builder
	script   *Script
	requests []protocol.Request
	commands []int
	visited  []bool
	ends     []pipelineEnd
	steps    int
	err      *Error
}

// pipelineEnd is a pipeline that ends at a command.
type pipelineEnd struct {
	at      int
	variant *variant
	request protocol.Request
}

// maxSteps bounds the ways through pipelines that are looked at.
const maxSteps = 1 << 16

func (c *compiler) compile() *Error {
	c.visited = make([]bool, len(c.script.Commands)+1)
	for pending := []int{0}; len(pending) > 0; {
		at := pending[len(pending)-1]
		pending = append(pending[:len(pending)-1], c.outside(at)...)
	}
	if c.err != nil {
		return c.err
	}
	for i := range c.script.Commands {
		c.number(i)
	}
	return nil
}

// number numbers the requests of a command.
func (c *compiler) number(at int) {
	if command := &c.script.Commands[at]; command.Request >= 0 {
		command.Request = c.add(at, c.request(command))
	}
	for i := range c.ends {
		if e := &c.ends[i]; e.at == at {
			e.variant.request = c.add(at, e.request)
		}
	}
}

// add adds a request of a command and returns its number.
func (c *compiler) add(at int, r protocol.Request) int {
	c.requests = append(c.requests, r)
	c.commands = append(c.commands, at)
	c.program.params = max(c.program.params, len(r.Params))
	return len(c.requests) - 1
}

// outside looks at a command that is reached without a pipeline, and returns the commands that may follow.
func (c *compiler) outside(at int) (next []int) {
	if at >= len(c.script.Commands) || c.visited[at] || c.err != nil {
		return nil
	}
	c.visited[at] = true
	command := &c.script.Commands[at]
	switch command.meta {
	case metaSQL, metaGset, metaAset:
		command.Request = 0 // its number follows
	case metaStartPipeline:
		if c.options.Mode == Simple {
			return nil
		}
		command.pipeline = &variant{request: -1}
		c.inside(at+1, command.pipeline, nil, command, &next)
		return next
	}
	return c.script.after(at)
}

// after returns the commands that may follow one.
func (s *Script) after(at int) []int {
	switch command := &s.Commands[at]; command.meta {
	case metaIf:
		return s.branches(at)
	case metaElif, metaElse:
		return []int{command.end + 1}
	}
	return []int{at + 1}
}

// branches returns where a condition may lead.
func (s *Script) branches(at int) (next []int) {
	for {
		next = append(next, at+1)
		at = s.Commands[at].other
		if s.Commands[at].meta != metaElif {
			return append(next, at+1)
		}
	}
}

// inside follows the ways through a pipeline. path is the commands that it has collected. Where a pipeline would end
// the client (it isn't ended, or begun again, or \gset is within it), there is nothing to send.
func (c *compiler) inside(at int, v *variant, path []int, start *Command, next *[]int) {
	for at < len(c.script.Commands) && c.err == nil {
		if c.steps++; c.steps > maxSteps {
			c.tooMany(start)
			return
		}
		command := &c.script.Commands[at]
		switch command.meta {
		case metaSQL, metaSyncPipeline:
			if v.next == nil {
				v.next = map[int]*variant{}
			}
			if v.next[at] == nil {
				v.next[at] = &variant{request: -1}
			}
			v = v.next[at]
			path = append(path[:len(path):len(path)], at)
		case metaGset, metaAset, metaStartPipeline:
			return
		case metaEndPipeline:
			*next = append(*next, at+1)
			if v.request < 0 && len(path) > 0 {
				v.request = 0 // its number follows
				c.ended(v, path, at, start)
			}
			return
		}
		ways := c.script.after(at)
		for _, way := range ways[1:] {
			c.inside(way, v, path, start, next)
		}
		at = ways[0]
	}
}

// ended makes the request of a pipeline.
func (c *compiler) ended(v *variant, path []int, at int, start *Command) {
	if len(c.ends) == maxVariants {
		c.tooMany(start)
		return
	}
	r := protocol.Request{Verb: protocol.SQL, Notices: true, Unnamed: c.options.Mode == Extended,
		Late: c.options.Mode == Prepared}
	var texts []string
	for _, i := range path {
		command := &c.script.Commands[i]
		if command.meta == metaSyncPipeline {
			if n := len(r.Pipeline); n > 0 && !r.Pipeline[n-1].Sync {
				r.Pipeline[n-1].Sync = true
			} else {
				r.Pipeline = append(r.Pipeline, protocol.PipelinePart{Sync: true})
			}
			continue
		}
		s := &command.statement
		r.Pipeline = append(r.Pipeline, protocol.PipelinePart{Text: s.text, Params: len(s.params)})
		r.Params = append(r.Params, textKinds(len(s.params))...)
		texts = append(texts, s.text)
	}
	r.Late, r.Unnamed = c.options.Mode == Prepared, c.options.Mode == Extended
	r.Text = strings.Join(texts, " ")
	r.Name = c.script.Commands[at].Text
	c.ends = append(c.ends, pipelineEnd{at: at, variant: v, request: r})
}

func (c *compiler) tooMany(start *Command) {
	c.err = ofScript(c.script.Name, `script "%s": the conditions within the pipeline of line %d allow more than %d different `+
		`sequences of statements; put \if around pipelines rather than into them`, c.script.Name, start.Line, maxVariants)
	c.err.Line = start.Line
}

// textKinds returns the kinds of n parameters, which are sent as text.
func textKinds(n int) []gen.Kind {
	kinds := make([]gen.Kind, n)
	for i := range kinds {
		kinds[i] = gen.String
	}
	return kinds
}

// request returns the request of a statement that is sent by itself.
func (c *compiler) request(command *Command) protocol.Request {
	s := &command.statement
	r := protocol.Request{Name: command.Text, Verb: protocol.SQL, Text: s.text, Simple: c.options.Mode == Simple,
		Notices: true, Late: c.options.Mode == Prepared, Unnamed: c.options.Mode == Extended, Verbatim: len(s.pieces) > 0,
		Params: textKinds(len(s.params))}
	if r.Verbatim {
		r.Params = textKinds(1)
	}
	switch s.result {
	case metaGset:
		r.CaptureAll = protocol.FirstRow
	case metaAset:
		r.CaptureAll = protocol.LastRow
	}
	return r
}
