package mysql

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/base/sqltext"
	"brunt/internal/inspect"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// The kinds of objects of a reading.
const (
	kindStatus = "status" // counters of the server: SHOW GLOBAL STATUS without this session's
	kindGauge  = "gauge"  // those of them that may also decrease
	kindTable  = "table"
	kindIndex  = "index"
	kindWait   = "wait" // events of performance_schema
)

// everRead is the figure of an index that counts its uses since the server's statistics were reset.
const everRead = "read_ever"

// gauges are the status variables that aren't counters.
var gauges = []string{"Threads_connected", "Threads_running", "Max_used_connections", "Innodb_row_lock_current_waits",
	"Innodb_buffer_pool_pages_dirty", "Innodb_buffer_pool_pages_total", "Innodb_page_size", "Open_tables"}

// counters are the status variables that are recorded. Those that sessions have too come first.
var counters = []string{
	"Handler_commit", "Handler_delete", "Handler_read_first", "Handler_read_key", "Handler_read_next",
	"Handler_read_rnd", "Handler_read_rnd_next", "Handler_rollback", "Handler_update", "Handler_write",
	"Created_tmp_disk_tables", "Created_tmp_tables", "Select_full_join", "Select_scan", "Sort_merge_passes",
	"Sort_rows", "Questions", "Bytes_received", "Bytes_sent", "Com_select", "Com_insert", "Com_update", "Com_delete",
	"Com_replace", "Com_commit", "Com_rollback", "Com_begin", "Com_stmt_execute",
	ofServer: "Innodb_row_lock_time", "Innodb_row_lock_waits", "Innodb_deadlocks", "Innodb_buffer_pool_reads",
	"Innodb_buffer_pool_read_requests", "Innodb_data_fsyncs", "Innodb_data_reads", "Innodb_os_log_fsyncs",
	"Innodb_os_log_written", "Innodb_log_waits", "Innodb_buffer_pool_wait_free", "Connection_errors_max_connections",
	"Aborted_clients", "Aborted_connects", "Connections", "Table_locks_waited",
}

// ofServer is the number of counters that sessions have too.
const ofServer = 28

const picosecondsPerNs = 1e3

