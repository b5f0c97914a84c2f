package proxy

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// link is a client's connection to the proxy together with the proxy's connection to the server.
type link struct {
	proxy  *Proxy
	number uint64
	client netip.Addr
	down   *net.TCPConn // to the client
	ended  chan struct{}

	mu     sync.Mutex
	up     *net.TCPConn // to the server; nil until it has been dialled
	over   bool
	halved bool // also guarded by the proxy's lock when written
}

// reset closes both connections by RST.
func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.down.SetLinger(0)
	if l.up != nil {
		_ = l.up.SetLinger(0)
	}
	l.end()
}

// close closes both connections.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

func (l *link) end() {
	if l.over {
		return
	}
	l.over = true
	close(l.ended)
	_ = l.down.Close()
	if l.up != nil {
		_ = l.up.Close()
	}
}

// halve closes only the connection to the server, by RST.
func (l *link) halve() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.up == nil {
		return
	}
	l.halved = true
	_ = l.up.SetLinger(0)
	_ = l.up.Close()
}

func (l *link) isHalved() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.halved
}

// hold delays a new connection by wait, and then until no rule blocks the direction to the server. It returns false
// if the link has ended.
func (l *link) hold(wait time.Duration) bool {
	if wait > 0 && !l.until(time.Now().Add(wait), nil) {
		return false
	}
	for {
		r := l.proxy.rules.Load()
		s := r.shape(l.client, true)
		if !s.block {
			return true
		}
		if !l.until(time.Time{}, r.changed) {
			return false
		}
	}
}

// until waits until t (forever if t is zero) or until changed is closed. It returns false if the link has ended.
func (l *link) until(t time.Time, changed <-chan struct{}) bool {
	var fires <-chan time.Time
	if !t.IsZero() {
		timer := time.NewTimer(time.Until(t))
		defer timer.Stop()
		fires = timer.C
	}
	select {
	case <-fires:
		return true
	case <-changed:
		return true
	case <-l.ended:
		return false
	}
}

// dialTimeout limits the time for connecting to the server.
const dialTimeout = 5 * time.Second

// dial connects to the server. If the server refuses, the client's connection is closed by RST, as the server would
// have done. It returns false if there is no connection.
func (l *link) dial() bool {
	d := net.Dialer{Timeout: dialTimeout}
	c, err := d.DialContext(l.proxy.ctx, "tcp", l.proxy.config.To)
	if err != nil {
		if l.proxy.ctx.Err() == nil {
			l.proxy.failure.Store(&err)
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			l.reset()
		}
		return false
	}
	l.proxy.failure.Store(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		_ = c.Close()
		return false
	}
	l.up = c.(*net.TCPConn)
	return true
}

// carry copies data in both directions until both have ended.
func (l *link) carry() {
	var wait sync.WaitGroup
	wait.Go(func() { l.pump(l.up, l.down, false) })
	l.pump(l.down, l.up, true)
	wait.Wait()
	if l.isHalved() {
		<-l.ended // the client must not notice; its connection stays open
	}
}

// chunkBytes is the most that is read at once.
const chunkBytes = 16 << 10

// pump copies data in one direction until the sender or the link ends. It passes the sender's end on as a FIN after
// all data before it has been written. An error, such as an RST from the sender, resets the link.
func (l *link) pump(from, to *net.TCPConn, toServer bool) {
	w := &writer{link: l, to: to, toServer: toServer}
	buf := make([]byte, chunkBytes)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if werr := w.write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err == nil {
			continue
		}
		w.finish()
		switch {
		case l.isHalved():
		case err == io.EOF:
			_ = to.CloseWrite()
		default:
			l.reset()
		}
		return
	}
}

// writer writes one direction of a link, with the delay and bandwidth of the rules. Delayed data goes through a
// queue that a separate goroutine writes, so that reading continues. While no rule applies and the queue
// is empty, the reading goroutine writes directly.
type writer struct {
	link     *link
	to       *net.TCPConn
	toServer bool
	rules    *rules // the rules that shape was computed from
	shape    shape
	random   *rand.Rand

	free   time.Time // when the bandwidth limit allows the next byte
	late   chan chunk
	failed chan struct{} // closed when the goroutine has stopped
	idle   sync.WaitGroup
	held   budget
}

