package measure

// SetWait replaces the way in which Cut waits for owners; see NewCollectorWaiting. It must be called before the first
// Cut.
func (c *Collector) SetWait(wait func(attempt int) bool) { c.wait = wait }
