package tarantool

import (
	"context"

	"brunt/internal/record"
	"brunt/internal/render/message"
)

// FindVinylReads is the ID of a finding. It must not change.
const FindVinylReads = "vinyl-reads"

const (
	debtTimes     = 2
	leastDebtB    = 10 << 20
	debtSamples   = 3 // one after another: after each dump, compaction is behind for a moment
	leastLookups  = 100
	morePages     = 2 // for each lookup, than its rows need
	leastRuns     = 3 // on average, that each range consists of
	infoVinyl     = "box.stat.vinyl"
	figureLookups = "lookups"
)

// askVinyl is a program that returns the reads of vinyl's indexes (index_object:stat() in Tarantool's manual): lookups,
// pages that they read from the disk, and what the index consists of; at most 200 indexes. It yields, because each
// index takes some 20 µs.
const askVinyl = `local r, n, fiber = {}, 0, require('fiber')
for _, t in box.space._space:pairs() do
	local s = box.space[t[1]]
	if t[4] == 'vinyl' and s then
		for k, index in pairs(s.index) do
			if type(k) == 'number' and n < 200 then
				n = n + 1
				local at = index:stat()
				local it = at.disk.iterator
				r[s.name .. '.' .. index.name] = {lookups = at.lookup, pages = it.read.pages, rows = it.get.rows,
					['disk.rows'] = at.disk.rows, ['disk.pages'] = at.disk.pages,
					['disk.runs'] = at.run_count, ['disk.ranges'] = at.range_count}
				if n % 10 == 0 then fiber.sleep(0) end
			end
		end
	end
end
return r`

// vinylReads are the reads of vinyl's indexes, by index.
type vinylReads map[string]map[string]float64

// vinylStats asks for the reads of vinyl's indexes, which needs the right to evaluate programs. It is nil if vinyl
// isn't used.
func (i *Inspector) vinylStats(ctx context.Context) vinylReads {
	used, err := i.call(ctx, infoVinyl)
	if err != nil || used == nil {
		return nil
	}
	figures := map[string]float64{}
	flatten(figures, "", used)
	if figures["disk.data"]+figures["memory.level0"] == 0 {
		return nil
	}
	i.queries++
	values, refused := i.session.Eval(ctx, askVinyl)
	if refused != nil {
		i.miss(record.NewWarning("inspect-tarantool-vinyl", message.Text("error", refused.Text),
			message.Text("user", userOf(i.target))))
		return nil
	}
	out := vinylReads{}
	if len(values) > 0 {
		all, _ := values[0].(map[string]any)
		for name, v := range all {
			out[name] = map[string]float64{}
			flatten(out[name], "", v)
		}
	}
	return out
}

// manyRuns finds indexes of vinyl whose lookups read pages of many runs.
func manyRuns(c *caseFile) {
	worst, pages := "", 0.0
	for name, now := range c.vinyl {
		before := c.vinylBefore[name]
		lookups := now[figureLookups] - before[figureLookups]
		read, rows := now["pages"]-before["pages"], now["rows"]-before["rows"]
		needed := rows / max(now["disk.rows"]/max(now["disk.pages"], 1), 1)
		if lookups < leastLookups || read-needed < morePages*lookups || runs(now) < leastRuns {
			continue
		}
		if read > pages || read == pages && name < worst {
			worst, pages = name, read
		}
	}
	if worst == "" {
		return
	}
	now, before := c.vinyl[worst], c.vinylBefore[worst]
	lookups := now[figureLookups] - before[figureLookups]
	c.add(record.Finding{ID: FindVinylReads, Severity: record.Serious, Subject: worst,
		Evidence: message.New("find.tarantool.reads", message.Count("lookups", uint64(lookups)),
			message.Number("pages", pages/lookups), message.Number("runs", runs(now))),
		Advice: message.New("find.tarantool.reads.advice")})
}

// runs returns how many runs each range of an index consists of.
func runs(figures map[string]float64) float64 {
	return figures["disk.runs"] / max(figures["disk.ranges"], 1)
}

// vinylDebt finds a vinyl that compacts more slowly than it is written to.
func vinylDebt(c *caseFile) {
	late, most, worst := 0, 0, debt{}
	for _, d := range c.seen.debts {
		if d.queue <= debtTimes*d.level0 || d.queue <= leastDebtB {
			late = 0
			continue
		}
		late++
		most = max(most, late)
		if d.queue > worst.queue {
			worst = d
		}
	}
	if most < debtSamples {
		return
	}
	c.add(record.Finding{ID: FindVinylDebt, Severity: record.Serious, Subject: "vinyl",
		Evidence: message.New("find.tarantool.vinyl", message.Bytes("queue", worst.queue),
			message.Bytes("level0", worst.level0)),
		Advice: message.New("find.tarantool.vinyl.advice")})
}
