package proxy

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"
)

// echo starts a server that sends back what it receives.
func echo(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func listen(t testing.TB, to string) *Proxy {
	t.Helper()
	p, err := Listen(Config{Listen: "127.0.0.1:0", To: to, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func dial(t testing.TB, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// said sends a text and checks that it comes back.
func said(c net.Conn, what string) error {
	if _, err := c.Write([]byte(what)); err != nil {
		return err
	}
	got := make([]byte, len(what))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if string(got) != what {
		return errors.New("got " + string(got))
	}
	return nil
}

// opened returns how a new connection fails, while it is opened or when it is read.
func opened(p *Proxy) error {
	c, err := net.Dial("tcp", p.Address())
	if err == nil {
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
	}
	return err
}

// silent checks that nothing arrives for a while.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	n, err := c.Read(make([]byte, 1))
	var timeout net.Error
	if n != 0 || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("read %d bytes, %v; want nothing", n, err)
	}
	_ = c.SetReadDeadline(time.Time{})
}

func both(r Rule) *Rule {
	r.ToServer, r.ToClient = true, true
	return &r
}

// Random chunks are sent in both directions while black holes for each direction come and go. Every byte arrives, in
// order.
func TestDataGoesOnAfterBlackHoles(t *testing.T) {
	for _, way := range []struct {
		name               string
		toServer, toClient bool
	}{{"both ways", true, true}, {"to the server", true, false}, {"to the client", false, true}} {
		t.Run(way.name, func(t *testing.T) {
			p := listen(t, echo(t))
			c := dial(t, p)
			data := make([]byte, 3<<20)
			random := rand.New(rand.NewPCG(1, 2))
			for i := range data {
				data[i] = byte(random.Uint32())
			}
			got := make([]byte, len(data))
			var wait sync.WaitGroup
			wait.Go(func() {
				for rest := data; len(rest) > 0; {
					n := min(len(rest), 1+random.IntN(40_000))
					if _, err := c.Write(rest[:n]); err != nil {
						t.Errorf("write: %v", err)
						return
					}
					rest = rest[n:]
				}
			})
			rule := &Rule{Block: true, ToServer: way.toServer, ToClient: way.toClient}
			read := 0
			for _, until := range []int{1000, 1 << 20, 2 << 20, len(data)} {
				if _, err := io.ReadFull(c, got[read:until]); err != nil {
					t.Fatal(err)
				}
				read = until
				p.Set(rule)
				if until == len(data) {
					break
				}
				time.AfterFunc(20*time.Millisecond, func() { p.Clear(rule) })
			}
			wait.Wait()
			if !bytes.Equal(got, data) {
				t.Error("what arrived differs from what was sent")
			}
		})
	}
}

func TestNothingPassesABlackHole(t *testing.T) {
	for _, way := range []struct {
		name               string
		toServer, toClient bool
	}{{"both ways", true, true}, {"to the server", true, false}, {"to the client", false, true}} {
		t.Run(way.name, func(t *testing.T) {
			p := listen(t, echo(t))
			c := dial(t, p)
			if err := said(c, "before"); err != nil {
				t.Fatal(err)
			}
			rule := &Rule{Block: true, ToServer: way.toServer, ToClient: way.toClient}
			p.Set(rule)
			if _, err := c.Write([]byte("within")); err != nil {
				t.Fatal(err)
			}
			silent(t, c)
			p.Clear(rule)
			got := make([]byte, 6)
			if _, err := io.ReadFull(c, got); err != nil || string(got) != "within" {
				t.Errorf("got %q, %v", got, err)
			}
			if err := said(c, "after"); err != nil {
				t.Error(err)
			}
		})
	}
}

// The end of a stream is also held back, after its data.
func TestEndArrivesAfterABlackHole(t *testing.T) {
	p := listen(t, echo(t))
	c := dial(t, p)
	rule := both(Rule{Block: true})
	p.Set(rule)
	if _, err := c.Write([]byte("last words")); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	silent(t, c)
	p.Clear(rule)
	if got, err := io.ReadAll(c); err != nil || string(got) != "last words" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestIdleConnectionsAreReset(t *testing.T) {
	p := listen(t, echo(t))
	c := dial(t, p)
	if err := said(c, "before"); err != nil {
		t.Fatal(err)
	}
	rule := &Rule{Reset: true}
	p.Set(rule)
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("an idle connection ends by %v, want a reset", err)
	}
	if err := opened(p); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a new connection ends by %v, want a reset", err)
	}
	p.Clear(rule)
	if err := said(dial(t, p), "after"); err != nil {
		t.Error(err)
	}
}

func TestRefusedAreOnlyNewConnections(t *testing.T) {
	p := listen(t, echo(t))
	c := dial(t, p)
	if err := said(c, "before"); err != nil {
		t.Fatal(err)
	}
	p.Set(&Rule{Refuse: true})
	if err := said(c, "still"); err != nil {
		t.Error(err)
	}
	if err := opened(p); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a new connection ends by %v, want a reset", err)
	}
}

func TestHalfOpenConnectionsHearNothing(t *testing.T) {
	p := listen(t, echo(t))
	c := dial(t, p)
	if err := said(c, "before"); err != nil {
		t.Fatal(err)
	}
	rule := &Rule{HalfOpen: true}
	p.Set(rule)
	if _, err := c.Write([]byte("anybody?")); err != nil {
		t.Fatal(err)
	}
	silent(t, c)
	if err := said(dial(t, p), "a new one"); err != nil {
		t.Error(err)
	}
	p.Clear(rule)
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("it ends by %v, want a reset", err)
	}
}

