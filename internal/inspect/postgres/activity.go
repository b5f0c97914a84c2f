package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"brunt/internal/record"
)

const (
	mostPoints  = 600
	mostBlocked = 20
	mostQueries = 5000
	longText    = 300 // characters shown of a statement that waits for locks
)

// activity sums up samples of what sessions are doing.
type activity struct {
	samples   int
	waits     map[[2]string]int // number of active sessions by wait class and event, summed over samples
	pools     map[[2]string]*pool
	blocked   map[blocking]*blockedFor
	points    []record.ActivityPoint
	perPoint  int
	replicas  map[string]*record.ReplicaLag
	longestNs int64
	byQuery   map[string]map[string]int // sessions at work by query ID and kind of time, summed over samples
}

// pool describes the connections of one application from one address, summed over samples.
type pool struct {
	total, active, inXact, allActive, max int
	seen                                  int // number of samples that contained the pool
	longestIdleNs                         int64
}

type blocking struct{ waiting, holder, state, relation, lock string }

type blockedFor struct {
	samples   int
	longestNs int64
}

func newActivity() *activity {
	return &activity{waits: map[[2]string]int{}, pools: map[[2]string]*pool{}, blocked: map[blocking]*blockedFor{},
		replicas: map[string]*record.ReplicaLag{}, perPoint: 1, byQuery: map[string]map[string]int{}}
}

// The queries of a sample. The server counts the sessions, so that the answer is short even if there are a
// thousand. askSessions calls the function behind the view pg_stat_activity, because the view's joins cost more
// than the function.
const (
	askSessions = `select ` + queryID + ` as query, coalesce(application_name, '') as application, coalesce(host(client_addr), '') as address,
		coalesce(state, '') as state, coalesce(wait_event_type, '') as class, coalesce(wait_event, '') as event, count(*) as n,
		coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8 as xact_s,
		coalesce(max(extract(epoch from clock_timestamp() - state_change)) filter (where state like 'idle in%'), 0)::float8 as idle_s
		from pg_stat_get_activity(null)
		where backend_type = 'client backend' and datid = (select oid from pg_database where datname = current_database()) and pid <> pg_backend_pid() and application_name <> '` + applicationName + `'
		group by 1, 2, 3, 4, 5, 6`
	// queryID is the expression of a statement's ID, which versions before 14 don't have.
	queryID = `coalesce(query_id::text, '')`
	// pg_blocking_pids locks the lock manager's tables, so it is only called for sessions that wait for a lock.
	askBlocked = `select w.query as waiting, h.query as holder, coalesce(h.state, '') as state,
		coalesce(l.locktype || ' ' || l.mode, '') as lock,
		coalesce(l.relation, r.relation)::regclass::text as relation, extract(epoch from clock_timestamp() - w.state_change)::float8 as waits_s
		from pg_stat_activity w cross join lateral unnest(pg_blocking_pids(w.pid)) as b(pid) join pg_stat_activity h on h.pid = b.pid
		left join lateral (select * from pg_locks k where k.pid = w.pid and not k.granted limit 1) l on true
		left join lateral (select relation from pg_locks k where k.pid = w.pid and k.locktype = 'tuple' limit 1) r on true
		where w.wait_event_type = 'Lock' and w.datname = current_database() limit 50`
	askReplicas = `select application_name as name, coalesce(state, '') as state,
		coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), coalesce(replay_lsn, flush_lsn, write_lsn)), 0)::float8 as bytes,
		coalesce(extract(epoch from coalesce(replay_lag, flush_lag, write_lag)), 0)::float8 as lag_s from pg_stat_replication`
	replicasEvery = 5 // samples
)

