package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"brunt/internal/record"
)

const (
	mostPoints  = 600
	mostBlocked = 20
	longText    = 300 // characters shown of a statement that waits for locks
)

// activity sums up samples of what sessions are doing.
type activity struct {
	samples   int
	waits     map[[2]string]int // number of active sessions by wait class and event, summed over samples
	pools     map[[2]string]*pool
	blocked   map[blocking]*blockedFor
	atOnce    map[string]*record.AtOnce // by text; Share is a number of samples
	points    []record.ActivityPoint
	perPoint  int
	replicas  map[string]*record.ReplicaLag
	longestNs int64
}

// pool describes the connections of one application from one address, summed over samples.
type pool struct {
	total, active, inXact, allActive, allBusy, max int
	seen                                           int // number of samples that contained the pool
	longestIdleNs                                  int64
}

type blocking struct{ waiting, holder, state, relation, lock string }

type blockedFor struct {
	samples   int
	longestNs int64
}

func newActivity() *activity {
	return &activity{waits: map[[2]string]int{}, pools: map[[2]string]*pool{}, blocked: map[blocking]*blockedFor{}, atOnce: map[string]*record.AtOnce{},
		replicas: map[string]*record.ReplicaLag{}, perPoint: 1}
}

// The queries of a sample. The server counts the sessions, so that the answer is short even if there are a
// thousand. askSessions calls the function behind the view pg_stat_activity, because the view's joins cost more
// than the function.
const (
	askSessions = `select coalesce(application_name, '') as application, coalesce(host(client_addr), '') as address,
		coalesce(state, '') as state, coalesce(wait_event_type, '') as class, coalesce(wait_event, '') as event, count(*) as n,
		coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8 as xact_s,
		coalesce(max(extract(epoch from clock_timestamp() - state_change)) filter (where state like 'idle in%'), 0)::float8 as idle_s,
		count(*) filter (where state = 'active' and wait_event_type is distinct from 'Lock' and query_start < clock_timestamp() - interval '` + longStatement + `') as long
		from pg_stat_get_activity(null)
		where backend_type = 'client backend' and datid = (select oid from pg_database where datname = current_database()) and pid <> pg_backend_pid() and application_name <> '` + applicationName + `'
		group by 1, 2, 3, 4, 5`
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
func (a *activity) sample(ctx context.Context, s *session, at time.Duration) error {
	r, err := s.again(ctx, askSessions)
	if err != nil {
		return err
	}
	locks, long := a.sessions(r, at)
	if long >= leastAtOnce {
		if r, err = s.again(ctx, askAtOnce); err != nil {
			return err
		}
		a.together(r)
	}
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

// together adds a sample of long statements that several sessions execute.
func (a *activity) together(r *result) {
	const most = 50
	for i := range r.rows {
		text := shorten(withoutSecrets(r.at(i, "query")))
		s := a.atOnce[text]
		if s == nil {
			if len(a.atOnce) == most {
				continue
			}
			s = &record.AtOnce{Text: text}
			a.atOnce[text] = s
		}
		s.Share++
		s.Max, s.LongestNs = max(s.Max, int(r.number(i, "n"))), max(s.LongestNs, int64(r.number(i, "runs_s")*1e9))
	}
}

// sessions adds a sample of the sessions. It returns how many of them wait for locks, and how many execute long
// statements.
func (a *activity) sessions(r *result, at time.Duration) (locks, long int) {
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
		long += int(r.number(i, "long"))
		a.longestNs = max(a.longestNs, int64(r.number(i, "xact_s")*1e9))
		switch {
		case state == "active":
			p.active += n
			if class == "" || class == "Activity" {
				class = "CPU"
			}
			a.waits[[2]string{class, r.at(i, "event")}] += n
			classes[class] += float64(n)
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
		if p.active+p.inXact == p.total {
			all.allBusy++
		}
	}
	a.point(at, classes)
	return locks, long
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
			AllActive: float64(p.allActive) / float64(p.seen), AllBusy: float64(p.allBusy) / float64(p.seen), InXact: float64(p.inXact) / n, LongestIdle: p.longestIdleNs,
			Generator: key[0] == "brunt",
		})
	}
	slices.SortFunc(out.Clients, func(x, y record.ClientPool) int {
		return cmp.Or(cmp.Compare(y.Mean, x.Mean), cmp.Compare(x.Application, y.Application))
	})
	for _, s := range a.atOnce {
		s.Share /= n
		out.AtOnce = append(out.AtOnce, *s)
	}
	slices.SortFunc(out.AtOnce, func(x, y record.AtOnce) int {
		return cmp.Or(cmp.Compare(y.Max, x.Max), cmp.Compare(x.Text, y.Text))
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
