package mysql

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/base/sqltext"
	"brunt/internal/inspect"
	"brunt/internal/record"
)

// sightings sums up what samples saw of statements.
type sightings struct {
	writes, committing int // active sessions that write, and those of them that flush their commit
	metadataWaits      int
	ddl                string // a statement that changes a table and waits itself
	// idleBlocking is the number of samples in which a session blocked others that had been idle in the same transaction
	// in the sample before: pauses between the statements of a short transaction don't count.
	idleBlocking int
	idleSeconds  float64         // for how much of the time these samples stand
	idleBefore   map[string]bool // ids of the transactions that were idle in the last sample
	running      int             // active sessions
	texts        map[string]int
	replicas     map[string]bool // the hosts from which they are connected
}

func newSightings() sightings { return sightings{texts: map[string]int{}, replicas: map[string]bool{}} }

const (
	longSample    = 300 // characters read of a statement
	mostTexts     = 500
	preparedEvery = time.Second

	// askThreads reads the sessions from performance_schema, and askProcesses from the process list, which costs half as
	// much. SHOW PROCESSLIST cuts statements after cutAfter bytes, so that long statements of many sessions can't make
	// the answer large; information_schema.PROCESSLIST would copy all of them into a table on the disk.
	askThreads = `SELECT PROCESSLIST_ID AS Id, PROCESSLIST_USER AS User, PROCESSLIST_HOST AS Host,
		PROCESSLIST_COMMAND AS Command, PROCESSLIST_STATE AS State, LEFT(PROCESSLIST_INFO, 300) AS Info
		FROM performance_schema.threads WHERE TYPE = 'FOREGROUND' AND PROCESSLIST_ID IS NOT NULL`
	askProcesses = "SHOW PROCESSLIST"
	cutAfter     = 100
	// askXacts leaves differences of times to this side: each function of SQL costs more than a column.
	askXacts = `SELECT trx_id, trx_mysql_thread_id AS thread, trx_state AS state, trx_query AS text,
		NOW(6) AS now, trx_started AS started, trx_wait_started AS waits FROM information_schema.INNODB_TRX`
	askLocksInnoDB = `SELECT requesting_trx_id AS waiting, blocking_trx_id AS holder, l.lock_table AS relation,
		CONCAT(l.lock_type, ' ', l.lock_mode) AS kind FROM information_schema.INNODB_LOCK_WAITS w
		JOIN information_schema.INNODB_LOCKS l ON l.lock_id = w.requested_lock_id LIMIT 100`
	askLocksMySQL = `SELECT w.REQUESTING_ENGINE_TRANSACTION_ID AS waiting, w.BLOCKING_ENGINE_TRANSACTION_ID AS holder,
		CONCAT(l.OBJECT_SCHEMA, '.', l.OBJECT_NAME) AS relation, CONCAT(l.LOCK_TYPE, ' ', l.LOCK_MODE) AS kind
		FROM performance_schema.data_lock_waits w
		JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID LIMIT 100`
)

// transaction is an open transaction of the server.
type transaction struct {
	id, thread, text string
	waiting          bool
	ageNs, waitsNs   int64
}

// sample takes one sample.
func (i *Inspector) sample(ctx context.Context, at time.Duration) error {
	r, ports, err := i.sessions(ctx)
	if err != nil || r == nil {
		return err
	}
	open, err := i.transactions(ctx)
	if err != nil {
		return err
	}
	own, err := i.ownSessions(ctx, r, ports)
	if err != nil {
		return err
	}
	i.addSessions(r, own, open, at)
	if err := i.addLocks(ctx, open); err != nil {
		return err
	}
	if i.digests && (i.activity.Samples() == 1 || at-i.preparedAt >= preparedEvery) {
		i.preparedAt = at
		return i.samplePrepared(ctx)
	}
	return nil
}

