// Package proxy is a TCP proxy that can disturb the traffic to a server, and restore it, as a network would: data
// that a black hole holds back arrives when the black hole is removed, connections are reset by RST immediately
// even if they are idle, and random delays depend only on a seed.
//
// A proxy of this kind can't drop single packets, since the kernel retransmits them unseen. It also can't keep a
// connection from being accepted, since the kernel does that as well: a client in front of a black hole connects,
// but never receives an answer.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config configures a proxy.
type Config struct {
	Listen string // host:port; port 0 means any free port
	To     string // host:port of the server
	Seed   uint64 // of random delays
}

// Proxy is a listening proxy. Its methods are safe for concurrent use.
//
// Setting a rule with HalfOpen closes the existing connections to the server but leaves those to the clients open:
// what the clients send is never answered. When the rule is cleared, these connections end by RST, as if the
// machine had restarted. New connections work all the time.
type Proxy struct {
	config Config
	listen net.Listener
	rules  atomic.Pointer[rules]
	// failure is why the server could not be reached the last time; nil if it was.
	failure atomic.Pointer[error]
	ctx     context.Context
	stop    context.CancelFunc
	wait    sync.WaitGroup

	mu    sync.Mutex
	links map[*link]struct{}
	made  uint64 // connections accepted so far
}

// Listen starts a proxy. Its error is one line and tells the user what to do.
func Listen(c Config) (*Proxy, error) {
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("the proxy to %s can't listen at %s: %w; give it another address, or end what listens there",
			c.To, c.Listen, errors.Unwrap(err))
	}
	p := &Proxy{config: c, listen: l, links: map[*link]struct{}{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.rules.Store(&rules{changed: make(chan struct{})})
	p.wait.Go(p.accept)
	return p, nil
}

// Address returns the host:port at which the proxy listens.
func (p *Proxy) Address() string { return p.listen.Addr().String() }

// Failure returns why the server could not be reached by the last attempt; nil if it was.
func (p *Proxy) Failure() error {
	if err := p.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Connections returns the number of current connections.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Set adds a rule. The caller must not change the rule afterwards. When Set returns, the rule is in effect:
// connections that it ends have been closed.
func (p *Proxy) Set(r *Rule) {
	p.replace(func(all []*Rule) []*Rule { return append(all, r) })
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		switch {
		case !r.of(l.client):
		case r.Reset:
			l.reset()
		case r.HalfOpen:
			l.halve()
		}
	}
}

// Clear removes a rule; it has no effect if the rule isn't set. When Clear returns, the data that the rule held
// back is being sent.
func (p *Proxy) Clear(r *Rule) {
	p.replace(func(all []*Rule) []*Rule {
		return slices.DeleteFunc(all, func(have *Rule) bool { return have == r })
	})
	if !r.HalfOpen {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if l.halved && r.of(l.client) {
			l.reset()
		}
	}
}

func (p *Proxy) replace(edit func([]*Rule) []*Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.rules.Load()
	p.rules.Store(&rules{all: edit(slices.Clone(old.all)), changed: make(chan struct{})})
	close(old.changed)
}

// Close ends the proxy and its connections and waits until they have ended.
func (p *Proxy) Close() error {
	p.stop()
	err := p.listen.Close()
	p.mu.Lock()
	for l := range p.links {
		l.close()
	}
	p.mu.Unlock()
	p.wait.Wait()
	return err
}

func (p *Proxy) accept() {
	const pause = 10 * time.Millisecond // after a failure, such as a lack of file descriptors
	for p.ctx.Err() == nil {
		c, err := p.listen.Accept()
		if err != nil {
			if p.sleep(pause) {
				continue
			}
			return
		}
		p.wait.Go(func() { p.serve(c.(*net.TCPConn)) })
	}
}

// sleep waits for d. It returns false if the proxy is closed before.
func (p *Proxy) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-p.ctx.Done():
		return false
	}
}

// serve handles one connection until its end.
func (p *Proxy) serve(c *net.TCPConn) {
	l := &link{proxy: p, down: c, ended: make(chan struct{})}
	if a, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil {
		l.client = a.Addr().Unmap()
	}
	p.mu.Lock()
	p.made++
	l.number = p.made
	p.links[l] = struct{}{}
	reset, wait := p.rules.Load().opening(l.client)
	if reset {
		l.reset()
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	defer l.close()
	if reset || !l.hold(wait) || !l.dial() {
		return
	}
	l.carry()
}
