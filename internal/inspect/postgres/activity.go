package postgres

import (
	"context"
	"strings"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/record"
)

// The queries of a sample. The server counts the sessions, so that the answer is short even if there are a
// thousand. askSessions calls the function behind the view pg_stat_activity, because the view's joins cost more
// than the function; $database stands for the database's OID, and ages are those of the oldest of a group, because
// each expression for each session would cost more, too. Of walsenders it only says whether there are any.
const (
	askSessions = `select backend_type = 'walsender' as sender, ` + queryID + ` as query,
		coalesce(application_name, '') as application,
		coalesce(host(client_addr), '') as address, coalesce(state, '') as state, coalesce(wait_event_type, '') as class,
		coalesce(wait_event, '') as event, count(*) as n,
		coalesce(date_part('epoch', clock_timestamp() - min(xact_start)), 0) as xact_s,
		coalesce(date_part('epoch', clock_timestamp() - min(state_change)
			filter (where state like 'idle in%')), 0) as idle_s,
		count(*) filter (where state = 'active' and wait_event_type is distinct from 'Lock' and query_start < clock_timestamp() - interval '` + longStatement + `') as long
		from pg_stat_get_activity(null)
		where (backend_type = 'client backend' and datid = $database or backend_type = 'walsender')
		and pid <> pg_backend_pid() and application_name <> '` + applicationName + `' group by 1, 2, 3, 4, 5, 6, 7`
	// queryID is the expression of a statement's ID, which versions before 14 don't have.
	queryID = `coalesce(query_id::text, '')`
	// pg_blocking_pids locks the lock manager's tables, so it is only called for sessions that wait for a lock.
	askBlocked = `select w.query as waiting, h.query as holder, coalesce(h.state, '') as state,
		coalesce(l.locktype || ' ' || l.mode, '') as lock,
		coalesce(l.relation, r.relation)::regclass::text as relation,
			extract(epoch from clock_timestamp() - w.state_change)::float8 as waits_s
		from pg_stat_activity w cross join lateral unnest(pg_blocking_pids(w.pid)) as b(pid) join pg_stat_activity h on h.pid = b.pid
		left join lateral (select * from pg_locks k where k.pid = w.pid and not k.granted limit 1) l on true
		left join lateral (select relation from pg_locks k where k.pid = w.pid and k.locktype = 'tuple' limit 1) r on true
		where w.wait_event_type = 'Lock' and w.datname = current_database() limit 50`
	askReplicas = `select application_name as name, coalesce(state, '') as state, coalesce(host(client_addr), '') as address,
		coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), coalesce(replay_lsn, flush_lsn, write_lsn)), 0)::float8 as bytes,
		coalesce(extract(epoch from coalesce(replay_lag, flush_lag, write_lag)), 0)::float8 as lag_s from pg_stat_replication`
	replicasEvery = time.Second
	// longStatement is the age from which the same statement in several sessions is counted.
	longStatement = "150 ms"
	leastAtOnce   = 3 // sessions
	// askAtOnce is only asked if enough sessions execute long statements. Since version 14 the server identifies
	// statements independently of their constants.
	askAtOnce = `select min(query) as query, count(*) as n, max(extract(epoch from clock_timestamp() - query_start))::float8 as runs_s
		from pg_stat_activity a where state = 'active' and backend_type = 'client backend' and datname = current_database()
		and wait_event_type is distinct from 'Lock' and query_start < clock_timestamp() - interval '` + longStatement + `' and pid <> pg_backend_pid()
		group by coalesce(to_jsonb(a)->>'query_id', query) having count(*) >= 3 limit 20`
)

// sample takes one sample. at is the time since Begin.
func (s *session) sample(ctx context.Context, a *inspect.Activity, at time.Duration) error {
	ask := strings.Replace(askSessions, "$database", s.database, 1)
	if s.version < versionQueryID {
		ask = strings.Replace(ask, queryID, "''", 1)
	}
	r, err := s.again(ctx, ask)
	if err != nil {
		return err
	}
	all := sessionsOf(r)
	a.Add(int64(at), all)
	long, sends := 0, replicates(r)
	for i := range r.rows {
		long += int(r.number(i, "long"))
	}
	if long >= leastAtOnce {
		if r, err = s.again(ctx, askAtOnce); err != nil {
			return err
		}
		for i := range r.rows {
			a.Together(withoutSecrets(r.at(i, "query")), int(r.number(i, "n")), int64(r.number(i, "runs_s")*1e9))
		}
	}
	if waitsForLock(all) {
		if r, err = s.again(ctx, askBlocked); err != nil {
			return err
		}
		for i := range r.rows {
			a.Block(record.Blocking{Waiting: withoutSecrets(r.at(i, "waiting")), Holder: withoutSecrets(r.at(i, "holder")),
				HolderState: r.at(i, "state"), Relation: r.at(i, "relation"), Lock: r.at(i, "lock"),
				LongestNs: int64(r.number(i, "waits_s") * 1e9)})
		}
	}
	if sends && (s.replicasAt == 0 || at-s.replicasAt >= replicasEvery) {
		s.replicasAt = max(at, 1)
		if r, err = s.again(ctx, askReplicas); err == nil {
			for i := range r.rows {
				a.Lag(record.ReplicaLag{Name: r.at(i, "name"), State: r.at(i, "state"), BytesMax: r.number(i, "bytes"),
					LagNsMax: int64(r.number(i, "lag_s") * 1e9), Address: r.at(i, "address")})
			}
		}
		// This fails on a replica, which has no write position, and for users without the rights.
		if ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// replicates reports whether an answer to askSessions contains walsenders, which replicas are connected to.
func replicates(r *result) bool {
	for i := range r.rows {
		if r.at(i, "sender") == "t" {
			return true
		}
	}
	return false
}

// sessionsOf returns the sessions of an answer to askSessions.
func sessionsOf(r *result) (out []inspect.Session) {
	for i := range r.rows {
		if r.at(i, "sender") == "t" {
			continue
		}
		s := inspect.Session{Application: r.at(i, "application"), Address: r.at(i, "address"), Class: r.at(i, "class"),
			Event: r.at(i, "event"), Query: r.at(i, "query"), Count: int(r.number(i, "n")), XactNs: int64(r.number(i,
				"xact_s") * 1e9)}
		switch state := r.at(i, "state"); {
		case state == "active":
			s.State = inspect.Active
			if s.Class == "" || s.Class == "Activity" {
				s.Class = "CPU"
			}
		case strings.HasPrefix(state, "idle in"):
			s.State, s.IdleNs = inspect.IdleInTransaction, int64(r.number(i, "idle_s")*1e9)
		}
		out = append(out, s)
	}
	return out
}

// waitsForLock reports whether an active session waits for a lock.
func waitsForLock(all []inspect.Session) bool {
	for i := range all {
		if all[i].State == inspect.Active && all[i].Class == "Lock" {
			return true
		}
	}
	return false
}
