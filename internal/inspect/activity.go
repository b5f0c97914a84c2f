package inspect

import (
	"cmp"
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
	// A sample stands for the time since the one before. If the server answers slowly, or hasn't answered for a while,
	// the samples are far apart; then they count alike.
	leastWeight = 10 * time.Millisecond
	mostWeight  = restPeriod
)

// Session is one or more sessions of a server that a sample found in the same state.
type Session struct {
	Application, Address string
	State                State
	Class, Event         string // what an active session waits for; class "CPU" if for nothing
	Query                string // the server's identifier of the statement that it executes; "" if unknown
	Count                int
	XactNs               int64 // age of its transaction; 0 if there is none
	IdleNs               int64 // how long it has been idle in a transaction
}

// State is what a session is doing.
type State uint8

// The states.
const (
	Idle State = iota
	Active
	IdleInTransaction
)

// Activity sums up samples of what sessions are doing. Each sample counts by the time since the one before, because
// samples are closer together while sessions are at work: sums over samples are in seconds of sessions. It must be made
// by NewActivity.
type Activity struct {
	samples   int
	latestNs  int64                 // when the latest sample was taken
	weight    float64               // of the latest sample, s
	total     float64               // of all samples, s
	atWork    bool                  // see AtWork
	waits     map[[2]string]float64 // active sessions by wait class and event
	pools     map[[2]string]*pool
	blocked   map[blocking]*blockedFor
	atOnce    map[string]*record.AtOnce // by text; Share is in seconds
	points    []record.ActivityPoint
	perPoint  int
	replicas  map[string]*record.ReplicaLag
	longestNs int64
	byQuery   map[string]map[[2]string]Seen // active sessions by statement, and by wait class and event
}

// Seen are sessions that samples found in the same state.
type Seen struct {
	Sessions int     // summed over samples
	Seconds  float64 // of sessions
}

// pool describes the connections of one application from one address: in a sample, or summed over samples, in seconds.
type pool struct {
	total, active, inXact, allActive, allBusy float64
	max                                       int
	seen                                      float64 // the samples that contained the pool
	longestIdleNs                             int64
}

type blocking struct{ waiting, holder, state, relation, lock string }

type blockedFor struct {
	seconds   float64
	longestNs int64
}

// NewActivity returns an Activity without samples.
func NewActivity() *Activity {
	return &Activity{waits: map[[2]string]float64{}, pools: map[[2]string]*pool{}, blocked: map[blocking]*blockedFor{},
		replicas: map[string]*record.ReplicaLag{}, perPoint: 1, byQuery: map[string]map[[2]string]Seen{},
		atOnce: map[string]*record.AtOnce{}}
}

// Samples returns the number of samples so far.
func (a *Activity) Samples() int { return a.samples }

// Weight returns for how much of the time the latest sample stands, and Seconds for how much all of them do, in s.
func (a *Activity) Weight() float64 { return a.weight }

// Seconds returns the time for which all samples stand, in s.
func (a *Activity) Seconds() float64 { return a.total }

// AtWork reports whether the latest sample found a session that executes a statement or has a transaction open.
func (a *Activity) AtWork() bool { return a.atWork }

// Add adds a sample of all sessions of clients, taken at a time since the start of the inspection.
func (a *Activity) Add(atNs int64, sessions []Session) {
	a.samples++
	a.weight = min(max(time.Duration(atNs-a.latestNs), leastWeight), mostWeight).Seconds()
	a.latestNs, a.total, a.atWork = atNs, a.total+a.weight, false
	classes := map[string]float64{}
	now := map[[2]string]*pool{}
	for i := range sessions {
		s := &sessions[i]
		key := [2]string{s.Application, s.Address}
		p := now[key]
		if p == nil {
			p = &pool{}
			now[key] = p
		}
		n := float64(s.Count)
		p.total += n
		a.atWork = a.atWork || s.State != Idle
		a.longestNs = max(a.longestNs, s.XactNs)
		switch s.State {
		case Active:
			p.active += n
			a.waits[[2]string{s.Class, s.Event}] += n * a.weight
			classes[s.Class] += n
			a.query(s)
		case IdleInTransaction:
			p.inXact += n
			p.longestIdleNs = max(p.longestIdleNs, s.IdleNs)
		}
	}
	for key, p := range now {
		all := a.pools[key]
		if all == nil {
			all = &pool{}
			a.pools[key] = all
		}
		all.seen += a.weight
		all.total, all.active = all.total+p.total*a.weight, all.active+p.active*a.weight
		all.inXact += p.inXact * a.weight
		all.max, all.longestIdleNs = max(all.max, int(p.total)), max(all.longestIdleNs, p.longestIdleNs)
		if p.active == p.total {
			all.allActive += a.weight
		}
		if p.active+p.inXact == p.total {
			all.allBusy += a.weight
		}
	}
	a.point(atNs, classes)
}

