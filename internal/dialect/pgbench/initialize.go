package pgbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/base/sqltext"
	"brunt/internal/dialect/pgbench/script"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/internal/server/target"
)

// Rows of the tables for each unit of the scale.
const (
	branches = 1
	tellers  = 10
	accounts = 100_000
)

// bigScale is the scale from which account numbers have 64 bits.
const bigScale = 20_000

// session is a session for what precedes a load.
type session struct {
	protocol.Admin
	open func(context.Context) (protocol.Admin, error) // a further one
}

// connect opens a session to the plan's server, whose notices are printed.
func connect(ctx context.Context, p *plan.Plan, stderr io.Writer) (*session, error) {
	targets, err := target.Targets(p)
	if err != nil {
		return nil, err
	}
	for i := range targets {
		targets[i].Notice = func(r *protocol.Report) { fmt.Fprintln(stderr, script.ReportText(r, "")) }
	}
	driver, ok := protocols.Of(p.Target.Protocol).Open().(protocol.AdminDriver)
	if !ok {
		return nil, errors.New("this binary can't set up tables of PostgreSQL")
	}
	s := &session{}
	s.open = func(ctx context.Context) (admin protocol.Admin, err error) {
		for _, t := range targets { // libpq takes the first that answers
			if admin, err = driver.Admin(ctx, t); err == nil {
				return admin, nil
			}
		}
		return nil, err
	}
	s.Admin, err = s.open(ctx)
	return s, err
}

// value returns the first value of a query; "" for null or no row.
func (s *session) value(ctx context.Context, query string) (text string, err error) {
	err = s.Query(ctx, query, func(values []*string) error {
		if values[0] != nil {
			text = *values[0]
		}
		return nil
	})
	return text, err
}

// serverText returns an error of the server as PostgreSQL's libraries print it.
func serverText(err error) string {
	if e, ok := errors.AsType[*protocol.Error](err); ok && e.Code != "" {
		return "ERROR:  " + e.Text
	}
	return err.Error()
}

// initializer carries out the steps of -i.
type initializer struct {
	o      *Options
	db     *session
	stderr io.Writer
	now    func() time.Time
	live   bool // progress stays on one line
}

// run carries out the steps. Errors are *Fault.
func (i *initializer) run(ctx context.Context) error {
	steps := map[rune]struct {
		name string
		do   func(context.Context) error
	}{
		'd': {"drop tables", i.drop}, 't': {"create tables", i.create}, 'g': {"client-side generate", i.generate},
		'G': {"server-side generate", i.generateThere}, 'v': {"vacuum", i.vacuum}, 'p': {"primary keys", i.primaryKeys},
		'f': {"foreign keys", i.foreignKeys},
	}
	var parts []string
	total := 0.0
	for _, letter := range i.o.Steps {
		step, ok := steps[letter]
		if !ok {
			continue
		}
		began := i.now()
		if err := step.do(ctx); err != nil {
			return err
		}
		seconds := i.now().Sub(began).Seconds()
		total += seconds
		parts = append(parts, fmt.Sprintf("%s %.2f s", step.name, seconds))
	}
	i.say("done in %.2f s (%s).\n", total, strings.Join(parts, ", "))
	return nil
}

func (i *initializer) say(format string, values ...any) { fmt.Fprintf(i.stderr, format, values...) }

// execute executes statements. The error is a *Fault.
func (i *initializer) execute(ctx context.Context, statements ...string) error {
	for _, text := range statements {
		if _, err := i.db.Exec(ctx, text); err != nil {
			return fault("query failed: %s", serverText(err)).detail("detail", "Query was: %s", text)
		}
	}
	return nil
}

const allTables = "pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers"

func (i *initializer) drop(ctx context.Context) error {
	i.say("dropping old tables...\n")
	return i.execute(ctx, "drop table if exists "+allTables)
}

func (i *initializer) create(ctx context.Context) error {
	i.say("creating tables...\n")
	o, aid := i.o, "   int" // as pgbench writes it; messages of failures show the statement
	if o.Scale >= bigScale {
		aid = "bigint"
	}
	for _, t := range []struct {
		name, columns string
		filled        bool
	}{
		{"pgbench_history", "tid int,bid int,aid " + aid + ",delta int,mtime timestamp,filler char(22)", false},
		{"pgbench_tellers", "tid int not null,bid int,tbalance int,filler char(84)", true},
		{"pgbench_accounts", "aid " + aid + " not null,bid int,abalance int,filler char(84)", true},
		{"pgbench_branches", "bid int not null,bbalance int,filler char(88)", true},
	} {
		text := "create"
		if o.Unlogged && (o.PartitionMethod == "" || o.Version < loggedVersion) {
			text += " unlogged"
		}
		text += " table " + t.name + "(" + t.columns + ")"
		switch {
		case o.PartitionMethod != "" && t.name == "pgbench_accounts":
			text += " partition by " + o.PartitionMethod + " (aid)"
		case t.filled:
			text += fmt.Sprintf(" with (fillfactor=%d)", o.Fillfactor)
		}
		if o.Tablespace != "" {
			text += " tablespace " + sqltext.Quote(o.Tablespace)
		}
		if err := i.execute(ctx, text); err != nil {
			return err
		}
	}
	if o.PartitionMethod == "" {
		return nil
	}
	i.say("creating %d partitions...\n", o.Partitions)
	return i.execute(ctx, o.partitionTexts()...)
}

