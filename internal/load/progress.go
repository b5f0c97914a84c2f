package load

import (
	"sync"
	"time"
)

// Progress is how far a load has come.
type Progress struct {
	Table    string        // the one that took rows last
	Done     uint64        // its rows in place, those of an earlier run included
	Total    uint64        // its rows in all
	AllDone  uint64        // of all tables
	AllTotal uint64        //
	RatePerS float64       // rows loaded per second since the load began
	Left     time.Duration // for all tables at that rate; 0 while unknown
}

// progress counts rows as they arrive. It is safe for concurrent use.
type progress struct {
	c     *Config
	mu    sync.Mutex
	done  []uint64 // by table
	all   uint64
	total uint64
	sent  uint64 // by this run
	began time.Time
	told  time.Time
}

func newProgress(c *Config) *progress {
	p := &progress{c: c, done: make([]uint64, len(c.Tables)), began: c.Now()}
	for i := range c.Tables {
		if !c.Tables[i].Filled {
			p.total += c.Tables[i].Rows
		}
	}
	p.told = p.began
	return p
}

// resumed counts rows of an earlier run.
func (p *progress) resumed(table int, rows uint64) {
	p.done[table] += rows
	p.all += rows
}

func (p *progress) add(table int, rows int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[table] += uint64(rows)
	p.all += uint64(rows)
	p.sent += uint64(rows)
	if now := p.c.Now(); now.Sub(p.told) >= time.Second {
		p.say(table, now)
	}
}

// tell speaks whenever it was last spoken.
func (p *progress) tell(table int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say(table, p.c.Now())
}

func (p *progress) say(table int, now time.Time) {
	p.told = now
	if p.c.Progress == nil {
		return
	}
	t := &p.c.Tables[table]
	said := Progress{Table: t.Name, Done: p.done[table], Total: t.Rows, AllDone: p.all, AllTotal: p.total}
	if s := now.Sub(p.began).Seconds(); s > 0 {
		said.RatePerS = float64(p.sent) / s
	}
	if said.RatePerS > 0 {
		said.Left = time.Duration(float64(p.total-p.all) / said.RatePerS * float64(time.Second))
	}
	p.c.Progress(said)
}

// told is what one try of a chunk has reported, so that it can be taken back.
type told struct {
	p     *progress
	table int
	mu    sync.Mutex
	rows  uint64
}

func (p *progress) attempt(table int) *told { return &told{p: p, table: table} }

func (t *told) add(rows uint64) {
	t.mu.Lock()
	t.rows += rows
	t.mu.Unlock()
	t.p.add(t.table, int64(rows))
}

func (t *told) takeBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.p.add(t.table, -int64(t.rows))
	t.rows = 0
}

// complete makes up for what the driver hasn't reported.
func (t *told) complete(rows uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.p.add(t.table, int64(rows)-int64(t.rows))
	t.rows = rows
}
