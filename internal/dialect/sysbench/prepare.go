package sysbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/internal/server/target"
)

// Administer carries out prepare, prewarm (warmup) or cleanup. It prints sysbench's lines to w.
func (s *Settings) Administer(ctx context.Context, w io.Writer) error {
	tables, err := s.tables()
	if err != nil {
		return err
	}
	if s.test.only && s.Command == "cleanup" && tables != 1 {
		return errors.New("this benchmark does not support --tables > 1")
	}
	if (s.Command == "prewarm" || s.Command == "warmup") && !s.mysql() {
		return fmt.Errorf("%s is currently MySQL only", s.Command)
	}
	a := &administrator{s: s, out: &lockedWriter{w: w}, tables: tables}
	if a.table, err = s.table(); err != nil {
		return err
	}
	if err := a.find(); err != nil {
		return err
	}
	if s.Threads > 1 && s.Command != "cleanup" && !s.test.isBulk() {
		a.say("Initializing worker threads...\n")
	}
	switch {
	case s.Command == "cleanup":
		return a.with(ctx, func(c protocol.Admin) error { return a.drop(ctx, c) })
	case s.test.isBulk():
		return a.with(ctx, func(c protocol.Admin) error { return a.createBulk(ctx, c) })
	case s.Command == "prepare":
		return a.prepare(ctx)
	}
	return a.each(ctx, func(ctx context.Context, c protocol.Admin, number int) error { return a.warm(ctx, c, number) })
}

// administrator makes, fills, reads and drops tables.
type administrator struct {
	s      *Settings
	table  *table
	tables int
	out    io.Writer
	driver protocol.AdminDriver
	all    []protocol.Target
}

// lockedWriter lets several goroutines print lines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func (a *administrator) say(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) }

// find finds the driver and the addresses.
func (a *administrator) find() error {
	p := &plan.Plan{Settings: plan.Settings{ConnectTimeout: a.s.connectTime()}}
	if err := a.s.target(&p.Target); err != nil {
		return err
	}
	d, err := protocols.Find(p.Target.Protocol)
	if err != nil {
		return err
	}
	driver, ok := d.Open().(protocol.AdminDriver)
	if !ok {
		return fmt.Errorf("the protocol %s can't create tables", d.Name())
	}
	a.driver = driver
	a.all, err = target.Targets(p)
	return err
}

// connect opens the connection of a thread.
func (a *administrator) connect(ctx context.Context, thread int) (protocol.Admin, error) {
	t := a.all[thread%len(a.all)]
	c, err := a.driver.Admin(ctx, t)
	if err != nil {
		return nil, &target.UnreachableError{Err: err}
	}
	return c, nil
}

// with calls do with a connection.
func (a *administrator) with(ctx context.Context, do func(protocol.Admin) error) error {
	c, err := a.connect(ctx, 0)
	if err != nil {
		return err
	}
	return errors.Join(do(c), c.Close())
}

// each calls do for every table, on --threads connections.
func (a *administrator) each(ctx context.Context,
	do func(ctx context.Context, c protocol.Admin, number int) error) error {
	numbers := make(chan int, a.tables)
	for number := 1; number <= a.tables; number++ {
		numbers <- number
	}
	close(numbers)
	return a.threads(ctx, min(a.s.Threads, a.tables), func(ctx context.Context, c protocol.Admin) error {
		for number := range numbers {
			if err := do(ctx, c, number); err != nil {
				return err
			}
		}
		return nil
	})
}