// sample takes one sample. at is the time since Begin.
func (a *activity) sample(ctx context.Context, s *session, at time.Duration) error {
	ask := askSessions
	if s.version < versionQueryID {
		ask = strings.Replace(ask, queryID, "''", 1)
	}
	r, err := s.again(ctx, ask)
	if err != nil {
		return err
	}
	locks := a.sessions(r, at)
	if locks > 0 {
		if r, err = s.again(ctx, askBlocked); err != nil {
			return err
		}
		a.locks(r)
	}
	if a.samples%replicasEvery == 1 {
		if r, err = s.again(ctx, askReplicas); err == nil {
			a.lags(r)
		}
		// This fails on a replica, which has no write position, and for users without the rights.
		if ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// sessions adds a sample of the sessions. It returns how many of them wait for locks.
func (a *activity) sessions(r *result, at time.Duration) (locks int) {
	a.samples++
	classes := map[string]float64{}
	now := map[[2]string]*pool{}
	for i := range r.rows {
		n, state, class := int(r.number(i, "n")), r.at(i, "state"), r.at(i, "class")
		key := [2]string{r.at(i, "application"), r.at(i, "address")}
		p := now[key]
		if p == nil {
			p = &pool{}
			now[key] = p
		}
		p.total += n
		a.longestNs = max(a.longestNs, int64(r.number(i, "xact_s")*1e9))
		switch {
		case state == "active":
			p.active += n
			if class == "" || class == "Activity" {
				class = "CPU"
			}
			a.waits[[2]string{class, r.at(i, "event")}] += n
			classes[class] += float64(n)
			a.query(r.at(i, "query"), timeKind(class, r.at(i, "event")), n)
			if class == "Lock" {
				locks += n
			}
		case len(state) > 7 && state[:7] == "idle in":
			p.inXact += n
			p.longestIdleNs = max(p.longestIdleNs, int64(r.number(i, "idle_s")*1e9))
		}
	}
	for key, p := range now {
		all := a.pools[key]
		if all == nil {
			all = &pool{}
			a.pools[key] = all
		}
		all.seen++
		all.total, all.active, all.inXact = all.total+p.total, all.active+p.active, all.inXact+p.inXact
		all.max, all.longestIdleNs = max(all.max, p.total), max(all.longestIdleNs, p.longestIdleNs)
		if p.active == p.total {
			all.allActive++
		}
	}
	a.point(at, classes)
	return locks
}

// query adds sessions that are executing a statement.
func (a *activity) query(id, kind string, n int) {
	if id == "" {
		return
	}
	kinds := a.byQuery[id]
	if kinds == nil {
		if len(a.byQuery) >= mostQueries {
			return
		}
		kinds = map[string]int{}
		a.byQuery[id] = kinds
	}
	kinds[kind] += n
}

// point adds a sample to the course over time. When the course is full, neighbouring points are merged in pairs,
// and each point covers twice as many samples from then on.
func (a *activity) point(at time.Duration, classes map[string]float64) {
	if n := len(a.points); n > 0 && a.points[n-1].Samples < a.perPoint {
		joinPoints(&a.points[n-1], &record.ActivityPoint{Samples: 1, Classes: classes})
		return
	}
	if len(a.points) == mostPoints {
		for i := range mostPoints / 2 {
			a.points[i] = a.points[2*i]
			joinPoints(&a.points[i], &a.points[2*i+1])
		}
		a.points = a.points[:mostPoints/2]
		a.perPoint *= 2
	}
	a.points = append(a.points, record.ActivityPoint{AtNs: int64(at), Samples: 1, Classes: classes})
}

func joinPoints(p, o *record.ActivityPoint) {
	n, m := float64(p.Samples), float64(o.Samples)
	classes := map[string]float64{}
	for c, x := range p.Classes {
		classes[c] += x * n / (n + m)
	}
	for c, x := range o.Classes {
		classes[c] += x * m / (n + m)
	}
	p.Samples, p.Classes = p.Samples+o.Samples, classes
}

// locks adds a sample of sessions that wait for locks, and of the sessions that hold these.
func (a *activity) locks(r *result) {
	for i := range r.rows {
		b := blocking{shorten(withoutSecrets(r.at(i, "waiting"))), shorten(withoutSecrets(r.at(i, "holder"))),
			r.at(i, "state"), r.at(i, "relation"), r.at(i, "lock")}
		f := a.blocked[b]
		if f == nil {
			if len(a.blocked) >= 50*mostBlocked {
				continue
			}
			f = &blockedFor{}
			a.blocked[b] = f
		}
		f.samples++
		f.longestNs = max(f.longestNs, int64(r.number(i, "waits_s")*1e9))
	}
}

// shorten cuts a text for display.
func shorten(text string) string {
	if r := []rune(text); len(r) > longText {
		return string(r[:longText]) + " …"
	}
	return text
}

func (a *activity) lags(r *result) {
	for i := range r.rows {
		name := r.at(i, "name")
		if a.replicas[name] == nil {
			a.replicas[name] = &record.ReplicaLag{Name: name}
		}
		l := a.replicas[name]
		l.State = r.at(i, "state")
		l.BytesMax = max(l.BytesMax, r.number(i, "bytes"))
		l.LagNsMax = max(l.LagNsMax, int64(r.number(i, "lag_s")*1e9))
	}
}

// record returns the summary of all samples.
func (a *activity) record() record.ServerActivity {
	out := record.ServerActivity{Samples: a.samples, Points: a.points, LongestXact: a.longestNs}
	n := float64(max(a.samples, 1))
	active := 0
	for _, c := range a.waits {
		active += c
	}
	for w, c := range a.waits {
		out.Waits = append(out.Waits, record.Wait{Class: w[0], Event: w[1], Mean: float64(c) / n,
			Share: float64(c) / float64(active)})
	}
	slices.SortFunc(out.Waits, func(x, y record.Wait) int {
		return cmp.Or(cmp.Compare(y.Mean, x.Mean), cmp.Compare(x.Event, y.Event))
	})
	for key, p := range a.pools {
		out.Clients = append(out.Clients, record.ClientPool{
			Application: key[0], Address: key[1], Mean: float64(p.total) / n, Max: p.max, ActiveMean: float64(p.active) / n,
			AllActive: float64(p.allActive) / float64(p.seen), InXact: float64(p.inXact) / n, LongestIdle: p.longestIdleNs,
			Generator: key[0] == "brunt",
		})
	}
	slices.SortFunc(out.Clients, func(x, y record.ClientPool) int {
		return cmp.Or(cmp.Compare(y.Mean, x.Mean), cmp.Compare(x.Application, y.Application))
	})
	for b, f := range a.blocked {
		out.Blocked = append(out.Blocked, record.Blocking{Waiting: b.waiting, Holder: b.holder, HolderState: b.state,
			Relation: b.relation, Lock: b.lock, Mean: float64(f.samples) / n, LongestNs: f.longestNs})
	}
	slices.SortFunc(out.Blocked, func(x, y record.Blocking) int {
		return cmp.Or(cmp.Compare(y.Mean, x.Mean), cmp.Compare(x.Waiting, y.Waiting))
	})
	out.Blocked = out.Blocked[:min(len(out.Blocked), mostBlocked)]
	for _, name := range slices.Sorted(maps.Keys(a.replicas)) {
		out.Replicas = append(out.Replicas, *a.replicas[name])
	}
	return out
}
