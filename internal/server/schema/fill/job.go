package fill

import (
	"context"
	"fmt"
	"sync"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// job is the state of a load.
type job struct {
	c      *Config
	chunks []chunk

	id      string // from the checkpoint; only for a load in parts
	resumed bool   // an earlier run began the checkpoint

	mu     sync.Mutex
	tables []tableState
	now    *progress
}

// chunk is a contiguous range of a table's rows. Its table and number determine the rows.
type chunk struct {
	table  int
	number int
	first  uint64
	rows   uint64
	begun  bool // an earlier run began it but didn't finish
	done   bool // an earlier run finished it
}

// tableState is the progress of one table.
type tableState struct {
	TableReport
	sum     uint64
	left    int // chunks that remain to be loaded
	started time.Time
	ended   time.Time
}

// chunkRows returns how many rows a chunk of a table has. A table is divided into up to 16 chunks, so that several
// workers share it, but a chunk has at least 1000 rows, because each has a fixed cost, and at most ChunkRows. The size
// doesn't depend on the number of workers, so a load can be resumed with another number.
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

// load loads the chunks in order with several workers, until all are loaded or one fails.
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

// parallel runs n workers and waits for them. The first error cancels the others and is returned.
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
			return fmt.Errorf("fill: write the checkpoint: %w", err)
		}
	}
	j.begin(ch.table)
	// Rows of a table without keys can't be replaced. Only the checkpoint tells which of its rows exist.
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
		return fmt.Errorf("fill: table %q, rows %d to %d: %w", t.Name, ch.first, ch.first+ch.rows-1, err)
	}
	if j.c.Checkpoint != nil {
		if err := j.c.Checkpoint.Append(chunkLine(t, ch, true, sum)); err != nil {
			return fmt.Errorf("fill: write the checkpoint: %w", err)
		}
	}
	j.end(ch.table, sum)
	return nil
}

// send loads a chunk. It returns the number of rows that the server took, and the sum of the checksums of the generated
// rows.
func send(ctx context.Context, a protocol.Admin, t *Table, ch *chunk, replace bool, told func(uint64)) (sum,
	rows uint64, err error) {
	// A driver may generate rows in several goroutines. A goroutine of a connection that was lost can still run after
	// Load has returned. Its rows don't count.
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
		// The driver retried internally and generated some rows twice.
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