// sessions asks for the sessions, and reports whether the answer has the clients' ports. The process list is enough
// until it cuts a statement, and if it has the sessions of others. MySQL's locks all sessions while it is read, so it
// is only asked if there is no other way.
func (i *Inspector) sessions(ctx context.Context) (r *result, ports bool, err error) {
	if i.digests && (i.cuts || i.unprivileged || i.product != "MariaDB") {
		r, err = i.optional(ctx, "the sessions", askThreads)
		return r, false, err
	}
	r, err = i.optional(ctx, "the sessions", askProcesses)
	if err != nil || r == nil || !i.digests {
		return r, true, err
	}
	for k := range r.rows {
		i.cuts = i.cuts || len(r.at(k, "Info")) >= cutAfter
	}
	if i.cuts {
		return i.sessions(ctx)
	}
	return r, true, nil
}

// ownSessions returns the ids of the sessions that are this process's or its workers', as far as their addresses tell.
// r are the present sessions, with ports or without: performance_schema has none, so the process list is asked, too, if
// there are new sessions, but not often.
func (i *Inspector) ownSessions(ctx context.Context, r *result, ports bool) (own map[string]bool, err error) {
	if !ports {
		fresh := false
		for k := range r.rows {
			_, known := i.own[r.at(k, "Id")]
			fresh = fresh || !known
		}
		if !fresh || time.Since(i.listed) < listedEvery {
			return i.own, nil
		}
		i.listed = time.Now()
		if r, err = i.optional(ctx, "the sessions", askProcesses); err != nil || r == nil {
			return i.own, err
		}
	}
	hosts := make([]string, len(r.rows))
	for k := range r.rows {
		hosts[k] = r.at(k, "Host")
	}
	i.own = make(map[string]bool, len(hosts))
	for k, is := range i.clients.Among(hosts) {
		i.own[r.at(k, "Id")] = is
	}
	return i.own, nil
}

// listedEvery is the least time between looks at the process list only for the addresses of sessions.
const listedEvery = 5 * time.Second

// ownMark follows the user's name of sessions of the load.
const ownMark = " (brunt)"

// ageNs returns the time between two times of the server in the same row; 0 if one is null.
func (r *result) ageNs(row int, from, to string) int64 {
	const form = "2006-01-02 15:04:05.999999"
	began, err := time.Parse(form, r.at(row, from))
	now, failed := time.Parse(form, r.at(row, to))
	if err != nil || failed != nil {
		return 0
	}
	return int64(now.Sub(began))
}

// transactions returns the open transactions, by thread.
func (i *Inspector) transactions(ctx context.Context) (map[string]*transaction, error) {
	r, err := i.optional(ctx, "information_schema.INNODB_TRX", askXacts)
	if err != nil || r == nil {
		return nil, err
	}
	out := map[string]*transaction{}
	for k := range r.rows {
		out[r.at(k, "thread")] = &transaction{id: r.at(k, "trx_id"), thread: r.at(k, "thread"),
			text: secret.Text(cut(r.at(k, "text"))), waiting: r.at(k, "state") == "LOCK WAIT",
			ageNs: r.ageNs(k, "started", "now"), waitsNs: r.ageNs(k, "waits", "now")}
	}
	return out, nil
}

// cut returns the beginning of a statement.
func cut(text string) string {
	if r := []rune(text); len(r) > longSample {
		return string(r[:longSample])
	}
	return text
}

// addSessions adds the sessions of a sample, without this one. own has the ids of the load's.
func (i *Inspector) addSessions(r *result, own map[string]bool, open map[string]*transaction, at time.Duration) {
	var all []inspect.Session
	for k := range r.rows {
		id, command, user := r.at(k, "Id"), r.at(k, "Command"), r.at(k, "User")
		if strings.HasPrefix(command, "Binlog Dump") {
			i.seen.replicas[hostOf(r.at(k, "Host"))] = true
			continue
		}
		if id == i.session.number || command == "Daemon" || user == "system user" {
			continue
		}
		if own[id] {
			user += ownMark
		}
		s := inspect.Session{Application: user, Address: hostOf(r.at(k, "Host")), Count: 1}
		xact := open[id]
		if xact != nil {
			s.XactNs = xact.ageNs
		}
		switch {
		case command == "Sleep" && xact != nil:
			// How long it has been idle isn't known, at most as long as the transaction is open.
			s.State = inspect.IdleInTransaction
			s.IdleNs = xact.ageNs
		case command != "Sleep":
			s.State = inspect.Active
			s.Class, s.Event = wait(r.at(k, "State"), xact)
			s.Query = normal(r.at(k, "Info"))
			i.see(&s, r.at(k, "Info"))
		}
		all = append(all, s)
	}
	i.activity.Add(int64(at), all)
}

