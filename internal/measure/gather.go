package measure

// newInterval returns an interval with a place for everything.
func newInterval(operations, addresses int) Interval {
	iv := Interval{Account: Account{
		Operations: make([]OperationAccount, operations),
		Addresses:  make([]AddressAccount, addresses),
		OwnLag:     NewHistogram(),
		Turnaround: NewHistogram(),
	}}
	for i := range iv.Addresses {
		iv.Addresses[i].Service = NewHistogram()
	}
	return iv
}

func (o *OperationAccount) histograms() [5]**Histogram {
	return [...]**Histogram{&o.Response, &o.Unhindered, &o.Service, &o.Lag, &o.FailedResponse}
}

// begin empties the interval for what happened up to endNs.
func (c *Collector) begin(endNs int64, meta Meta) {
	iv := &c.interval
	for i := range iv.Operations {
		o := &iv.Operations[i]
		o.Counts = Counts{}
		for _, h := range o.histograms() {
			if *h != nil {
				(*h).Reset()
			}
		}
	}
	for i := range iv.Addresses {
		a := &iv.Addresses[i]
		a.Counts = Counts{}
		a.Service.Reset()
		a.Up, a.Reconnects = 0, 0
	}
	iv.OwnLag.Reset()
	iv.Turnaround.Reset()
	iv.Account = Account{
		StartNs: iv.EndNs, EndNs: endNs, Health: meta.Health,
		Operations: iv.Operations, Addresses: iv.Addresses, OwnLag: iv.OwnLag, Turnaround: iv.Turnaround,
		Standstills: iv.Standstills[:0], Events: iv.Events[:0],
	}
	iv.Index, iv.UnixNs = c.cuts, meta.UnixNs
	iv.Phase, iv.Kind, iv.WarmUp, iv.Drain = meta.Phase, meta.Kind, meta.WarmUp, meta.Drain
	c.cuts++
}

// take adds what an owner handed over to the interval.
func (c *Collector) take(b *buffer) {
	iv := &c.interval
	for i, from := range b.cells {
		if from == nil || from.empty() {
			continue
		}
		from.Attempts = from.Done + from.Retries
		from.ownLag.RecordN(0, from.onTime)
		from.otherLag.RecordN(0, from.closed)
		to := &iv.Operations[i/b.columns]
		to.Counts.Add(&from.Counts)
		merge(&to.Response, &from.response)
		merge(&to.Response, &from.prompt)
		merge(&to.Unhindered, &from.prompt)
		merge(&to.Unhindered, &from.free)
		merge(&to.Unhindered, &from.waited)
		merge(&to.Lag, &from.ownLag)
		merge(&to.Lag, &from.otherLag)
		iv.OwnLag.Merge(&from.ownLag)
		merge(&to.FailedResponse, &from.failed)
		services := [...]*Histogram{&from.prompt, &from.free, &from.service}
		for _, h := range services {
			merge(&to.Service, h)
		}
		if address := i % b.columns; address < len(iv.Addresses) {
			to := &iv.Addresses[address]
			to.Counts.Add(&from.Counts)
			for _, h := range services {
				to.Service.Merge(h)
			}
		}
	}
	for i := range b.fates {
		iv.Operations[i].Counts.Add(&b.fates[i])
	}
	for i, n := range b.reconnects {
		iv.Addresses[i].Reconnects += n
	}
	iv.Offered += b.offered
	iv.OwnLag.Merge(&b.ownLag)
	iv.Turnaround.Merge(&b.turnaround)
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
