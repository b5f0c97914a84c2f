package fill

import (
	"context"
	"fmt"
	"sync"
	"time"

	"brunt/internal/gen"
	"brunt/internal/protocol"
)

// job is a load under way.
type job struct {
	c      *Config
	chunks []chunk

	id      string // of a load in parts, from its checkpoint
	resumed bool   // an earlier run has begun the checkpoint

	mu     sync.Mutex
	tables []tableState
	now    *progress
}

// chunk is a contiguous range of rows; what it is follows from table and number alone.
type chunk struct {
	table  int
	number int
	first  uint64
	rows   uint64
	begun  bool // by an earlier run that didn't finish it
	done   bool // by an earlier run
}

// tableState is what has become of a table so far.
type tableState struct {
	TableReport
	sum     uint64
	left    int // chunks
	started time.Time
	ended   time.Time
}

// chunkRows is how many rows a chunk of a table has: the most allowed, but such that several
// workers get some, and never so few that sending them apart costs more than it gives. It doesn't
// depend on the number of workers, so that a load can go on with another one.
func (c *Config) chunkRows(rows uint64) uint64 {
	const fewest, pieces = 1000, 16
	return min(max((rows+pieces-1)/pieces, fewest), c.ChunkRows)
}

func newJob(c *Config) *job {
	j := &job{c: c, tables: make([]tableState, len(c.Tables)), now: newProgress(c)}
	all := 0
	for i := range c.Tables {
		t := &c.Tables[i]
		j.tables[i].TableReport = TableReport{Name: t.Name, Rows: t.Rows}
		if t.Filled {
			continue
		}
		size := c.chunkRows(t.Rows)
		for first := uint64(0); first < t.Rows; first += size {
			ch := chunk{table: i, number: j.tables[i].Chunks, first: first, rows: min(size, t.Rows-first)}
			j.tables[i].Chunks++
			if c.Others == nil && c.Part.has(all) {
				j.chunks = append(j.chunks, ch)
				j.tables[i].left++
				j.now.total += ch.rows
			}
			all++
		}
	}
	return j
}

func (j *job) reports() []TableReport {
	j.countPart()
	reports := make([]TableReport, len(j.tables))
	for i := range j.tables {
		t := &j.tables[i]
		if !j.c.Tables[i].Filled {
			t.Checksum = fmt.Sprintf("%016x", t.sum)
		}
		t.Elapsed = t.ended.Sub(t.started)
		if s := t.Elapsed.Seconds(); s > 0 {
			t.RatePerS = float64(t.Rows-t.Resumed) / s
		}
		reports[i] = t.TableReport
	}
	return reports
}

// load has workers take the chunks in order until all are done or one can't be loaded.
func (j *job) load(ctx context.Context) error {
	queue := make(chan *chunk, len(j.chunks))
	for i := range j.chunks {
		if !j.chunks[i].done {
			queue <- &j.chunks[i]
		}
	}
	close(queue)
	return parallel(ctx, min(j.c.Workers, len(queue)), func(ctx context.Context, worker int) error {
		s := j.newSession(worker)
		defer s.close()
		for ch := range queue {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := j.loadChunk(ctx, s, ch); err != nil {
				return err
			}
		}
		return nil
	})
}

// parallel runs n workers; the first failure ends them all and is returned.
func parallel(ctx context.Context, n int, work func(ctx context.Context, worker int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for worker := range n {
		all.Go(func() {
			if err := work(ctx, worker); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func (j *job) loadChunk(ctx context.Context, s *session, ch *chunk) error {
	t := &j.c.Tables[ch.table]
	if j.c.Checkpoint != nil {
		if err := j.c.Checkpoint.Append(chunkLine(t, ch, false, 0)); err != nil {
			return fmt.Errorf("load: write the checkpoint: %w", err)
		}
	}
	j.begin(ch.table)
	// Without keys, a checkpoint is all that says what is there.
	replace := ch.begun || j.c.Replace && (len(t.Keys) > 0 || !j.resumed)
	var sum uint64
	err := s.try(ctx, func(a protocol.Admin, attempt int) error {
		told := j.now.attempt(ch.table)
		rows, err := uint64(0), error(nil)
		sum, rows, err = send(ctx, a, t, ch, replace || attempt > 1, told.add)
		if err == nil && rows != ch.rows {
			err = &protocol.Error{Class: protocol.Protocol, Text: fmt.Sprintf("the server took %d rows of %d", rows, ch.rows)}
		}
		if err != nil {
			told.takeBack()
			return err
		}
		told.complete(ch.rows)
		return nil
	})
	if err != nil {
		return fmt.Errorf("load: table %q, rows %d to %d: %w", t.Name, ch.first, ch.first+ch.rows-1, err)
	}
	if j.c.Checkpoint != nil {
		if err := j.c.Checkpoint.Append(chunkLine(t, ch, true, sum)); err != nil {
			return fmt.Errorf("load: write the checkpoint: %w", err)
		}
	}
	j.end(ch.table, sum)
	return nil
}

// send loads a chunk and returns the sum of the checksums of the rows generated for it.
func send(ctx context.Context, a protocol.Admin, t *Table, ch *chunk, replace bool, told func(uint64)) (sum,
	rows uint64, err error) {
	// A driver may generate rows from several goroutines, and one of a connection that was lost may
	// go on for a while after Load has returned: what it makes doesn't count.
	var mu sync.Mutex
	var made, all uint64
	over := false
	n, err := a.Load(ctx, &protocol.Chunk{
		Table: t.Name, Columns: t.Columns, Keys: t.Keys, First: ch.first, Rows: ch.rows,
		Row: func(values []gen.Value, row uint64) {
			t.Row(values, row)
			one := gen.ChecksumRow(values)
			mu.Lock()
			all += one
			made++
			mu.Unlock()
		},
		Progress: func(rows uint64) {
			mu.Lock()
			defer mu.Unlock()
			if !over {
				told(rows)
			}
		},
	}, replace)
	mu.Lock()
	over, sum = true, all
	again := made != ch.rows
	mu.Unlock()
	if err == nil && again {
		// The driver made some rows twice, for a try of its own.
		sum = checksum(t, ch)
	}
	return sum, uint64(max(n, 0)), err
}

func checksum(t *Table, ch *chunk) (sum uint64) {
	values := make([]gen.Value, len(t.Columns))
	for row := ch.first; row < ch.first+ch.rows; row++ {
		t.Row(values, row)
		sum += gen.ChecksumRow(values)
	}
	return sum
}

func (j *job) begin(table int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if t := &j.tables[table]; t.started.IsZero() {
		t.started = j.c.Now()
		t.ended = t.started
	}
}

func (j *job) end(table int, sum uint64) {
	j.mu.Lock()
	t := &j.tables[table]
	t.sum += sum
	t.left--
	last := t.left == 0
	t.ended = j.c.Now()
	j.mu.Unlock()
	if last {
		j.now.tell(table)
	}
}
