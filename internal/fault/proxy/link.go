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

// link is a client's connection and the server's that belongs to it.
type link struct {
	proxy  *Proxy
	number uint64
	client netip.Addr
	down   *net.TCPConn // to the client
	ended  chan struct{}

	mu     sync.Mutex
	up     *net.TCPConn // to the server; nil before there is one
	over   bool
	halved bool // changed with the proxy's lock held, too
}

// reset ends both connections by RST.
func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.down.SetLinger(0)
	if l.up != nil {
		_ = l.up.SetLinger(0)
	}
	l.end()
}

// close ends both connections.
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

// halve ends the connection to the server alone, by RST.
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

// hold makes a new connection wait, and longer while a rule blocks its way to the server.
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

// until waits for a time (forever if zero) or until changed is closed, and reports whether the link is still there.
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

// dial connects to the server. If it can't, the client's connection ends as the server's would have: by RST if that
// refuses.
func (l *link) dial() bool {
	d := net.Dialer{Timeout: l.proxy.config.DialTimeout}
	c, err := d.DialContext(l.proxy.ctx, "tcp", l.proxy.config.To)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			l.reset()
		}
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		_ = c.Close()
		return false
	}
	l.up = c.(*net.TCPConn)
	return true
}

// carry moves data in both directions until both have ended.
func (l *link) carry() {
	var wait sync.WaitGroup
	wait.Go(func() { l.pump(l.up, l.down, false) })
	l.pump(l.down, l.up, true)
	wait.Wait()
	if l.isHalved() {
		<-l.ended // the client isn't told
	}
}

// chunkBytes is how much is read at once.
const chunkBytes = 16 << 10

// pump moves data one way until it ends, or the link does. The end is passed on as a FIN once all before it has been
// written; an error ends the link by RST, as that of the kernel did.
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

// writer writes one direction of a link, as late and slowly as rules say. What is late is kept in a queue, which a
// goroutine of its own writes, so that reading goes on meanwhile; while there is neither rule nor queue, the reader
// writes.
type writer struct {
	link     *link
	to       *net.TCPConn
	toServer bool
	rules    *rules // whose shape is below
	shape    shape
	random   *rand.Rand

	free   time.Time // when the bandwidth allows the next byte
	late   chan chunk
	failed chan struct{} // closed when the goroutine has given up
	idle   sync.WaitGroup
	held   budget
}

type chunk struct {
	data  []byte
	at    time.Time // when it may be written
	rules *rules    // that said so
}

// look makes the shape that of the present rules.
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

// delay queues a copy of some data.
func (w *writer) delay(b []byte) error {
	if w.late == nil {
		w.late, w.failed = make(chan chunk, w.link.proxy.config.Buffer/1024+1), make(chan struct{})
		w.held.most = w.link.proxy.config.Buffer
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

// writeLate writes what is queued when it is due and nothing blocks it. A change of rules makes what waits due at once,
// unless the new ones delay it too.
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

// finish waits until all that is queued has been written.
func (w *writer) finish() {
	if w.late != nil {
		close(w.late)
		w.idle.Wait()
	}
}

// budget bounds the bytes that are on the way.
type budget struct {
	mu   sync.Mutex
	used int
	most int
	room chan struct{} // something may have become free
}

func (b *budget) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used == 0
}

// take waits until there is room for n bytes, which more than the bound have when nothing else is there.
func (b *budget) take(n int, stop <-chan struct{}) bool {
	for {
		b.mu.Lock()
		if b.used == 0 || b.used+n <= b.most {
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
