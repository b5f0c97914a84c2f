package export

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

// pileBytes is how much of a pile may be in memory.
const pileBytes = 8 << 20

// pile keeps texts that are written by turns and read one after another. What doesn't fit into
// pileBytes is in a temporary file.
type pile struct {
	stacks []*stack
	bytes  int // in memory
	most   int // instead of pileBytes, if not 0
	file   *os.File
	end    int64
}

// stack is one text of a pile: its parts in the file, and its end in memory.
type stack struct {
	parts []part
	text  []byte
}

// part is where a piece of a text is in the file.
type part struct{ at, bytes int64 }

// stack begins a text.
func (p *pile) stack() *stack {
	s := &stack{}
	p.stacks = append(p.stacks, s)
	return s
}

// put adds to a text.
func (p *pile) put(s *stack, text []byte) error {
	s.text = append(s.text, text...)
	p.bytes += len(text)
	most := pileBytes
	if p.most > 0 {
		most = p.most
	}
	if p.bytes <= most {
		return nil
	}
	return p.spill()
}

// spill moves what is in memory into the file.
func (p *pile) spill() error {
	if p.file == nil {
		file, err := os.CreateTemp("", "brunt-export-*")
		if err != nil {
			return fmt.Errorf("no temporary file for what doesn't fit into memory: %w; set TMPDIR to a folder with room", err)
		}
		p.file = file
		// Where an open file can lose its name, nothing is left behind by a process that is killed.
		_ = os.Remove(file.Name())
	}
	out := bufio.NewWriterSize(p.file, 1<<20)
	for _, s := range p.stacks {
		if len(s.text) == 0 {
			continue
		}
		if _, err := out.Write(s.text); err != nil {
			return p.full(err)
		}
		s.parts = append(s.parts, part{p.end, int64(len(s.text))})
		p.end += int64(len(s.text))
		s.text = s.text[:0]
	}
	p.bytes = 0
	if err := out.Flush(); err != nil {
		return p.full(err)
	}
	return nil
}

func (p *pile) full(err error) error {
	return fmt.Errorf("what doesn't fit into memory can't be written: %w; set TMPDIR to a folder with room", err)
}

// writeTo writes a text.
func (p *pile) writeTo(w io.Writer, s *stack) error {
	for _, part := range s.parts {
		if _, err := io.Copy(w, io.NewSectionReader(p.file, part.at, part.bytes)); err != nil {
			return err
		}
	}
	_, err := w.Write(s.text)
	return err
}

// close removes the file.
func (p *pile) close() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	// Mostly it has no name any more.
	_ = os.Remove(p.file.Name())
	return err
}