// threads runs do on n connections, until all have returned. The first error ends the others.
func (a *administrator) threads(ctx context.Context, n int,
	do func(ctx context.Context, c protocol.Admin) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for thread := range n {
		group.Go(func() {
			c, err := a.connect(ctx, thread)
			if err == nil {
				err = errors.Join(do(ctx, c), c.Close())
			}
			if err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

func (a *administrator) exec(ctx context.Context, c protocol.Admin, statement string) error {
	_, err := c.Exec(ctx, statement)
	return err
}

func (a *administrator) drop(ctx context.Context, c protocol.Admin) error {
	for number := 1; number <= a.tables; number++ {
		a.say("Dropping table 'sbtest%d'...", number)
		if err := a.exec(ctx, c, fmt.Sprintf("DROP TABLE IF EXISTS sbtest%d", number)); err != nil {
			return err
		}
	}
	return nil
}

func (a *administrator) createBulk(ctx context.Context, c protocol.Admin) error {
	for number := 1; number <= a.tables; number++ {
		a.say("Creating table 'sbtest%d'...", number)
		if err := a.exec(ctx, c, createBulk(number)); err != nil {
			return err
		}
	}
	return nil
}

// warm reads a table, as sysbench's prewarm does.
func (a *administrator) warm(ctx context.Context, c protocol.Admin, number int) error {
	word := "Prewarming"
	if a.s.Version == Version11 {
		word = "Preloading"
	}
	a.say("%s table sbtest%d", word, number)
	for _, text := range []string{"SET tmp_table_size=2*1024*1024*1024", "SET max_heap_table_size=2*1024*1024*1024"} {
		if err := a.exec(ctx, c, text); err != nil {
			return err
		}
	}
	for _, text := range []string{
		fmt.Sprintf("ANALYZE TABLE sbtest%d", number),
		fmt.Sprintf("SELECT AVG(id) FROM (SELECT * FROM sbtest%d FORCE KEY (PRIMARY) LIMIT %d) t", number, a.table.rows),
		fmt.Sprintf("SELECT COUNT(*) FROM (SELECT * FROM sbtest%d WHERE k LIKE '%%0%%' LIMIT %d) t", number, a.table.rows),
	} {
		if err := c.Query(ctx, text, func([]*string) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// chunkRows is the number of rows that one thread inserts at a time.
const chunkRows = 20_000

// filling is a table that is being filled by several threads.
type filling struct {
	number int
	next   uint64 // the first row of the next chunk
	left   int    // chunks that aren't inserted yet
}

// prepare creates, fills and indexes the tables. Threads that have no table of their own help with those of others.
func (a *administrator) prepare(ctx context.Context) error {
	w := &work{a: a}
	w.changed.L = &w.mu
	chunks := (a.table.rows + chunkRows - 1) / chunkRows
	n := min(a.s.Threads, max(a.tables, a.tables*chunks))
	return a.threads(ctx, n, func(ctx context.Context, c protocol.Admin) error { return w.run(ctx, c, chunks) })
}

// work is what the threads of prepare have in common.
type work struct {
	a       *administrator
	mu      sync.Mutex
	changed sync.Cond // of what follows
	created int       // tables that threads have taken
	pending int       // of them, those that aren't created yet
	failed  bool      // a thread has met an error
	filling []*filling
}

// take returns the next thing to do: a table to create (number > 0), or a chunk of a table. While others create tables,
// it waits for one.
func (w *work) take() (number int, f *filling, first uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		switch {
		case w.failed:
			return 0, nil, 0
		case w.created < w.a.tables:
			w.created++
			w.pending++
			return w.created, nil, 0
		}
		for _, f := range w.filling {
			if f.next <= uint64(w.a.table.rows) {
				return 0, f, f.advance()
			}
		}
		if w.pending == 0 {
			return 0, nil, 0
		}
		w.changed.Wait()
	}
}

// settle says that a table is created, and is filled from now on if f isn't nil, or that a thread has met an error.
func (w *work) settle(f *filling, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending--
	w.failed = w.failed || failed
	if f != nil {
		w.filling = append(w.filling, f)
	}
	w.changed.Broadcast()
}

// advance returns the first row of the next chunk.
func (f *filling) advance() (first uint64) {
	first = f.next
	f.next += chunkRows
	return first
}

// chunk returns the next chunk of a table; 0 if there is none.
func (w *work) chunk(f *filling) (first uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.next > uint64(w.a.table.rows) {
		return 0
	}
	return f.advance()
}

// inserted reports whether a chunk was the table's last.
func (w *work) inserted(f *filling) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	f.left--
	return f.left == 0
}

// run is a thread of prepare.
func (w *work) run(ctx context.Context, c protocol.Admin, chunks int) error {
	for ctx.Err() == nil {
		number, f, first := w.take()
		if number > 0 {
			var err error
			if f, err = w.create(ctx, c, number, chunks); err != nil {
				return err
			}
			first = w.chunk(f)
		} else if f == nil {
			return nil
		}
		for ; first > 0; first = w.chunk(f) {
			if err := w.a.insert(ctx, c, f.number, first); err != nil {
				return err
			}
			if w.inserted(f) {
				if err := w.a.finish(ctx, c, f.number); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// create creates a table, which is to be filled by so many chunks.
func (w *work) create(ctx context.Context, c protocol.Admin, number, chunks int) (f *filling, err error) {
	a := w.a
	f = &filling{number: number, next: 1, left: chunks}
	defer func() { w.settle(f, err != nil) }()
	a.say("Creating table 'sbtest%d'...", number)
	if err := a.exec(ctx, c, a.table.create(number)); err != nil {
		return nil, err
	}
	if a.table.rows == 0 {
		return f, a.finish(ctx, c, number)
	}
	a.say("Inserting %d records into 'sbtest%d'", a.table.rows, number)
	return f, nil
}

// insert inserts the chunk that begins with a row.
func (a *administrator) insert(ctx context.Context, c protocol.Admin, number int, first uint64) error {
	last := min(first+chunkRows-1, uint64(a.table.rows))
	if a.table.mysql {
		return a.insertTexts(ctx, c, number, first, last)
	}
	chunk := protocol.Chunk{Table: fmt.Sprintf("sbtest%d", number), Keys: []string{"id"}, First: first,
		Rows: last - first + 1, Row: a.table.values(number), Columns: []protocol.Column{
			{Name: "id", Type: "integer"}, {Name: "k", Type: "integer"}, {Name: "c", Type: "string"},
			{Name: "pad", Type: "string"}}}
	_, err := c.Load(ctx, &chunk, false)
	return err
}

// insertTexts inserts rows by statements of several rows, the next of which is made while the server works.
func (a *administrator) insertTexts(ctx context.Context, c protocol.Admin, number int, first, last uint64) error {
	texts := make(chan string, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer close(texts)
		for next := first; next <= last; {
			var b strings.Builder
			b.Grow(statementBytes)
			next = a.table.insertRows(&b, number, next, last)
			select {
			case texts <- b.String():
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := a.exec(ctx, c, "START TRANSACTION"); err != nil {
		return err
	}
	for text := range texts {
		if err := a.exec(ctx, c, text); err != nil {
			return err
		}
	}
	return a.exec(ctx, c, "COMMIT")
}

// finish makes a table's sequence follow its rows, and its index.
func (a *administrator) finish(ctx context.Context, c protocol.Admin, number int) error {
	t := a.table
	if !t.mysql && t.autoInc && t.rows > 0 {
		err := c.Query(ctx, fmt.Sprintf("SELECT setval(pg_get_serial_sequence('sbtest%d', 'id'), %d)", number, t.rows),
			func([]*string) error { return nil })
		if err != nil {
			return err
		}
	}
	if !t.index {
		return nil
	}
	a.say("Creating a secondary index on 'sbtest%d'...", number)
	return a.exec(ctx, c, fmt.Sprintf("CREATE INDEX k_%d ON sbtest%d(k)", number, number))
}