// partitionTexts returns the statements that create the partitions. Ranges are open at both ends.
func (o *Options) partitionTexts() (texts []string) {
	size := (accounts*int64(o.Scale) + int64(o.Partitions) - 1) / int64(o.Partitions)
	for p := 1; p <= o.Partitions; p++ {
		text := "create"
		if o.Unlogged {
			text += " unlogged"
		}
		text += fmt.Sprintf(" table pgbench_accounts_%d partition of pgbench_accounts for values ", p)
		if o.PartitionMethod == "hash" {
			text += fmt.Sprintf("with (modulus %d, remainder %d)", o.Partitions, p-1)
		} else {
			from, to := "minvalue", "maxvalue"
			if p > 1 {
				from = fmt.Sprint(int64(p-1)*size + 1)
			}
			if p < o.Partitions {
				to = fmt.Sprint(int64(p)*size + 1)
			}
			text += "from (" + from + ") to (" + to + ")"
		}
		texts = append(texts, text+fmt.Sprintf(" with (fillfactor=%d)", o.Fillfactor))
	}
	return texts
}

// chunks returns the rows of pgbench's tables. Row k of a table has the key k+1.
func (o *Options) chunks() []*protocol.Chunk {
	scale := uint64(o.Scale)
	column := func(name string) protocol.Column { return protocol.Column{Name: name, Type: "integer"} }
	filler := protocol.Column{Name: "filler", Type: "string"}
	return []*protocol.Chunk{
		{Table: "pgbench_branches", Columns: []protocol.Column{column("bid"), column("bbalance"), filler},
			Rows: branches * scale, Row: func(v []gen.Value, k uint64) {
				v[0].SetInt(int64(k) + 1)
				v[1].SetInt(0)
				v[2].SetNull()
			}},
		{Table: "pgbench_tellers", Columns: []protocol.Column{column("tid"), column("bid"), column("tbalance"), filler},
			Rows: tellers * scale, Row: func(v []gen.Value, k uint64) {
				v[0].SetInt(int64(k) + 1)
				v[1].SetInt(int64(k)/tellers + 1)
				v[2].SetInt(0)
				v[3].SetNull()
			}},
		{Table: "pgbench_accounts", Columns: []protocol.Column{column("aid"), column("bid"), column("abalance"), filler},
			Rows: accounts * scale, Row: func(v []gen.Value, k uint64) {
				v[0].SetInt(int64(k) + 1)
				v[1].SetInt(int64(k)/accounts + 1)
				v[2].SetInt(0)
				v[3].SetString("") // the server pads it with blanks
			}},
	}
}

// leastChunk is the number of rows that is worth a session of its own.
const leastChunk = 100_000

// mostLoaders is the greatest number of sessions that load a table.
const mostLoaders = 8

// generate fills the tables in one transaction, which lets the server freeze the rows. The rows of a partitioned
// pgbench_accounts follow by several sessions, each of which freezes those of some partitions.
func (i *initializer) generate(ctx context.Context) error {
	i.say("generating data (client-side)...\n")
	partitioned, parts := i.accountsTables(ctx)
	if err := i.execute(ctx, "begin", "truncate table "+allTables); err != nil {
		return err
	}
	for _, chunk := range i.o.chunks() {
		p := &loading{i: i, table: chunk.Table, total: chunk.Rows, began: i.now()}
		chunk.Progress, chunk.Frozen = p.add, true
		var err error
		if chunk.Table == "pgbench_accounts" && partitioned {
			if err := i.execute(ctx, "commit"); err != nil {
				return err
			}
			err = i.load(ctx, chunk, parts)
		} else {
			_, err = i.db.Load(ctx, chunk, false)
		}
		p.end()
		if err != nil {
			return fault("%s", serverText(err))
		}
	}
	if !partitioned {
		return i.execute(ctx, "commit")
	}
	return nil
}

