package measure

func newInterval(operations, addresses int) Interval {
	iv := Interval{
		Operations: make([]OperationInterval, operations),
		Addresses:  make([]AddressInterval, addresses),
		OwnLag:     NewHistogram(),
	}
	for i := range iv.Operations {
		o := &iv.Operations[i]
		o.Response, o.Service = NewHistogram(), NewHistogram()
		o.Lag, o.FailedResponse = NewHistogram(), NewHistogram()
	}
	for i := range iv.Addresses {
		iv.Addresses[i].Service = NewHistogram()
	}
	return iv
}

// begin empties the interval for what happened up to endNs.
func (c *Collector) begin(endNs int64, meta Meta) {
	iv := &c.interval
	for i := range iv.Operations {
		o := &iv.Operations[i]
		o.Counts = Counts{}
		o.Response.Reset()
		o.Service.Reset()
		o.Lag.Reset()
		o.FailedResponse.Reset()
	}
	for i := range iv.Addresses {
		a := &iv.Addresses[i]
		a.Counts = Counts{}
		a.Service.Reset()
		a.Up, a.Reconnects = 0, 0
	}
	iv.Index = c.cuts
	iv.StartNs, iv.EndNs = iv.EndNs, endNs
	iv.UnixNs, iv.Phase, iv.WarmUp, iv.Health = meta.UnixNs, meta.Phase, meta.WarmUp, meta.Health
	iv.Sessions, iv.Busy, iv.Backlog, iv.Offered = 0, 0, 0, 0
	iv.OwnLag.Reset()
	iv.Standstills = iv.Standstills[:0]
	c.cuts++
}

// take adds what an owner handed over to the interval.
func (c *Collector) take(b *buffer) {
	iv := &c.interval
	for i, from := range b.cells {
		if from == nil || from.Done == 0 {
			continue
		}
		from.Attempts = from.Done + from.Retries
		from.ownLag.RecordN(0, from.onTime)
		from.otherLag.RecordN(0, from.closed)
		to := &iv.Operations[i/b.columns]
		to.Counts.Add(&from.Counts)
		to.Response.Merge(&from.response)
		to.Response.Merge(&from.prompt)
		to.Service.Merge(&from.service)
		to.Service.Merge(&from.prompt)
		to.Lag.Merge(&from.ownLag)
		to.Lag.Merge(&from.otherLag)
		iv.OwnLag.Merge(&from.ownLag)
		to.FailedResponse.Merge(&from.failed)
		if address := i % b.columns; address < len(iv.Addresses) {
			to := &iv.Addresses[address]
			to.Counts.Add(&from.Counts)
			to.Service.Merge(&from.service)
			to.Service.Merge(&from.prompt)
		}
	}
	for i, n := range b.dropped {
		iv.Operations[i].Dropped += n
	}
	for i, n := range b.reconnects {
		iv.Addresses[i].Reconnects += n
	}
	iv.Offered += b.offered
	iv.OwnLag.Merge(&b.ownLag)
	iv.Health.SendStalls += b.stalls
	if g := &b.gauges; g.calls > 0 {
		iv.Health.LoopBusy = max(iv.Health.LoopBusy, g.loopBusy/float64(g.calls))
	}
}

func (iv *Interval) addGauges(g *gauges) {
	for i, up := range g.up {
		iv.Addresses[i].Up += up
		iv.Sessions += up
	}
	iv.Busy += g.busy
	iv.Backlog += g.backlog
}

func (c *Collector) addToTotal() {
	t, iv := &c.total, &c.interval
	for i := range t.Operations {
		to, from := &t.Operations[i], &iv.Operations[i]
		to.Counts.Add(&from.Counts)
		to.Response.Merge(from.Response)
		to.Service.Merge(from.Service)
		to.Lag.Merge(from.Lag)
		to.FailedResponse.Merge(from.FailedResponse)
	}
	for i := range t.Addresses {
		to, from := &t.Addresses[i], &iv.Addresses[i]
		to.Counts.Add(&from.Counts)
		to.Service.Merge(from.Service)
		to.Reconnects += from.Reconnects
	}
	t.Offered += iv.Offered
	t.OwnLag.Merge(iv.OwnLag)
	t.Health.add(&iv.Health, c.healthNs, iv.EndNs-iv.StartNs)
	c.healthNs += iv.EndNs - iv.StartNs
}

// add adds the health of an interval of ns after such of before ns.
func (h *Health) add(o *Health, before, ns int64) {
	if before+ns > 0 {
		h.ProcessCPU = (h.ProcessCPU*float64(before) + o.ProcessCPU*float64(ns)) / float64(before+ns)
	}
	h.LoopBusy = max(h.LoopBusy, o.LoopBusy)
	h.CgroupThrottledNs += o.CgroupThrottledNs
	h.RunQueueNs += o.RunQueueNs
	h.LoopRunQueueNs += o.LoopRunQueueNs
	h.StealNs += o.StealNs
	h.OthersNs += o.OthersNs
	h.GCPauseNsMax = max(h.GCPauseNsMax, o.GCPauseNsMax)
	h.GCCycles += o.GCCycles
	h.SendStalls += o.SendStalls
	h.RSSBytes = max(h.RSSBytes, o.RSSBytes)
	h.PausedNs += o.PausedNs
	h.VoluntarySwitches += o.VoluntarySwitches
	h.InvoluntarySwitches += o.InvoluntarySwitches
}
