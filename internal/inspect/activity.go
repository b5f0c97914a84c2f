package inspect

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"brunt/internal/record"
)

const (
	mostPoints  = 600
	mostBlocked = 20
	mostQueries = 5000
	longText    = 300 // characters shown of a statement that waits for locks
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

// Activity sums up samples of what sessions are doing. It must be made by NewActivity.
type Activity struct {
	samples   int
	waits     map[[2]string]int // number of active sessions by wait class and event, summed over samples
	pools     map[[2]string]*pool
	blocked   map[blocking]*blockedFor
	atOnce    map[string]*record.AtOnce // by text; Share is a number of samples
	points    []record.ActivityPoint
	perPoint  int
	replicas  map[string]*record.ReplicaLag
	longestNs int64
	byQuery   map[string]map[[2]string]int // active sessions by statement, and by wait class and event
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

// NewActivity returns an Activity without samples.
func NewActivity() *Activity {
	return &Activity{waits: map[[2]string]int{}, pools: map[[2]string]*pool{}, blocked: map[blocking]*blockedFor{},
		replicas: map[string]*record.ReplicaLag{}, perPoint: 1, byQuery: map[string]map[[2]string]int{},
		atOnce: map[string]*record.AtOnce{}}
}

// Samples returns the number of samples so far.
func (a *Activity) Samples() int { return a.samples }

// Add adds a sample of all sessions of clients, taken at a time since the start of the inspection.
func (a *Activity) Add(atNs int64, sessions []Session) {
	a.samples++
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
		p.total += s.Count
		a.longestNs = max(a.longestNs, s.XactNs)
		switch s.State {
		case Active:
			p.active += s.Count
			a.waits[[2]string{s.Class, s.Event}] += s.Count
			classes[s.Class] += float64(s.Count)
			a.query(s)
		case IdleInTransaction:
			p.inXact += s.Count
			p.longestIdleNs = max(p.longestIdleNs, s.IdleNs)
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
		waits = map[[2]string]int{}
		a.byQuery[s.Query] = waits
	}
	waits[[2]string{s.Class, s.Event}] += s.Count
}

// Executing returns the number of active sessions that were executing a statement, by wait class and event, summed over
// samples.
func (a *Activity) Executing(query string) map[[2]string]int { return a.byQuery[query] }

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
	f.samples++
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
	s.Share++
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
			AllActive: float64(p.allActive) / float64(p.seen),
			AllBusy:   float64(p.allBusy) / float64(p.seen), InXact: float64(p.inXact) / n, LongestIdle: p.longestIdleNs,
			Generator: generator(key[0]),
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