// load loads a partitioned table by several sessions, each of which has the next of the partitions, or the next of many
// pieces of the table if the partitions can't be loaded one by one.
func (i *initializer) load(ctx context.Context, whole *protocol.Chunk, parts []partition) error {
	whole.Frozen = false // a partitioned table can't be
	var next atomic.Uint64
	tasks, do := len(parts), func(db protocol.Admin) error { return loadPartitions(ctx, db, whole, parts, &next) }
	if parts == nil {
		tasks, do = int(whole.Rows/leastChunk), func(db protocol.Admin) error { return loadPieces(ctx, db, whole, &next) }
	}
	loaders := min(tasks, runtime.NumCPU(), mostLoaders)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, loaders)
	var group sync.WaitGroup
	for n := range loaders {
		group.Go(func() {
			db, err := i.db.open(ctx)
			if err == nil {
				err = do(db)
				db.Close()
			}
			if errs[n] = err; err != nil {
				cancel()
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

// loadPartitions loads partitions until none is left, in one transaction. It empties them first, without which the
// server can't freeze their rows.
func loadPartitions(ctx context.Context, db protocol.Admin, whole *protocol.Chunk, parts []partition,
	next *atomic.Uint64) error {
	if _, err := db.Exec(ctx, "begin"); err != nil {
		return err
	}
	for {
		n := next.Add(1) - 1
		if n >= uint64(len(parts)) {
			_, err := db.Exec(ctx, "commit")
			return err
		}
		if _, err := db.Exec(ctx, "truncate table only "+sqltext.QuoteTable(parts[n].table)); err != nil {
			return err
		}
		if err := parts[n].chunks(whole, func(chunk *protocol.Chunk) error {
			_, err := db.Load(ctx, chunk, false)
			return err
		}); err != nil {
			return err
		}
	}
}

// loadPieces loads pieces of a table until none is left.
func loadPieces(ctx context.Context, db protocol.Admin, whole *protocol.Chunk, next *atomic.Uint64) error {
	for {
		first := next.Add(leastChunk) - leastChunk
		if first >= whole.Rows {
			return nil
		}
		chunk := *whole
		chunk.First, chunk.Rows = first, min(leastChunk, whole.Rows-first)
		if _, err := db.Load(ctx, &chunk, false); err != nil {
			return err
		}
	}
}

// loading says how far a table is filled.
type loading struct {
	i     *initializer
	table string
	total uint64
	began time.Time

	mu    sync.Mutex
	rows  uint64
	told  uint64        // with the usual messages: hundred thousands that have been told of
	after time.Duration // with --quiet: when the next message is due
	width int           // of the last message
}

const (
	tellEvery  = 100_000
	quietEvery = 5 * time.Second
	quietRows  = 100 // pgbench looks at the time every so many rows only
)

func (l *loading) add(rows uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows += rows
	if !l.i.o.Quiet {
		for l.told < l.rows/tellEvery {
			l.told++
			l.tell(l.told * tellEvery)
		}
		return
	}
	if l.after == 0 {
		l.after = quietEvery
	}
	if elapsed := l.i.now().Sub(l.began); l.rows == l.total && l.total%quietRows == 0 || elapsed >= l.after {
		l.tell(l.rows)
		l.after = elapsed.Truncate(quietEvery) + quietEvery
	}
}

func (l *loading) tell(rows uint64) {
	elapsed := l.i.now().Sub(l.began).Seconds()
	text := fmt.Sprintf("%d of %d tuples (%d%%) of %s done (elapsed %.2f s, remaining %.2f s)", rows, l.total,
		rows*100/l.total, l.table, elapsed, float64(l.total-rows)*elapsed/float64(rows))
	if l.i.o.Version < tableVersion {
		text = strings.Replace(text, " of "+l.table, "", 1)
	}
	blank, end := "", "\n"
	if l.i.live {
		blank, end = strings.Repeat(" ", max(l.width-len(text), 0)), "\r"
	}
	l.width = len(text)
	l.i.say("%s%s%s", text, blank, end)
}

// loggedVersion is the first version that makes no table unlogged if pgbench_accounts is partitioned, but its
// partitions.
const loggedVersion = 18

// tableVersion is the first version whose messages name the table.
const tableVersion = 17

// end clears the line.
func (l *loading) end() {
	if l.width > 0 && l.i.live {
		l.i.say("%*c\r", l.width, ' ')
	}
}

func (i *initializer) generateThere(ctx context.Context) error {
	i.say("generating data (server-side)...\n")
	scale := i.o.Scale
	return i.execute(ctx, "begin", "truncate table "+allTables,
		fmt.Sprintf("insert into pgbench_branches(bid,bbalance) select bid, 0 from generate_series(1, %d) as bid",
			branches*scale),
		fmt.Sprintf("insert into pgbench_tellers(tid,bid,tbalance) select tid, (tid - 1) / %d + 1, 0 "+
			"from generate_series(1, %d) as tid", tellers, tellers*scale),
		fmt.Sprintf("insert into pgbench_accounts(aid,bid,abalance,filler) select aid, (aid - 1) / %d + 1, 0, '' "+
			"from generate_series(1, %d) as aid", accounts, int64(accounts)*int64(scale)), "commit")
}

func (i *initializer) vacuum(ctx context.Context) error {
	i.say("vacuuming...\n")
	return i.execute(ctx, "vacuum analyze pgbench_branches", "vacuum analyze pgbench_tellers",
		"vacuum analyze pgbench_accounts", "vacuum analyze pgbench_history")
}

func (i *initializer) primaryKeys(ctx context.Context) error {
	i.say("creating primary keys...\n")
	texts := []string{"alter table pgbench_branches add primary key (bid)",
		"alter table pgbench_tellers add primary key (tid)", "alter table pgbench_accounts add primary key (aid)"}
	if i.o.IndexTablespace != "" {
		for k := range texts {
			texts[k] += " using index tablespace " + sqltext.Quote(i.o.IndexTablespace)
		}
	}
	return i.execute(ctx, texts...)
}

func (i *initializer) foreignKeys(ctx context.Context) error {
	i.say("creating foreign keys...\n")
	var texts []string
	for _, key := range [][3]string{{"tellers", "bid", "branches"}, {"accounts", "bid", "branches"},
		{"history", "bid", "branches"}, {"history", "tid", "tellers"}, {"history", "aid", "accounts"}} {
		texts = append(texts, fmt.Sprintf("alter table pgbench_%s add constraint pgbench_%s_%s_fkey foreign key (%s) "+
			"references pgbench_%s", key[0], key[0], key[1], key[1], key[2]))
	}
	return i.execute(ctx, slices.Clip(texts)...)
}

// lookAt finds out the server's version and, for built-in scripts, the scale and the partitions of the tables. warning
// is for the user. The server is returned with errors too, once its version is known.
func (o *Options) lookAt(ctx context.Context, db *session, database string) (s *server, warning string, err error) {
	s = &server{}
	if s.version, err = db.value(ctx, "show server_version"); err != nil {
		return nil, "", fault("%s", serverText(err))
	}
	if !o.Internal {
		return s, "", nil
	}
	hint := func(f *Fault) error {
		return f.detail("hint", `Perhaps you need to do initialization ("pgbench -i") in database "%s".`, database)
	}
	text, err := db.value(ctx, "select count(*) from pgbench_branches")
	if err != nil {
		f := fault("could not count number of branches: %s", serverText(err))
		if e, ok := errors.AsType[*protocol.Error](err); ok && e.Code == "42P01" {
			return s, "", hint(f)
		}
		return s, "", f
	}
	fmt.Sscan(text, &o.Scale)
	if o.ScaleGiven {
		warning = fmt.Sprintf("scale option ignored, using count from pgbench_branches table (%d)", o.Scale)
	}
	return s, warning, s.partitioned(ctx, db, hint)
}

// partitioned finds out how the first table of accounts in the search path is partitioned. Servers that can't say have
// no partitions.
func (s *server) partitioned(ctx context.Context, db *session, hint func(*Fault) error) error {
	const query = `select p.partstrat, count(i.inhparent) from pg_catalog.pg_class c
		join pg_catalog.pg_namespace n on n.oid = c.relnamespace
		left join pg_catalog.pg_partitioned_table p on p.partrelid = c.oid
		left join pg_catalog.pg_inherits i on i.inhparent = c.oid
		where c.relname = 'pgbench_accounts' and n.nspname = any (current_schemas(true))
		group by array_position(current_schemas(true), n.nspname), 1
		order by array_position(current_schemas(true), n.nspname) limit 1`
	found := false
	err := db.Query(ctx, query, func(values []*string) error {
		found = true
		if values[0] != nil {
			s.partitionMethod = map[string]string{"r": "range", "h": "hash"}[*values[0]]
		}
		if values[1] != nil {
			fmt.Sscan(*values[1], &s.partitions)
		}
		return nil
	})
	if err == nil && !found {
		return hint(fault(`no pgbench_accounts table found in "search_path"`))
	}
	return nil
}

// clean vacuums the tables before a load. Failures are said and ignored.
func (o *Options) clean(ctx context.Context, db *session, stderr io.Writer) {
	try := func(texts ...string) {
		for _, text := range texts {
			if _, err := db.Exec(ctx, text); err != nil {
				fmt.Fprintf(stderr, "pgbench: error: %s\npgbench: detail: (ignoring this error and continuing anyway)\n",
					serverText(err))
			}
		}
	}
	fmt.Fprint(stderr, "starting vacuum...")
	try("vacuum pgbench_branches", "vacuum pgbench_tellers", "truncate pgbench_history")
	fmt.Fprint(stderr, "end.\n")
	if o.VacuumAll {
		fmt.Fprint(stderr, "starting vacuum pgbench_accounts...")
		try("vacuum analyze pgbench_accounts")
		fmt.Fprint(stderr, "end.\n")
	}
}