// reading reads the statistics. It returns nil if another server answers than before.
func (i *Inspector) reading(ctx context.Context) (*inspect.Reading, error) {
	out := &inspect.Reading{At: time.Now(), Statements: map[string]inspect.Tally{},
		Objects: map[inspect.Object]map[string]float64{}}
	uptime, err := i.status(ctx, out)
	if err != nil {
		return nil, err
	}
	if there, err := i.sameServer(ctx); err != nil || !there {
		return nil, err
	}
	i.epoch(out, uptime)
	if !i.digests {
		return out, nil
	}
	for _, read := range []func(context.Context, *inspect.Reading) error{
		i.readDigests, i.readPrepared, i.readIndexes, i.readWaits, i.readDeadlocks} {
		if err := read(ctx, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sameServer reports whether the server is the one that answered first. A proxy may have chosen another one, whose
// counters can't be compared.
func (i *Inspector) sameServer(ctx context.Context) (bool, error) {
	now, err := i.session.text(ctx, askIdentity)
	if err != nil || now == i.identity || i.identity == "" {
		return err == nil, err
	}
	i.miss(record.NewWarning("inspect-servers", message.Text("first", i.identity), message.Text("second", now)))
	return false, nil
}

// epoch sets the reading's epoch by the time at which the server started: a server that has been up for a shorter
// time than the last reading was has started again.
func (i *Inspector) epoch(r *inspect.Reading, uptime float64) {
	last := i.readings.Last()
	if last == nil {
		r.Epoch = "0"
		return
	}
	r.Epoch = last.Epoch
	if before := last.Objects[inspect.Object{Kind: kindGauge, Name: "server"}]["Uptime"]; uptime < before {
		r.Epoch += "+"
		i.prepared = newPrepared()
	}
}

// status reads the status variables, from which those of this session are subtracted.
func (i *Inspector) status(ctx context.Context, out *inspect.Reading) (uptime float64, err error) {
	all := append(slices.Clone(counters), gauges...)
	r, err := i.session.query(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ("+quotedList(append(all, "Uptime"))+")")
	if err != nil {
		return 0, err
	}
	own, err := i.session.query(ctx,
		"SHOW SESSION STATUS WHERE Variable_name IN ("+quotedList(counters[:ofServer])+")")
	if err != nil {
		return 0, err
	}
	mine := map[string]float64{}
	for k := range own.rows {
		mine[own.at(k, "Variable_name")] = own.number(k, "Value")
	}
	counted, gauged := map[string]float64{}, map[string]float64{}
	for k := range r.rows {
		name, x := r.at(k, "Variable_name"), r.number(k, "Value")
		switch {
		case name == "Uptime":
			uptime = x
			gauged[name] = x
		case slices.Contains(gauges, name):
			gauged[name] = x
		default:
			counted[name] = max(x-mine[name], 0)
		}
	}
	out.Objects[inspect.Object{Kind: kindStatus, Name: "server"}] = counted
	out.Objects[inspect.Object{Kind: kindGauge, Name: "server"}] = gauged
	return uptime, nil
}

// readDigests reads the statements' sums, without those of administrative questions, of which this session's are the
// most.
func (i *Inspector) readDigests(ctx context.Context, out *inspect.Reading) error {
	r, err := i.optional(ctx, "performance_schema.events_statements_summary_by_digest",
		`SELECT SCHEMA_NAME, DIGEST, LEFT(DIGEST_TEXT, 4000) AS TEXT, COUNT_STAR, SUM_TIMER_WAIT, SUM_LOCK_TIME, SUM_ERRORS,
		SUM_ROWS_AFFECTED, SUM_ROWS_SENT, SUM_ROWS_EXAMINED, SUM_CREATED_TMP_DISK_TABLES, SUM_SORT_MERGE_PASSES,
		SUM_SORT_ROWS, SUM_NO_INDEX_USED, SUM_SELECT_SCAN FROM performance_schema.events_statements_summary_by_digest
		WHERE COUNT_STAR > 0`)
	if err != nil || r == nil {
		return err
	}
	for k := range r.rows {
		text := r.at(k, "TEXT")
		if administrative(text) {
			continue
		}
		t := r.tally(k, secret.Text(text))
		t.Calls, t.TotalNs = r.number(k, "COUNT_STAR"), r.number(k, "SUM_TIMER_WAIT")/picosecondsPerNs
		out.Statements[r.at(k, "SCHEMA_NAME")+"/"+r.at(k, "DIGEST")] = t
	}
	return nil
}

// tally returns the figures of a row that digests and prepared statements both have.
func (r *result) tally(row int, text string) inspect.Tally {
	t := inspect.Tally{Text: text, Rows: r.number(row, "SUM_ROWS_SENT") + r.number(row, "SUM_ROWS_AFFECTED"),
		More: map[string]float64{}}
	for _, name := range r.columns {
		if sum, ok := strings.CutPrefix(name, "SUM_"); ok && !strings.HasPrefix(sum, "TIMER") {
			t.More[strings.ToLower(sum)] = r.number(row, name)
		}
	}
	t.More["lock_time"] /= picosecondsPerNs
	return t
}

// administrative reports whether a statement asks about the server itself.
func administrative(text string) bool {
	switch sqltext.FirstWord(text) {
	case "SHOW", "SET", "USE", "PREPARE", "DEALLOCATE", "EXPLAIN", "DESCRIBE":
		return true
	}
	if strings.Contains(text, "@@") {
		return true
	}
	lower := strings.ToLower(text)
	return strings.Contains(lower, "performance_schema") || strings.Contains(lower, "information_schema") ||
		strings.HasPrefix(lower, "select schema ( )") || strings.Contains(lower, "connection_id") ||
		strings.HasPrefix(lower, "select version ( )")
}

// prepared sums up prepared statements, which the server forgets when they are closed. MariaDB counts executions of
// binary prepared statements nowhere else.
type prepared struct {
	last map[string]inspect.Tally // what the server said at last, by hash of the text
	sum  map[string]inspect.Tally
}

func newPrepared() prepared {
	return prepared{map[string]inspect.Tally{}, map[string]inspect.Tally{}}
}

// add adds what the server says now. Sums that decreased belong to statements that were closed.
func (p *prepared) add(now map[string]inspect.Tally) {
	for id, t := range now {
		before, sum := p.last[id], p.sum[id]
		more := map[string]float64{}
		for name, x := range t.More {
			more[name] = sum.More[name] + max(x-before.More[name], 0)
		}
		p.sum[id] = inspect.Tally{Text: t.Text, Calls: sum.Calls + max(t.Calls-before.Calls, 0),
			Rows: sum.Rows + max(t.Rows-before.Rows, 0), TotalNs: sum.TotalNs + max(t.TotalNs-before.TotalNs, 0), More: more}
	}
	p.last = now
}

// prefixPrepared begins the IDs of prepared statements.
const prefixPrepared = "prepared/"

// samplePrepared reads the prepared statements, summed by text. Texts are told apart by checksum and length: a checksum
// that nobody can forge would cost the server ten times as much.
func (i *Inspector) samplePrepared(ctx context.Context) error {
	r, err := i.optional(ctx, "performance_schema.prepared_statements_instances",
		`SELECT CONCAT(CRC32(SQL_TEXT), '-', LENGTH(SQL_TEXT)) AS ID,
		SUM(COUNT_EXECUTE) AS CALLS, SUM(SUM_TIMER_EXECUTE) AS TIME,
		SUM(SUM_LOCK_TIME) AS SUM_LOCK_TIME, SUM(SUM_ERRORS) AS SUM_ERRORS, SUM(SUM_ROWS_AFFECTED) AS SUM_ROWS_AFFECTED,
		SUM(SUM_ROWS_SENT) AS SUM_ROWS_SENT, SUM(SUM_ROWS_EXAMINED) AS SUM_ROWS_EXAMINED,
		SUM(SUM_CREATED_TMP_DISK_TABLES) AS SUM_CREATED_TMP_DISK_TABLES,
		SUM(SUM_SORT_MERGE_PASSES) AS SUM_SORT_MERGE_PASSES, SUM(SUM_SORT_ROWS) AS SUM_SORT_ROWS,
		SUM(SUM_NO_INDEX_USED) AS SUM_NO_INDEX_USED, SUM(SUM_SELECT_SCAN) AS SUM_SELECT_SCAN
		FROM performance_schema.prepared_statements_instances GROUP BY CRC32(SQL_TEXT), LENGTH(SQL_TEXT)`)
	if err != nil || r == nil {
		return err
	}
	now := map[string]inspect.Tally{}
	for k := range r.rows {
		id := r.at(k, "ID")
		t := r.tally(k, i.prepared.last[id].Text)
		if t.Text == "" {
			sum, length, _ := strings.Cut(id, "-")
			text, err := i.session.text(ctx, fmt.Sprintf("SELECT LEFT(SQL_TEXT, 4000) FROM "+
				"performance_schema.prepared_statements_instances WHERE CRC32(SQL_TEXT) = %s AND LENGTH(SQL_TEXT) = %s LIMIT 1",
				sum, length))
			if err != nil && i.session.broken {
				return err
			}
			t.Text = secret.Text(text)
		}
		t.Calls, t.TotalNs = r.number(k, "CALLS"), r.number(k, "TIME")/picosecondsPerNs
		now[id] = t
	}
	i.prepared.add(now)
	return nil
}

// readPrepared adds the prepared statements.
func (i *Inspector) readPrepared(ctx context.Context, out *inspect.Reading) error {
	if err := i.samplePrepared(ctx); err != nil {
		return err
	}
	for id, t := range i.prepared.sum {
		if t.Calls > 0 && !administrative(t.Text) {
			out.Statements[prefixPrepared+id] = t
		}
	}
	return nil
}

// withoutTwins removes prepared statements whose executions the server also counted as digests, as MySQL does.
func withoutTwins(w *record.ServerWindow) {
	calls := map[string]float64{}
	for _, s := range w.Statements {
		if !strings.HasPrefix(s.ID, prefixPrepared) {
			calls[normal(s.Text)] += s.Calls
		}
	}
	w.Statements = slices.DeleteFunc(w.Statements, func(s record.Statement) bool {
		return strings.HasPrefix(s.ID, prefixPrepared) && calls[normal(s.Text)] >= s.Calls/2
	})
	sum := 0.0
	for _, s := range w.Statements {
		sum += s.TotalNs
	}
	for k := range w.Statements {
		w.Statements[k].Share = w.Statements[k].TotalNs / max(sum, 1)
	}
}

// readIndexes reads how often tables and their indexes were used.
func (i *Inspector) readIndexes(ctx context.Context, out *inspect.Reading) error {
	r, err := i.optional(ctx, "performance_schema.table_io_waits_summary_by_index_usage",
		`SELECT OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, COUNT_STAR, COUNT_READ, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE
		FROM performance_schema.table_io_waits_summary_by_index_usage
		WHERE OBJECT_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') LIMIT 5000`)
	if err != nil || r == nil {
		return err
	}
	for k := range r.rows {
		table := r.at(k, "OBJECT_SCHEMA") + "." + r.at(k, "OBJECT_NAME")
		object := inspect.Object{Kind: kindTable, Name: table}
		if index := r.at(k, "INDEX_NAME"); index != "" {
			o := inspect.Object{Kind: kindIndex, Name: table + "." + index}
			out.Objects[o] = map[string]float64{"read": r.number(k, "COUNT_READ"), everRead: r.number(k, "COUNT_STAR")}
		}
		f := out.Objects[object]
		if f == nil {
			f = map[string]float64{}
			out.Objects[object] = f
		}
		f["read"] += r.number(k, "COUNT_READ")
		f["inserted"] += r.number(k, "COUNT_INSERT")
		f["updated"] += r.number(k, "COUNT_UPDATE")
		f["deleted"] += r.number(k, "COUNT_DELETE")
	}
	return nil
}

// mostUnused is the number of tables whose unused indexes are examined.
const mostUnused = 20

// readDroppable finds out which of the indexes that were never used enforce no uniqueness and no foreign key.
func (i *Inspector) readDroppable(ctx context.Context, w *record.ServerWindow) error {
	i.droppable = map[string]bool{}
	var tables []string
	for _, o := range w.Counters {
		if o.Kind != kindIndex || o.Values[everRead] > 0 {
			continue
		}
		if table := o.Name[:strings.LastIndexByte(o.Name, '.')]; !slices.Contains(tables, table) && len(tables) < mostUnused {
			tables = append(tables, table)
		}
	}
	for _, table := range tables {
		database, name, _ := strings.Cut(table, ".")
		r, err := i.optional(ctx, "information_schema.STATISTICS", fmt.Sprintf(
			`SELECT DISTINCT s.INDEX_NAME AS name FROM information_schema.STATISTICS s WHERE s.TABLE_SCHEMA = %[1]s
			AND s.TABLE_NAME = %[2]s AND s.NON_UNIQUE = 1 AND s.SEQ_IN_INDEX = 1 AND s.COLUMN_NAME NOT IN
			(SELECT k.COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE k WHERE k.TABLE_SCHEMA = %[1]s
			AND k.TABLE_NAME = %[2]s AND k.REFERENCED_TABLE_NAME IS NOT NULL)`,
			sqltext.QuoteText(database), sqltext.QuoteText(name)))
		if err != nil {
			return err
		}
		for k := 0; r != nil && k < len(r.rows); k++ {
			i.droppable[table+"."+r.at(k, "name")] = true
		}
	}
	return nil
}

// readWaits reads the time that files and locks took. Waits of idle sessions and background threads aren't among them.
func (i *Inspector) readWaits(ctx context.Context, out *inspect.Reading) error {
	r, err := i.optional(ctx, "performance_schema.events_waits_summary_global_by_event_name",
		`SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT FROM performance_schema.events_waits_summary_global_by_event_name
		WHERE COUNT_STAR > 0 AND (EVENT_NAME LIKE 'wait/io/file/%' OR EVENT_NAME LIKE 'wait/io/table/%'
		OR EVENT_NAME LIKE 'wait/lock/%') LIMIT 500`)
	if err != nil || r == nil {
		return err
	}
	for k := range r.rows {
		out.Objects[inspect.Object{Kind: kindWait, Name: r.at(k, "EVENT_NAME")}] = map[string]float64{
			"count": r.number(k, "COUNT_STAR"), "time_ns": r.number(k, "SUM_TIMER_WAIT") / picosecondsPerNs}
	}
	return nil
}

// readDeadlocks reads the number of deadlocks where it isn't a status variable, as in MySQL.
func (i *Inspector) readDeadlocks(ctx context.Context, out *inspect.Reading) error {
	if i.product == "MariaDB" {
		return nil
	}
	r, err := i.optional(ctx, "information_schema.INNODB_METRICS",
		"SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks' AND STATUS = 'enabled'")
	if err != nil || r == nil || len(r.rows) == 0 {
		return err
	}
	out.Objects[inspect.Object{Kind: kindStatus, Name: "server"}]["Innodb_deadlocks"] = r.number(0, "COUNT")
	return nil
}

// normal returns a statement so that the plan's text and the server's digest are equal; see inspect.Normal. Digests
// quote names, replace NULL, write some words differently, and show a list of values as "...".
func normal(text string) string {
	var b strings.Builder
	words := sqltext.Words(strings.TrimRight(text, "; \t\r\n"))
	for k := 0; k < len(words); {
		n := valuesLength(words[k:])
		if n == 0 && words[k].IsSign("(") {
			if n = rowsLength(words[k:]); n > 0 {
				b.WriteString(" ( ? )")
				k += n
				continue
			}
		}
		if n > 0 {
			b.WriteString(" ?")
			k += n
			continue
		}
		switch t := words[k]; t.Kind {
		case sqltext.Word, sqltext.Quoted:
			b.WriteString(" " + strings.ToLower(strings.Trim(t.Text, "`")))
		default:
			b.WriteString(" " + t.Text)
		}
		k++
	}
	return synonyms.Replace(b.String() + " ")
}

// synonyms are spellings that the server's digests replace.
var synonyms = strings.NewReplacer(" integer ", " int ", " schema ", " database ", " ! = ", " <> ", " != ", " <> ",
	" < > ", " <> ", " inner join ", " join ")

// valueLength returns the number of tokens of a value that words begin with; 0 if they don't.
func valueLength(words []sqltext.Token) int {
	if len(words) == 0 {
		return 0
	}
	switch t := words[0]; {
	case t.Kind == sqltext.Number, t.Kind == sqltext.Text, t.Kind == sqltext.Param, t.Kind == sqltext.Mark, t.Is("NULL"):
		return 1
	case t.IsSign(".") && len(words) > 2 && words[1].IsSign(".") && words[2].IsSign("."):
		return 3
	case t.IsSign("-") && len(words) > 1 && (words[1].Kind == sqltext.Number || words[1].Kind == sqltext.Mark):
		return 2
	}
	return 0
}

// valuesLength returns the number of tokens of a value, or of several ones with commas between, that words begin with.
func valuesLength(words []sqltext.Token) int {
	n := valueLength(words)
	for n > 0 && n < len(words) && words[n].IsSign(",") {
		more := valueLength(words[n+1:])
		if more == 0 {
			break
		}
		n += 1 + more
	}
	return n
}

// rowsLength returns the number of tokens of a list of values in parentheses, or of several ones with commas between,
// that words begin with.
func rowsLength(words []sqltext.Token) int {
	n := 0
	for n < len(words) && words[n].IsSign("(") {
		inner := valuesLength(words[n+1:])
		if inner == 0 || n+1+inner >= len(words) || !words[n+1+inner].IsSign(")") {
			return 0
		}
		n += inner + 2
		if n+1 < len(words) && words[n].IsSign(",") && words[n+1].IsSign("(") && rowsLength(words[n+1:]) > 0 {
			n++
			continue
		}
		break
	}
	return n
}

// quotedList returns names as a list of SQL texts.
func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for k := range names {
		quoted[k] = sqltext.QuoteText(names[k])
	}
	return strings.Join(quoted, ", ")
}

// quoteName quotes the name of a table or column.
func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// atoi returns a number in a text; 0 if it isn't one.
func atoi(text string) float64 {
	x, _ := strconv.ParseFloat(text, 64)
	return x
}