type chunk struct {
	data  []byte
	at    time.Time // when it may be written
	rules *rules    // the rules that delayed it
}

// look updates the shape if the proxy's rules have changed.
func (w *writer) look() {
	if now := w.link.proxy.rules.Load(); now != w.rules {
		w.rules, w.shape = now, now.shape(w.link.client, w.toServer)
	}
}

func (w *writer) write(b []byte) error {
	w.look()
	if w.shape.plain() && w.held.empty() {
		_, err := w.to.Write(b)
		return err
	}
	for len(b) > 0 {
		w.look()
		n := len(b)
		if rate := w.shape.bytesPerS; rate > 0 { // at least 20 pieces a second, so that the rate is smooth
			n = min(n, max(1, int(rate/20)))
		}
		if err := w.delay(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// delay queues a copy of b, to be written when the shape allows it.
func (w *writer) delay(b []byte) error {
	if w.late == nil {
		w.late, w.failed = make(chan chunk, mostHeld/1024+1), make(chan struct{})
		w.held.room = make(chan struct{}, 1)
		w.idle.Go(w.writeLate)
	}
	at := time.Now()
	if rate := w.shape.bytesPerS; rate > 0 {
		if w.free.Before(at) {
			w.free = at
		}
		w.free = w.free.Add(time.Duration(float64(len(b)) / rate * 1e9))
		at = w.free
	}
	at = at.Add(w.shape.delay)
	if w.shape.jitter > 0 {
		if w.random == nil {
			way := uint64(0)
			if w.toServer {
				way = 1
			}
			w.random = rand.New(rand.NewPCG(w.link.proxy.config.Seed, w.link.number<<1|way))
		}
		at = at.Add(time.Duration(w.random.Int64N(int64(w.shape.jitter) + 1)))
	}
	if !w.held.take(len(b), w.failed) {
		return net.ErrClosed
	}
	select {
	case w.late <- chunk{append([]byte(nil), b...), at, w.rules}:
		return nil
	case <-w.failed:
		return net.ErrClosed
	}
}

// writeLate writes the queued chunks when they are due and no rule blocks them. After a change of rules a chunk is
// due at once, unless the new rules limit delay or bandwidth too.
func (w *writer) writeLate() {
	defer close(w.failed)
	for c := range w.late {
		if !w.ready(&c) {
			return
		}
		if _, err := w.to.Write(c.data); err != nil {
			return
		}
		w.held.give(len(c.data))
	}
}

func (w *writer) ready(c *chunk) bool {
	for {
		now := w.link.proxy.rules.Load()
		s := now.shape(w.link.client, w.toServer)
		wait := c.at
		switch {
		case s.block:
			wait = time.Time{}
		case now != c.rules && s.delay == 0 && s.jitter == 0 && s.bytesPerS == 0, !time.Now().Before(c.at):
			return true
		}
		if !w.link.until(wait, now.changed) {
			return false
		}
	}
}

// finish waits until the queue has been written.
func (w *writer) finish() {
	if w.late != nil {
		close(w.late)
		w.idle.Wait()
	}
}

// mostHeld limits the delayed bytes per connection and direction. The kernel's own buffers come on top.
const mostHeld = 1 << 20

// budget limits the number of queued bytes.
type budget struct {
	mu   sync.Mutex
	used int
	room chan struct{} // signals that bytes may have become free
}

func (b *budget) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used == 0
}

// take waits until there is room for n bytes. More bytes than the limit are accepted if nothing else is queued. It
// returns false when stop is closed.
func (b *budget) take(n int, stop <-chan struct{}) bool {
	for {
		b.mu.Lock()
		if b.used == 0 || b.used+n <= mostHeld {
			b.used += n
			b.mu.Unlock()
			return true
		}
		b.mu.Unlock()
		select {
		case <-b.room:
		case <-stop:
			return false
		}
	}
}

func (b *budget) give(n int) {
	b.mu.Lock()
	b.used -= n
	b.mu.Unlock()
	select {
	case b.room <- struct{}{}:
	default:
	}
}
