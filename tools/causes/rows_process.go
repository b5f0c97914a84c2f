//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// webServer starts the HTTP server of web.go.
func webServer(st *stage) *testserver.Server {
	return testserver.Program(st.tb, "web", st.self, helperCommand, "web")
}

// webRow is a row of an HTTP service that no inspector knows.
func webRow(cause, planted string, want []string, path, load string) row {
	return row{System: "service", Cause: cause, Planted: planted, Want: want, Server: "web", Start: webServer,
		Plan: fmt.Sprintf("queries:\n  - name: one\n    http: {path: %s}\n%s", path, load),
		Flags: func(sc *scene) []string {
			return []string{"--proto", "http", "-a", sc.server.Addr, "--watch", "server"}
		}}
}

func processRows() []row {
	starved := webRow("starved", "six other processes compute on its cores", []string{"process-taken"}, "/encode",
		openLoad(64, 150))
	starved.During = burners(6)
	unread := webRow("unread", "another client asks for 8 MB again and again and doesn't read them",
		[]string{"process-unread"}, "/", openLoad(8, 100))
	unread.During = neverRead
	quota := webRow("quota", "a quota of 5 ms of each 100 ms", []string{"process-quota"}, "/encode", openLoad(32, 30))
	quota.Prepare = limited
	return []row{
		webRow("thread", "all requests are computed by one thread", []string{"process-thread"}, "/spin",
			"sessions: 16\nload:\n  - closed: {sessions: 16, duration: {length}}\n"),
		webRow("cores", "16 sessions compute at once, on two cores", []string{"process-cores", "process-taken"}, "/encode",
			"sessions: 16\nload:\n  - closed: {sessions: 16, duration: {length}}\n"),
		starved,
		webRow("waits", "each request waits 100 ms for another server", []string{"process-waits"}, "/sleep",
			openLoad(64, 100)),
		webRow("lock", "each request holds one lock for 10 ms", []string{"process-waits"}, "/lock",
			"sessions: 16\nload:\n  - closed: {sessions: 16, duration: {length}}\n"),
		webRow("disk", "each request writes 1 MB and flushes it", []string{"process-disk"}, "/write",
			"sessions: 4\nload:\n  - closed: {sessions: 4, duration: {length}}\n"),
		unread,
		quota,
		webRow("healthy", "a short page", nil, "/", openLoad(8, 200)),
		webRow("healthy-work", "pages that take 3 ms of CPU, at a third of what it can do", nil, "/encode", openLoad(8, 60)),
	}
}

// neverRead opens connections that send requests and read nothing.
func neverRead(ctx context.Context, sc *scene) {
	for range 4 {
		c, err := net.Dial("tcp", sc.server.Addr)
		if err != nil {
			return
		}
		defer c.Close()
		for range 4 {
			fmt.Fprintf(c, "GET /big HTTP/1.1\r\nHost: %s\r\n\r\n", sc.server.Addr)
		}
	}
	<-ctx.Done()
}

// limited puts the server into a control group with a quota.
func limited(sc *scene) (func(), error) {
	for _, g := range []struct{ folder, file, value string }{
		{"/sys/fs/cgroup/cpu/brunt-causes", "cpu.cfs_quota_us", "5000"},
		{"/sys/fs/cgroup/brunt-causes", "cpu.max", "5000 100000"},
	} {
		if os.Mkdir(g.folder, 0o755) != nil {
			continue
		}
		leave := func() {
			parent := g.folder[:strings.LastIndexByte(g.folder, '/')]
			os.WriteFile(parent+"/cgroup.procs", []byte(strconv.Itoa(sc.server.PID)), 0o644)
			for range 100 { // until the kernel has moved the threads
				if os.Remove(g.folder) == nil {
					break
				}
				protocol.Sleep(context.Background(), 1e7)
			}
		}
		err := os.WriteFile(g.folder+"/"+g.file, []byte(g.value), 0o644)
		if err == nil {
			err = os.WriteFile(g.folder+"/cgroup.procs", []byte(strconv.Itoa(sc.server.PID)), 0o644)
		}
		if err != nil {
			leave()
			continue
		}
		return leave, nil
	}
	return nil, fmt.Errorf("no control group with a CPU quota can be made here; run it as root")
}