func TestRulesAreForTheirClients(t *testing.T) {
	p := listen(t, echo(t))
	p.Set(both(Rule{Block: true, Clients: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}}))
	if err := said(dial(t, p), "another client"); err != nil {
		t.Error(err)
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	c, err := d.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("the client")); err != nil {
		t.Fatal(err)
	}
	silent(t, c)
}

// Delays and bandwidth have lower bounds, which hold on slow machines too.
func TestDelayAndBandwidth(t *testing.T) {
	for name, row := range map[string]struct {
		rule  *Rule
		bytes int
		least time.Duration
	}{
		"latency":             {both(Rule{Delay: 40 * time.Millisecond}), 10, 80 * time.Millisecond},
		"latency one way":     {&Rule{Delay: 40 * time.Millisecond, ToClient: true}, 10, 40 * time.Millisecond},
		"bandwidth":           {&Rule{BytesPerS: 1e6, ToServer: true}, 100_000, 99 * time.Millisecond},
		"handshake":           {&Rule{Handshake: 60 * time.Millisecond}, 10, 60 * time.Millisecond},
		"jitter and no delay": {both(Rule{Jitter: time.Millisecond}), 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := listen(t, echo(t))
			p.Set(row.rule)
			begin := time.Now()
			if err := said(dial(t, p), string(make([]byte, row.bytes))); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); took < row.least {
				t.Errorf("took %v, want at least %v", took, row.least)
			}
		})
	}
}

// Delayed data arrives at once when the rule ends.
func TestHealingEndsDelays(t *testing.T) {
	p := listen(t, echo(t))
	rule := both(Rule{Delay: time.Hour})
	p.Set(rule)
	c := dial(t, p)
	if _, err := c.Write([]byte("slow")); err != nil {
		t.Fatal(err)
	}
	silent(t, c)
	p.Clear(rule)
	got := make([]byte, 4)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "slow" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestNobodyBehindTheProxy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	to := l.Addr().String()
	l.Close()
	if err := opened(listen(t, to)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("it ends by %v, want a reset", err)
	}
}

func TestPortInUse(t *testing.T) {
	p := listen(t, "127.0.0.1:1")
	_, err := Listen(Config{Listen: p.Address(), To: "127.0.0.1:1"})
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("%v, want address in use", err)
	}
}

// Close closes connections that a black hole blocks.
func TestCloseInABlackHole(t *testing.T) {
	p := listen(t, echo(t))
	c := dial(t, p)
	if err := said(c, "x"); err != nil {
		t.Fatal(err)
	}
	p.Set(both(Rule{Block: true}))
	if _, err := c.Write([]byte("held")); err != nil {
		t.Fatal(err)
	}
	dial(t, p)
	silent(t, c)
	p.Close()
	if n := p.Connections(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}
