//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/testserver"
)

// stopServer holds the server from one moment of the load for a time; 0 means until brunt has ended.
func stopServer(at, length time.Duration) *fault {
	return serverAway(at, length, (*testserver.Server).Pause, (*testserver.Server).Resume)
}

// killServer kills the server and starts it again after a time; 0 means when brunt has ended.
func killServer(at, length time.Duration) *fault {
	return serverAway(at, length, (*testserver.Server).Kill, (*testserver.Server).Restart)
}

func serverAway(at, length time.Duration, away, back func(*testserver.Server)) *fault {
	return &fault{
		cause: func(ctx context.Context, r *running) {
			r.until(ctx, at)
			away(r.server)
			if length > 0 {
				protocol.Sleep(ctx, length)
				back(r.server)
			}
		},
		heal: func(r *running) { back(r.server) },
	}
}

// refuseAll has the proxy reset what is open and refuse the rest.
func refuseAll(at time.Duration) *fault {
	return &fault{cause: func(ctx context.Context, r *running) {
		r.until(ctx, at)
		r.proxy.refuse()
	}}
}

// holdBrunt stops brunt for a part of each period, to the end of its load.
func holdBrunt(stopped, period time.Duration) *fault {
	return &fault{cause: func(ctx context.Context, r *running) {
		for ctx.Err() == nil && time.Since(r.began) < r.ask.load {
			syscall.Kill(r.pid, syscall.SIGSTOP)
			protocol.Sleep(ctx, stopped)
			syscall.Kill(r.pid, syscall.SIGCONT)
			protocol.Sleep(ctx, period-stopped)
		}
		syscall.Kill(r.pid, syscall.SIGCONT)
	}}
}

// burnBeside starts processes that burn brunt's core, to the end of its load.
func burnBeside(n int, b burner) *fault {
	return &fault{cause: func(ctx context.Context, r *running) {
		_, cores := r.coresOf(r.situation)
		ctx, cancel := context.WithDeadline(ctx, r.began.Add(r.ask.load))
		defer cancel()
		for range n {
			b.start(ctx, r.self, cores[len(cores)-1])
		}
		<-ctx.Done()
	}}
}

// together causes several faults at a time. What is healed is healed in turn.
func together(faults ...*fault) *fault {
	return &fault{
		cause: func(ctx context.Context, r *running) {
			var all sync.WaitGroup
			for _, f := range faults {
				all.Go(func() { f.cause(ctx, r) })
			}
			all.Wait()
		},
		heal: func(r *running) {
			for _, f := range faults {
				if f.heal != nil {
					f.heal(r)
				}
			}
		},
	}
}

// groupRoot is the control group's folder that has the CPU controller; version 1's if there are both.
func groupRoot() (folder string, version int) {
	for _, g := range []struct {
		folder, file string
		version      int
	}{{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", 1}, {"/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us", 1},
		{"/sys/fs/cgroup", "cgroup.controllers", 2}} {
		probe := filepath.Join(g.folder, "brunt-situations")
		if os.Mkdir(probe, 0o755) != nil {
			continue
		}
		file := g.file
		if g.version == 2 {
			file = "cpu.max"
		}
		_, err := os.Stat(filepath.Join(probe, file))
		os.Remove(probe)
		if err == nil {
			return g.folder, g.version
		}
	}
	return "", 0
}

// confine puts brunt into a control group with limits (the files' names by version, and what is
// written into them), to the end of its load.
func confine(version1, version2 map[string]string) *fault {
	var folder string
	return &fault{
		cause: func(ctx context.Context, r *running) {
			root, version := groupRoot()
			folder = filepath.Join(root, fmt.Sprintf("brunt-situation-%d", r.pid))
			limits := version1
			if version == 2 {
				limits = version2
			}
			if os.Mkdir(folder, 0o755) != nil {
				return
			}
			for file, value := range limits {
				os.WriteFile(filepath.Join(folder, file), []byte(value), 0o644)
			}
			os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(r.pid)), 0o644)
			r.until(ctx, r.ask.load)
			os.WriteFile(filepath.Join(root, "cgroup.procs"), []byte(strconv.Itoa(r.pid)), 0o644)
		},
		heal: func(*running) { os.Remove(folder) },
	}
}

// quota lets a control group have so many ms of each 100 ms.
func quota(ms int) *fault {
	return confine(map[string]string{"cpu.cfs_quota_us": strconv.Itoa(1000 * ms)},
		map[string]string{"cpu.max": fmt.Sprintf("%d 100000", 1000*ms)})
}

// leastShare gives a control group the least weight there is: 2 of a process' 1024 (version 2: 1 of 100).
func leastShare() *fault {
	return confine(map[string]string{"cpu.shares": "2"}, map[string]string{"cpu.weight": "1"})
}

// proxyConfig is what a proxy does to what passes through it.
type proxyConfig struct {
	delay time.Duration // of answers
	// cut resets a connection once so many bytes of answers have gone through it; 0 never. What is
	// left of the piece in which that happens is lost.
	cut int
}

// proxy passes connections on to a server.
type proxy struct {
	address string
	server  string
	config  proxyConfig

	mu       sync.Mutex
	listener net.Listener
	open     map[*net.TCPConn]bool
}

func newProxy(server string, c proxyConfig) (*proxy, error) {
	p := &proxy{address: "127.0.0.1:0", server: server, config: c, open: map[*net.TCPConn]bool{}}
	return p, p.listen()
}

func (p *proxy) listen() error {
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.listener, p.address = l, l.Addr().String()
	p.mu.Unlock()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c.(*net.TCPConn))
		}
	}()
	return nil
}

// refuse resets all connections and refuses new ones.
func (p *proxy) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener.Close()
	for c := range p.open {
		reset(c)
	}
}

func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

func (p *proxy) serve(client *net.TCPConn) {
	c, err := net.Dial("tcp", p.server)
	if err != nil {
		reset(client)
		return
	}
	server := c.(*net.TCPConn)
	p.mu.Lock()
	p.open[client] = true
	p.mu.Unlock()
	go func() {
		io.Copy(server, client)
		server.CloseWrite()
	}()
	p.answer(client, server)
	server.Close()
	client.Close()
	p.mu.Lock()
	delete(p.open, client)
	p.mu.Unlock()
}

// piece is what was read at a time.
type piece struct {
	at   time.Time
	data []byte
}

// answer passes answers on, each so late, up to the cut.
func (p *proxy) answer(client, server *net.TCPConn) {
	pieces := make(chan piece, 4096)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 16<<10)
			n, err := server.Read(buffer)
			if n > 0 {
				pieces <- piece{time.Now(), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	passed := 0
	for piece := range pieces {
		time.Sleep(time.Until(piece.at.Add(p.config.delay)))
		if passed += len(piece.data); p.config.cut > 0 && passed >= p.config.cut {
			reset(client)
			break
		}
		if _, err := client.Write(piece.data); err != nil {
			break
		}
	}
	server.Close()
	for range pieces { // lets the reader end
	}
}
