package engine

// Uptime integrates the number of connected sessions over time. Whether a session is connected at the moment at which
// an interval ends is a matter of chance where servers end connections by design.
type Uptime struct {
	connected int
	upNs      float64 // since sinceNs
	sinceNs   int64
	changedNs int64 // upNs is summed up to here
}

// Add records that n further sessions are connected, or −n fewer.
func (u *Uptime) Add(n int, now int64) {
	u.sum(now)
	u.connected += n
}

// Take returns for how long sessions were connected since the last call, summed over them, and the time since then, ns.
func (u *Uptime) Take(now int64) (upNs float64, spanNs int64) {
	u.sum(now)
	upNs, spanNs = u.upNs, now-u.sinceNs
	u.upNs, u.sinceNs = 0, now
	return upNs, spanNs
}

func (u *Uptime) sum(now int64) {
	u.upNs += float64(u.connected) * float64(now-u.changedNs)
	u.changedNs = now
}