// hostOf returns a host without its port. IPv6 addresses have no brackets.
func hostOf(address string) string {
	end := strings.LastIndexByte(address, ':')
	if end < 0 {
		return address
	}
	if _, err := netip.ParseAddr(address); err == nil { // it has no port
		return address
	}
	return strings.Trim(address[:end], "[]")
}

// The classes of waits.
const (
	classLock   = "Lock"
	classCommit = "Commit"
	classCPU    = "CPU" // computing, or waiting for data of the disk: the server's states don't tell them apart
)

// wait returns what an active session waits for, by its state.
func wait(state string, xact *transaction) (class, event string) {
	lower := strings.ToLower(state)
	switch {
	case xact != nil && xact.waiting:
		return classLock, "row lock"
	case strings.HasPrefix(lower, "waiting for") && strings.Contains(lower, "lock"):
		return classLock, state
	case lower == "commit", lower == "commit_implicit", strings.Contains(lower, "handler commit"),
		strings.HasPrefix(lower, "waiting for prior transaction"):
		return classCommit, ""
	}
	return classCPU, state
}

// see notes what an active session is executing.
func (i *Inspector) see(s *inspect.Session, text string) {
	i.seen.running++
	if key := inspect.Shorten(secret.Text(text)); text != "" && (i.seen.texts[key] > 0 || len(i.seen.texts) < mostTexts) {
		i.seen.texts[key]++
	}
	word := sqltext.FirstWord(text)
	if strings.Contains(s.Event, "metadata lock") {
		i.seen.metadataWaits++
		if i.seen.ddl == "" && (word == "ALTER" || word == "CREATE" || word == "DROP" || word == "TRUNCATE" ||
			word == "OPTIMIZE" || word == "RENAME" || word == "LOCK") {
			i.seen.ddl = secret.Text(text)
		}
	}
	switch word {
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "COMMIT":
		i.seen.writes++
	default:
		if s.Class != classCommit {
			return
		}
		i.seen.writes++
	}
	if s.Class == classCommit {
		i.seen.committing++
	}
}

// addLocks adds the sessions that wait for rows, and those that hold these.
func (i *Inspector) addLocks(ctx context.Context, open map[string]*transaction) error {
	waiting := false
	byID, idleNow := map[string]*transaction{}, map[string]bool{}
	defer func() { i.seen.idleBefore = idleNow }()
	for _, x := range open {
		byID[x.id] = x
		if x.text == "" {
			idleNow[x.id] = true
		}
		waiting = waiting || x.waiting
	}
	if !waiting {
		return nil
	}
	ask := askLocksMySQL
	if i.product == "MariaDB" || strings.HasPrefix(i.version, "5.") {
		ask = askLocksInnoDB
	}
	r, err := i.optional(ctx, "lock waits", ask)
	if err != nil || r == nil {
		return err
	}
	idle := false
	for k := range r.rows {
		waiter, holder := byID[r.at(k, "waiting")], byID[r.at(k, "holder")]
		if waiter == nil || holder == nil {
			continue // it began or ended between the questions
		}
		b := record.Blocking{Waiting: waiter.text, Holder: holder.text, HolderState: "active",
			Relation: strings.ReplaceAll(r.at(k, "relation"), "`", ""), Lock: r.at(k, "kind"), LongestNs: waiter.waitsNs}
		if holder.text == "" {
			b.Holder, b.HolderState = "transaction", stateIdle
			idle = idle || i.seen.idleBefore[holder.id]
		}
		i.activity.Block(b)
	}
	if idle {
		i.seen.idleBlocking++
		i.seen.idleSeconds += i.activity.Weight()
	}
	return nil
}

const stateIdle = "idle in transaction"
