package fill

import (
	"brunt/internal/base/linefile"

	"crypto/rand"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
)

// Checkpoint stores the progress of a load, one JSON object per line.
type Checkpoint interface {
	// Lines returns the complete lines written so far, without line ends.
	Lines() [][]byte
	// Append writes a line. If it returns nil, the line survives a crash of the machine. It is safe for concurrent use.
	Append(line []byte) error
	// Name returns the name of the checkpoint for messages, such as the path of its file.
	Name() string
}

// checkpointLine is one line of a checkpoint. The first line describes the load. Each further line says that a chunk
// has been begun, or that it is done.
type checkpointLine struct {
	Load  *header `json:"load,omitempty"`
	Table string  `json:"table,omitempty"`
	Chunk int     `json:"chunk"`
	First uint64  `json:"first,omitempty"`
	Rows  uint64  `json:"rows,omitempty"`
	Done  bool    `json:"done,omitempty"`
	Sum   string  `json:"checksum,omitempty"`
}

type header struct {
	Version int    `json:"version"`
	Plan    string `json:"plan"`
	Seed    uint64 `json:"seed"`
	Target  string `json:"target"`
	Chunks  string `json:"chunks"`          // hash of the tables' names, rows, numbers of chunks, columns and keys
	Parts   int    `json:"parts,omitempty"` // 0: the load isn't divided into parts
	Part    int    `json:"part,omitempty"`  // from 1; 0: the checkpoint of the process that coordinates the parts
	ID      string `json:"id,omitempty"`    // random; only for a load in parts
}

const checkpointVersion = 1

func (j *job) header() header {
	target := fnv.New64a()
	var addresses []string
	for i := range j.c.Targets {
		addresses = append(addresses, j.c.Targets[i].Address+" "+j.c.Targets[i].Database)
	}
	slices.Sort(addresses)
	fmt.Fprintf(target, "%s %q", j.c.Driver.Name(), addresses)
	cut := fnv.New64a()
	for i := range j.c.Tables {
		t := &j.c.Tables[i]
		if t.Filled {
			continue
		}
		fmt.Fprintf(cut, "%q %d %d %q %q\n", t.Name, t.Rows, j.tables[i].Chunks, t.Columns, t.Keys)
	}
	h := header{
		Version: checkpointVersion, Plan: j.c.Plan, Seed: j.c.Seed,
		Target: strconv.FormatUint(target.Sum64(), 16), Chunks: strconv.FormatUint(cut.Sum64(), 16),
	}
	if h.Parts = j.c.Part.Of; h.Parts > 0 && j.c.Others == nil {
		h.Part = j.c.Part.Number + 1
	}
	return h
}

// CheckpointError says that a checkpoint is of another load.
type CheckpointError struct{ text string }

// Error returns one line with the file, what differs, and what to do.
func (e *CheckpointError) Error() string { return e.text }

// differs returns why a load can't be resumed from a checkpoint with header o, or "" if it can.
func (h header) differs(o header) string {
	switch {
	case h.Version != o.Version:
		return fmt.Sprintf("version %d of the format", o.Version)
	case h.Plan != o.Plan:
		return "another plan"
	case h.Seed != o.Seed:
		return fmt.Sprintf("another seed (%d)", o.Seed)
	case h.Target != o.Target:
		return "another target"
	case h.Chunks != o.Chunks:
		return "other tables, rows or chunks"
	case h.Parts != o.Parts || h.Part != o.Part:
		if o.Parts == 0 {
			return "a load by one process, without --processes"
		}
		return fmt.Sprintf("a load by --processes %d", o.Parts)
	}
	return ""
}

func chunkLine(t *Table, ch *chunk, done bool, sum uint64) []byte {
	l := checkpointLine{Table: t.Name, Chunk: ch.number, First: ch.first, Rows: ch.rows, Done: done}
	if done {
		l.Sum = fmt.Sprintf("%016x", sum)
	}
	return marshal(l)
}

func marshal(l checkpointLine) []byte {
	// Values of these types can always be marshaled.
	b, _ := json.Marshal(l)
	return b
}

// resume reads the checkpoint and marks the chunks that an earlier run loaded. If the checkpoint is empty, resume
// writes its first line.
func (j *job) resume() error {
	if j.c.Checkpoint == nil {
		return nil
	}
	name := j.c.Checkpoint.Name()
	lines := j.c.Checkpoint.Lines()
	own := j.header()
	if len(lines) == 0 {
		if j.c.Others != nil {
			own.ID = rand.Text()
			j.id = own.ID
		}
		if err := j.c.Checkpoint.Append(marshal(checkpointLine{Load: &own})); err != nil {
			return fmt.Errorf("fill: write the checkpoint %s: %w", name, err)
		}
		return nil
	}
	j.resumed = true
	known := make(map[chunkName]*chunk)
	for i := range j.chunks {
		known[chunkName{j.c.Tables[j.chunks[i].table].Name, j.chunks[i].number}] = &j.chunks[i]
	}
	for i, line := range lines {
		var l checkpointLine
		if json.Unmarshal(line, &l) != nil {
			return fmt.Errorf("fill: %s:%d: not a line of a checkpoint: delete the file to load from the start", name, i+1)
		}
		if i == 0 {
			if l.Load == nil {
				return fmt.Errorf("fill: %s:1: not a checkpoint: give another path", name)
			}
			if what := own.differs(*l.Load); what != "" {
				return &CheckpointError{fmt.Sprintf(
					"fill: %s: the checkpoint is of %s: delete it to load from the start, or give another path", name, what)}
			}
			j.id = l.Load.ID
			continue
		}
		if err := j.mark(&l, known); err != nil {
			return fmt.Errorf("fill: %s:%d: %w: delete the file to load from the start", name, i+1, err)
		}
	}
	return nil
}

// chunkName identifies a chunk in a checkpoint.
type chunkName struct {
	table  string
	number int
}

func (j *job) mark(l *checkpointLine, known map[chunkName]*chunk) error {
	ch := known[chunkName{l.Table, l.Chunk}]
	if ch == nil {
		return fmt.Errorf("no chunk %d of table %q", l.Chunk, l.Table)
	}
	if ch.first != l.First || ch.rows != l.Rows {
		return fmt.Errorf("chunk %d of table %q has other rows", l.Chunk, l.Table)
	}
	ch.begun = true
	if !l.Done || ch.done {
		return nil
	}
	sum, err := strconv.ParseUint(l.Sum, 16, 64)
	if err != nil {
		return fmt.Errorf("checksum %q is no 64-bit number in hex", l.Sum)
	}
	ch.done = true
	t := &j.tables[ch.table]
	t.sum += sum
	t.left--
	t.Resumed += ch.rows
	j.now.resumed(ch.table, ch.rows)
	return nil
}

var _ Checkpoint = (*linefile.File)(nil)