// query adds a session that is executing a statement.
func (a *Activity) query(s *Session) {
	if s.Query == "" {
		return
	}
	waits := a.byQuery[s.Query]
	if waits == nil {
		if len(a.byQuery) >= mostQueries {
			return
		}
		waits = map[[2]string]Seen{}
		a.byQuery[s.Query] = waits
	}
	wait := [2]string{s.Class, s.Event}
	seen := waits[wait]
	waits[wait] = Seen{seen.Sessions + s.Count, seen.Seconds + float64(s.Count)*a.weight}
}

// Executing returns the active sessions that were executing a statement, by wait class and event.
func (a *Activity) Executing(query string) map[[2]string]Seen { return a.byQuery[query] }

// point adds a sample to the course over time. When the course is full, neighbouring points are merged in pairs,
// and each point covers twice as many samples from then on.
func (a *Activity) point(atNs int64, classes map[string]float64) {
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
	a.points = append(a.points, record.ActivityPoint{AtNs: atNs, Samples: 1, Classes: classes})
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

// Block adds a session that a sample found waiting for a lock for Blocking.LongestNs, and the session that held it.
func (a *Activity) Block(b record.Blocking) {
	key := blocking{Shorten(b.Waiting), Shorten(b.Holder), b.HolderState, b.Relation, b.Lock}
	f := a.blocked[key]
	if f == nil {
		if len(a.blocked) >= 50*mostBlocked {
			return
		}
		f = &blockedFor{}
		a.blocked[key] = f
	}
	f.seconds += a.weight
	f.longestNs = max(f.longestNs, b.LongestNs)
}

// Together adds a statement that a sample found in several sessions, for longestNs in one of them.
func (a *Activity) Together(text string, sessions int, longestNs int64) {
	const most = 50
	text = Shorten(text)
	s := a.atOnce[text]
	if s == nil {
		if len(a.atOnce) == most {
			return
		}
		s = &record.AtOnce{Text: text}
		a.atOnce[text] = s
	}
	s.Samples, s.Share = s.Samples+1, s.Share+a.weight
	s.Max, s.LongestNs = max(s.Max, sessions), max(s.LongestNs, longestNs)
}

// Shorten cuts a text for display.
func Shorten(text string) string {
	if r := []rune(text); len(r) > longText {
		return string(r[:longText]) + " …"
	}
	return text
}

// Headline returns a statement on one short line. A long statement is cut in the middle, because generated statements
// often only differ at their ends.
func Headline(text string) string {
	const first, last = 40, 50
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > first+last {
		return string(r[:first]) + " … " + string(r[len(r)-last:])
	}
	return text
}

// Lag adds a replica's lag at one moment.
func (a *Activity) Lag(now record.ReplicaLag) {
	l := a.replicas[now.Name]
	if l == nil {
		l = &record.ReplicaLag{Name: now.Name}
		a.replicas[now.Name] = l
	}
	l.State, l.Address = now.State, now.Address
	l.BytesMax = max(l.BytesMax, now.BytesMax)
	l.LagNsMax = max(l.LagNsMax, now.LagNsMax)
}

// Record returns the summary of all samples. generator reports whether sessions of an application are brunt's own.
func (a *Activity) Record(generator func(application string) bool) record.ServerActivity {
	out := record.ServerActivity{Samples: a.samples, Points: a.points, LongestXact: a.longestNs}
	n := max(a.total, leastWeight.Seconds())
	active := 0.0
	for _, c := range a.waits {
		active += c
	}
	for w, c := range a.waits {
		out.Waits = append(out.Waits, record.Wait{Class: w[0], Event: w[1], Mean: c / n, Share: c / active})
	}
	slices.SortFunc(out.Waits, func(x, y record.Wait) int {
		return cmp.Or(cmp.Compare(y.Mean, x.Mean), cmp.Compare(x.Event, y.Event))
	})
	for key, p := range a.pools {
		out.Clients = append(out.Clients, record.ClientPool{
			Application: key[0], Address: key[1], Mean: p.total / n, Max: p.max, ActiveMean: p.active / n,
			AllActive: p.allActive / p.seen, AllBusy: p.allBusy / p.seen, InXact: p.inXact / n,
			LongestIdle: p.longestIdleNs, Generator: generator(key[0]),
		})
	}
	slices.SortFunc(out.Clients, func(x, y record.ClientPool) int {
		return cmp.Or(cmp.Compare(y.Mean, x.Mean), cmp.Compare(x.Application, y.Application))
	})
	for _, s := range a.atOnce {
		one := *s
		one.Share /= n
		out.AtOnce = append(out.AtOnce, one)
	}
	slices.SortFunc(out.AtOnce, func(x, y record.AtOnce) int {
		return cmp.Or(cmp.Compare(y.Max, x.Max), cmp.Compare(x.Text, y.Text))
	})
	for b, f := range a.blocked {
		out.Blocked = append(out.Blocked, record.Blocking{Waiting: b.waiting, Holder: b.holder, HolderState: b.state,
			Relation: b.relation, Lock: b.lock, Mean: f.seconds / n, LongestNs: f.longestNs})
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
