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
	"brunt/test/testserver"
)

// stopServer suspends the server at a time of the load for the given length; 0 means until brunt has ended.
func stopServer(at, length time.Duration) *fault {
	return serverAway(at, length, (*testserver.Server).Pause, (*testserver.Server).Resume)
}

// killServer kills the server and restarts it after the given length; 0 means when brunt has ended.
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

// refuseAll makes the proxy reset its connections and refuse new ones.
func refuseAll(at time.Duration) *fault {
	return &fault{cause: func(ctx context.Context, r *running) {
		r.until(ctx, at)
		r.proxy.refuse()
	}}
}

// holdBrunt suspends brunt for a part of each period, until the end of its load.
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

// burnBeside starts n burners on brunt's core, until the end of its load.
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

// together causes several faults at the same time. They are healed one after another.
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

// groupRoot returns the root folder of control groups with the CPU controller, and their version. Version 1 is
// preferred. It returns "" if no control group can be created.
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

// confine puts brunt into a control group with limits until the end of its load. The limits are file contents by file
// name, for each version of control groups.
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

// quota limits brunt's control group to ms of each 100 ms.
func quota(ms int) *fault {
	return confine(map[string]string{"cpu.cfs_quota_us": strconv.Itoa(1000 * ms)},
		map[string]string{"cpu.max": fmt.Sprintf("%d 100000", 1000*ms)})
}

// leastShare gives brunt's control group the least possible weight: 2, where a process has 1024 (version 2: 1, where it
// has 100).
func leastShare() *fault {
	return confine(map[string]string{"cpu.shares": "2"}, map[string]string{"cpu.weight": "1"})
}

// proxyConfig describes what a proxy does to the connections.
type proxyConfig struct {
	delay time.Duration // delay of answers
	// cut resets a connection after that many bytes of answers have passed; 0 means never. The rest of the piece that
	// reaches the limit is lost.
	cut int
}

// proxy forwards connections to a server.
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

// piece is the result of one read, with its time.
type piece struct {
	at   time.Time
	data []byte
}

// answer forwards answers after the delay, up to the cut.
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
	for range pieces { // unblocks the reader
	}
}
