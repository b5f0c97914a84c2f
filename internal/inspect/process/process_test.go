package process

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/record"
	"brunt/internal/render/message"
)

// tree writes a folder like /proc, with the texts of its files by path.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(root, name), text)
	}
	return root
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// statText is a stat file as the kernel writes it, with a name that has a parenthesis.
func statText(state, parent string) string {
	return "100 (a ) b) " + state + " " + parent + " 100 100 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 3 0 777 1000 10 " +
		strings.Repeat("0 ", 20)
}

// recorded is a server with a thread that computes and one that waits for the disk.
func recorded() map[string]string {
	return map[string]string{
		"100/stat": statText("S", "1"), "100/comm": "tarantool\n", "100/io": "rchar: 9\nread_bytes: 0\nwrite_bytes: 4096\n",
		"100/task/100/stat": statText("R", "1"), "100/task/100/comm": "tx\n", "100/task/100/schedstat": "1000 2000 3\n",
		"100/task/100/children": "200 ",
		"100/task/101/stat":     statText("D", "1"), "100/task/101/comm": "wal\n", "100/task/101/schedstat": "0 0 0\n",
		"100/task/101/wchan": "folio_wait_bit", "100/task/101/children": "",
		"200/stat": statText("S", "100"), "200/comm": "child\n", "200/task/200/stat": statText("S", "100"),
		"200/task/200/comm": "child\n", "200/task/200/schedstat": "7 7 7\n", "200/task/200/children": "",
	}
}

func TestThreadsAreObserved(t *testing.T) {
	proc := tree(t, recorded())
	o := newObserved(Target{Source: "x", PID: 100}, proc, proc)
	o.count()
	o.sample()
	o.close(false, time.Second, 0) // the warm-up doesn't count
	put(t, filepath.Join(proc, "100/task/100/schedstat"), "600001000 300002000 5\n")
	put(t, filepath.Join(proc, "100/io"), "read_bytes: 1000000\nwrite_bytes: 4096\n")
	put(t, filepath.Join(proc, "100/task/102/schedstat"), "100000000 0 1\n") // a new thread
	put(t, filepath.Join(proc, "100/task/102/comm"), "late\n")
	put(t, filepath.Join(proc, "100/task/102/stat"), statText("D", "1"))
	put(t, filepath.Join(proc, "100/task/102/wchan"), "kernel_clone")
	for range 100 {
		o.sample()
	}
	o.count()
	o.close(true, time.Second, 3e9)
	p := o.record()
	if p.Command != "tarantool" || p.Members != 2 || p.Samples != 100 || p.ReadBPerS != 1e6 || p.WrittenBPerS != 0 {
		t.Errorf("%+v", p)
	}
	if p.OnCPU != 0.7 || p.Queued != 0.3 || p.DiskSeen != 1 || p.InDisk != 1 {
		t.Errorf("on CPU %v, queued %v, disk %v, %v", p.OnCPU, p.Queued, p.DiskSeen, p.InDisk)
	}
	wal := record.ThreadUse{Name: "wal", Number: 1, InDisk: 1}
	tx := record.ThreadUse{Name: "tx", Number: 1, OnCPU: 0.6, Queued: 0.3}
	if len(p.Threads) != 4 || p.Threads[0] != wal || p.Threads[1] != tx {
		t.Errorf("%+v", p.Threads)
	}
	if want := []record.ThreadSleep{{Thread: "wal", For: "folio_wait_bit", Share: 1}}; !slices.Equal(p.Sleeps, want) {
		t.Errorf("%+v", p.Sleeps)
	}
	o.end()
}

// Only threads that ran lately are sampled, and those that slept uninterruptibly when they were last looked at.
func TestIdleThreadsAreLeftOut(t *testing.T) {
	proc := tree(t, recorded())
	o := newObserved(Target{Source: "x", PID: 100}, proc, proc)
	defer o.end()
	o.count()
	wal := o.threads[101]
	looks := func(state string, want int) {
		t.Helper()
		put(t, filepath.Join(proc, "100/task/101/stat"), statText(state, "1"))
		wal.last = time.Time{} // long ago
		o.sample()
		if wal.now.inDisk != want {
			t.Errorf("%d samples in state D, want %d", wal.now.inDisk, want)
		}
	}
	looks("D", 0) // it hasn't run
	put(t, filepath.Join(proc, "100/task/101/schedstat"), "1000 0 1\n")
	o.count()
	looks("D", 1)
	o.count() // it doesn't run, but still sleeps
	looks("D", 2)
	looks("S", 2)
	looks("D", 2)
}

func TestProcessThatEndedIsGone(t *testing.T) {
	proc := tree(t, recorded())
	o := newObserved(Target{Source: "x", PID: 100}, proc, proc)
	o.count()
	if err := os.RemoveAll(filepath.Join(proc, "100")); err != nil {
		t.Fatal(err)
	}
	o.sample()
	o.count()
	if !o.gone {
		t.Error("not noticed")
	}
	o.end()
}

// Texts of /proc/net/tcp and tcp6 of Linux 6, of a server at 127.0.0.1:6379 and [::]:8080.
const (
	tcpText = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0
   1: 0100007F:18EB 0100007F:C350 01 002DC05F:00000000 01:00000014 00000000     0        0 4712 1 0 100 0 0 10 0
   2: 0100007F:18EB 0100007F:C351 01 00000001:00000000 01:00000014 00000000     0        0 4713 1 0 100 0 0 10 0
   3: 0100007F:C350 0100007F:18EB 01 00000000:002DC05F 01:00000014 00000000     0        0 4714 1 0 100 0 0 10 0
`
	tcp6Text = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when
   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:0 0 0 0 4720 1
`
	unixText = `Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 4730 /run/postgresql/.s.PGSQL.5432
0000000000000000: 00000003 00000000 00000000 0001 03 4731 /run/postgresql/.s.PGSQL.5432
`
)

func TestListenersAreFound(t *testing.T) {
	files := recorded()
	files["net/tcp"], files["net/tcp6"], files["net/unix"] = tcpText, tcp6Text, unixText
	proc := tree(t, files)
	link := func(pid, number, target string) {
		t.Helper()
		folder := filepath.Join(proc, pid, "fd")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(folder, number)); err != nil {
			t.Fatal(err)
		}
	}
	link("100", "3", "socket:[4711]")
	link("200", "3", "socket:[4711]") // a child shares it
	link("200", "4", "socket:[4730]")
	own := []netip.Addr{netip.MustParseAddr("10.0.0.7")}
	for address, want := range map[string]int{
		"127.0.0.1:6379": 100, "localhost:6379": 100, "10.0.0.7:6379": 0, "10.0.0.8:6379": 0, "127.0.0.1:6380": 0,
		"10.0.0.7:8080": 0, "/run/postgresql": 200, "/run/postgresql/.s.PGSQL.5432": 200, "/run": 0, "nonsense": 0,
	} {
		got := 0
		if all := find(proc, []string{address}, own); len(all) == 1 {
			got = all[0].PID
		}
		if got != want {
			t.Errorf("%s: process %d, want %d", address, got, want)
		}
	}
	put(t, filepath.Join(proc, "100/comm"), "docker-proxy\n")
	if all := find(proc, []string{"127.0.0.1:6379"}, own); len(all) > 0 {
		t.Errorf("a forwarder isn't the server: %+v", all)
	}
}

func TestQueuesOfTheServersSide(t *testing.T) {
	var q tcpQueues
	q.parse([]byte(tcpText), []uint16{6379})
	if q.connections != 2 || q.unread != 2998368 || len(q.full) != 1 || q.full[0].bytes != 2998367 ||
		q.full[0].remote.String() != "127.0.0.1:50000" {
		t.Errorf("%+v", q)
	}
}

func unknownPeer(ends) peer { return peer{kind: record.PeerUnknown} }

// Whose a connection is follows from the other socket's owner. Without one here, it is a client of another machine if
// sessions of this process reach the server without translation of their addresses, and no other machine sends the
// load.
func TestPeersAreFound(t *testing.T) {
	files := recorded()
	for _, pid := range []string{"100", "300", "400", "401", "500"} {
		files[pid+"/net/tcp"] = peersText
		files[pid+"/stat"] = statText("S", "1")
		files[pid+"/comm"] = "tarantool\n"
	}
	files["300/comm"], files["500/comm"] = "brunt\n", "cat\n"
	files["401/stat"] = statText("S", "400") // a child of the replica has the socket
	proc := tree(t, files)
	for path, inode := range map[string]string{"100/fd/3": "1", "300/fd/3": "10", "401/fd/3": "20", "400/fd/4": "2",
		"500/fd/3": "30"} {
		at := filepath.Join(proc, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink("socket:["+inode+"]", at)); err != nil {
			t.Fatal(err)
		}
	}
	server := netip.MustParseAddrPort("127.0.0.1:3301")
	for address, want := range map[string]peer{
		"127.0.0.1:50000": {kind: record.PeerGenerator},
		"127.0.0.1:50001": {kind: record.PeerMember, command: "tarantool", pid: 400},
		"127.0.0.1:50002": {kind: record.PeerProcess, command: "cat", pid: 500},
		"127.0.0.1:50003": {kind: record.PeerAddress, address: "127.0.0.1:50003"}, // of a process that can't be seen
		"10.0.0.8:50004":  {kind: record.PeerAddress, address: "10.0.0.8"},
	} {
		p := peers{proc: proc, server: 100, self: 300}
		for range 2 {
			if got := p.of(ends{server, netip.MustParseAddrPort(address)}); got != want {
				t.Errorf("%s: %+v, want %+v", address, got, want)
			}
		}
	}
	seen := []record.UnreadPeer{{Kind: record.PeerAddress, Address: "10.0.0.8"},
		{Kind: record.PeerAddress, Address: "127.0.0.1:50003"}, {Kind: record.PeerAddress, Address: "10.0.0.9"},
		{Kind: record.PeerProcess, Address: "10.0.0.8"}}
	tellReplicas(seen, []string{"10.0.0.8", "127.0.0.1"})
	for i, want := range []string{record.PeerReplica, record.PeerReplica, record.PeerAddress, record.PeerProcess} {
		if seen[i].Kind != want {
			t.Errorf("%+v, want %s", seen[i], want)
		}
	}
	elsewhere := ends{server, netip.MustParseAddrPort("10.0.0.8:50004")}
	for name, p := range map[string]peers{"workers on other machines": {self: 300, remote: true},
		"no session of this process": {self: 301}} {
		p.proc, p.server = proc, 100
		if got := p.of(elsewhere); got.kind != record.PeerUnknown {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// peersText are the sockets of a server, 127.0.0.1:3301 (inode 1), and of its clients (10, 20, 30, 40), of which one
// listens itself (2).
const peersText = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0CE5 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:0CE6 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 0100007F:0CE5 0100007F:C350 01 002DC05F:00000000 01:00000014 00000000     0        0 3 1 0 100 0 0 10 0
   3: 0100007F:C350 0100007F:0CE5 01 00000000:002DC05F 01:00000014 00000000     0        0 10 1 0 100 0 0 10 0
   4: 0100007F:C351 0100007F:0CE5 01 00000000:002DC05F 01:00000014 00000000     0        0 20 1 0 100 0 0 10 0
   5: 0100007F:C352 0100007F:0CE5 01 00000000:002DC05F 01:00000014 00000000     0        0 30 1 0 100 0 0 10 0
   6: 0100007F:C353 0100007F:0CE5 01 00000000:002DC05F 01:00000014 00000000     0        0 40 1 0 100 0 0 10 0
`

// A table without the server's connections is read seldom while another one has them.
func TestEmptyTablesAreReadSeldom(t *testing.T) {
	proc := tree(t, map[string]string{"tcp": tcpText, "tcp6": tcp6Text})
	tables := []socketTable{{file: procFile{path: filepath.Join(proc, "tcp"), long: true}},
		{file: procFile{path: filepath.Join(proc, "tcp6"), long: true}}}
	var q queues
	var buffer []byte
	for k, want := range []int{4, 3, 2, 1, 0, 4} {
		q.look(tables, []uint16{6379}, &buffer, unknownPeer)
		if tables[0].left != 0 || tables[1].left != want || q.connections != 2*(k+1) {
			t.Errorf("look %d: %d and %d looks left, %d connections", k, tables[0].left, tables[1].left, q.connections)
		}
	}
	q.look(tables, []uint16{6380}, &buffer, unknownPeer)
	if tables[0].left != 0 || tables[1].left != 0 {
		t.Errorf("without connections: %d and %d looks left", tables[0].left, tables[1].left)
	}
}

func TestThrottledTime(t *testing.T) {
	for text, want := range map[string]uint64{
		"usage_usec 5\nnr_throttled 3\nthrottled_usec 77\n": 77,
		"nr_periods 1\nthrottled_time 5000\n":               5, "": 0,
	} {
		if got := parseThrottled([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// The figures are those of the trials that the rules come from; see docs/causes.md.
func TestTestsInOrder(t *testing.T) {
	thread := func(cpu, queue float64) []record.ThreadUse {
		return []record.ThreadUse{{Name: "tx", Number: 1, OnCPU: cpu, Queued: queue}}
	}
	for _, c := range []struct {
		name     string
		p        record.Process
		inFlight float64
		want     string
		says     string
	}{
		{"healthy", record.Process{OnCPU: .02, Queued: .01, Threads: thread(.02, .01)}, 0.2, "", ""},
		{"a busy machine", record.Process{OnCPU: .16, Queued: .65, OthersCPU: 1.8, Threads: thread(.1, .3)}, 0.5, "", ""},
		{"EVAL", record.Process{OnCPU: .62, Queued: .29, Threads: thread(.62, .29)}, 8, FindThread,
			"limited by one thread's CPU: `tx` 62.0 % on CPU, 29.0 % waiting for one"},
		{"collections", record.Process{OnCPU: .25, Queued: .55, OthersCPU: .1, Threads: thread(.21, .51)}, 8,
			FindThread, "tx"},
		{"unread", record.Process{UnreadShare: 1, UnreadLoadShare: 1, UnreadMaxB: 2998224, UnreadB: 2998224, OnCPU: .9,
			Threads: thread(.9, 0)}, 1, FindUnread, "2.86 MiB"},
		{"unread by a replica", record.Process{UnreadShare: 1, UnreadMaxB: 2998224, Unread: []record.UnreadPeer{
			{Kind: record.PeerMember, Command: "redis-server", PID: 12, Share: 1}}}, 1, FindUnread,
			"another `redis-server` (process 12)"},
		{"unread by a process", record.Process{UnreadShare: 1, UnreadMaxB: 2998224, Unread: []record.UnreadPeer{
			{Kind: record.PeerProcess, Command: "cat", PID: 12, Share: 1}}}, 1, FindUnread, "to `cat` (process 12)"},
		{"unread by a replica elsewhere", record.Process{UnreadShare: 1, UnreadMaxB: 2998224, Unread: []record.UnreadPeer{
			{Kind: record.PeerReplica, Address: "10.0.0.8", Share: 1}}}, 1, FindUnread, "the replica at 10.0.0.8"},
		{"unread by another machine", record.Process{UnreadShare: 1, UnreadMaxB: 2998224, Unread: []record.UnreadPeer{
			{Kind: record.PeerAddress, Address: "10.0.0.8", Share: 1}}}, 1, FindUnread, "a client at 10.0.0.8"},
		{"unread by a process, but one thread limits it", record.Process{UnreadShare: 1, UnreadMaxB: 2998224, OnCPU: .9,
			Threads: thread(.9, 0), Unread: []record.UnreadPeer{{Kind: record.PeerProcess, Share: 1}}}, 8, FindThread, ""},
		{"unread by a process and by the load", record.Process{UnreadShare: 1, UnreadLoadShare: .6, UnreadMaxB: 2998224,
			Unread: []record.UnreadPeer{{Kind: record.PeerProcess, Share: .7}, {Kind: record.PeerGenerator, Share: .6}}}, 1,
			FindUnread, "its answers stay unread"},
		{"disk", record.Process{DiskSeen: .08, InDisk: .08, OnCPU: .9, Threads: thread(.9, 0),
			Sleeps: []record.ThreadSleep{{Thread: "wal", For: "folio_wait_bit"}}}, 1, FindDisk, "`wal`, in `folio_wait_bit`"},
		{"few durable writes", record.Process{DiskSeen: .13, InDisk: .13, OnCPU: .1, Queued: .1, Threads: thread(.1, .1)}, .5,
			"", ""},
		{"a disk of a healthy server", record.Process{DiskSeen: .01, InDisk: .01}, 1, "", ""},
		{"quota", record.Process{ThrottleNs: 5e8, LengthNs: 1e9, OnCPU: .05}, 4, FindQuota, "50.0 %"},
		{"starved", record.Process{OnCPU: .14, Queued: 1.7, OthersCPU: 1.8, Threads: thread(.1, .4)}, 4, FindTaken,
			"1.80 of 2"},
		{"a starved thread", record.Process{OnCPU: .2, Queued: .7, OthersCPU: 1.8, Threads: thread(.2, .7)}, 4,
			FindTaken, ""},
		{"starved at a moderate load, with short requests", record.Process{OnCPU: .258, Queued: .931, OthersCPU: 1.833,
			DiskBusy: .001, Threads: thread(.076, .249)}, .67, FindTaken, "1.83 of 2"},
		{"starved, waiting for a disk that does nothing", starvedEtcd(.036), 5.44, FindTaken, "busy for 3.60 %"},
		{"waiting for a busy disk on a full machine", starvedEtcd(.7), 5.44, FindDisk, "92.8 %"},
		{"waiting for a disk that isn't known on a full machine", starvedEtcd(-1), 5.44, FindDisk, "92.8 %"},
		{"waiting longer for a core than for a disk", record.Process{OnCPU: .08, Queued: 1.56, OthersCPU: 2.25, InDisk: .213,
			DiskSeen: .2, DiskBusy: .45, Threads: thread(.01, .38)}, 5, FindTaken, "1.56"},
		{"a disk on a full machine", record.Process{OnCPU: .66, Queued: .81, OthersCPU: 1.37, InDisk: 1.95, DiskSeen: .857,
			DiskBusy: .882, Threads: thread(.08, .08)}, 4, FindDisk, "85.7 %"},
		{"a disk of another machine", record.Process{OnCPU: .1, OthersCPU: .3, InDisk: .9, DiskSeen: .9, DiskBusy: .01,
			Threads: thread(.1, 0)}, 4, FindDisk, "90.0 %"},
		{"MariaDB", record.Process{OnCPU: .69, Queued: 3.29, OthersCPU: .5, Threads: thread(.2, .8)}, 4, FindCores, "3.29"},
		{"all cores", record.Process{OnCPU: 1.9, Queued: 1.1, OthersCPU: .1, Threads: thread(.5, .4)}, 4, FindCores, ""},
		{"all cores, and a runtime with as many threads",
			record.Process{OnCPU: 1.95, Queued: .18, Threads: thread(.5, .05)}, 16, FindCores, "1.95"},
		{"all cores, with the generator", record.Process{OnCPU: 1.55, Queued: .4, OthersCPU: .4, Threads: thread(.4, .1)},
			16, FindCores, "1.55"},
		{"as much as it takes, on a full machine",
			record.Process{OnCPU: 1.1, Queued: .2, OthersCPU: .8, Threads: thread(.3, .05)}, 1.4, "", ""},
		{"starved, with few threads", record.Process{OnCPU: .4, Queued: .6, OthersCPU: 1.6, Threads: thread(.2, .2)}, 2,
			FindTaken, "1.60 of 2"},
		{"a full machine, but requests wait elsewhere",
			record.Process{OnCPU: .1, Queued: .15, OthersCPU: 1.9, Threads: thread(.03, .05)}, 8, FindWaits, ""},
		{"half of the cores", record.Process{OnCPU: 1, Queued: .1, Threads: thread(.3, .05)}, 16, FindWaits,
			"1.00 of its threads"},
		{"a lock", record.Process{OnCPU: .06, Queued: .16, Threads: thread(.06, .16)}, 4.2, FindWaits, "4.20"},
		{"one slow request", record.Process{OnCPU: .06, Queued: .16, Threads: thread(.06, .16)}, 1, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.p.Samples, c.p.Cores, c.p.LengthNs = 300, 2, 1e9
			c.p.Command = "server"
			got, text := "", ""
			if all := judge(&c.p, c.inFlight); len(all) > 0 {
				got, text = all[0].ID, all[0].Evidence.String()
				if faults := message.Faults([]message.Message{all[0].Evidence, all[0].Advice}); len(faults) > 0 {
					t.Errorf("faults %q", faults)
				}
			}
			if got != c.want || !strings.Contains(text, c.says) {
				t.Errorf("%q: %s, want %q: %s", got, text, c.want, c.says)
			}
			c.p.Samples = leastSamples - 1
			if all := judge(&c.p, c.inFlight); len(all) > 0 {
				t.Errorf("few samples: %+v", all)
			}
		})
	}
}

// starvedEtcd is an etcd that was starved by six other processes, while the disk had a request under way for a part of
// the time.
func starvedEtcd(busy float64) record.Process {
	return record.Process{OnCPU: .0143, Queued: .0624, InDisk: 1.047, DiskSeen: .928, DiskBusy: busy, OthersCPU: 2.007,
		Threads: []record.ThreadUse{{Name: "etcd", OnCPU: .0027, Queued: .01}}}
}

// A finding of a server that blames the disk is a hint if others have the cores of the server's process.
func TestStarvedServersDontBlameTheDisk(t *testing.T) {
	const address = "127.0.0.1:2379"
	for _, c := range []struct {
		name, id, blames, source, subject string
		want                              string
	}{
		{"a starved member", FindTaken, record.TimeDisk, "etcd 10.0.0.1:2379,127.0.0.1:2379", address, record.Minor},
		{"a starved server", FindTaken, record.TimeDisk, "mysql 127.0.0.1:2379/shop", "COMMIT", record.Minor},
		{"another server", FindTaken, record.TimeDisk, "mysql 127.0.0.1:23790", "COMMIT", record.Critical},
		{"another finding", FindTaken, "", "mysql " + address, "COMMIT", record.Critical},
		{"a server with a slow disk", FindDisk, record.TimeDisk, "mysql " + address, "COMMIT", record.Critical},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := record.Run{Processes: []record.Process{{Source: address, Findings: []record.Finding{{ID: c.id}}}},
				Inspections: []record.Inspection{{Source: c.source, Findings: []record.Finding{{ID: "slow", Blames: c.blames,
					Severity: record.Critical, Subject: c.subject}}}}}
			Settle(&run)
			if got := run.Inspections[0].Findings[0].Severity; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// Partitions and the disk that they are on have the same requests; memory has none.
func TestDisksAreObserved(t *testing.T) {
	const before = "   7       0 loop0 9 9 9 9 9 9 9 9 9 9 9\n" +
		" 254       0 vda 10 0 100 5 20 0 200 5 0 1000 10 0 0 0 0 0 0\n" +
		" 254       1 vda1 10 0 100 5 20 0 200 5 0 1000 10 0 0 0 0 0 0\n 253       0 zram0 1 0 8 0 9 0 8 0 0 7 0\n"
	proc := tree(t, recorded())
	o := newObserved(Target{Source: "x", PID: 100}, proc, proc)
	defer o.end()
	of := func(text string) machine { return machine{disks: parseDisks([]byte(text))} }
	o.count()
	o.others(of(before))
	o.close(false, time.Second, 0)
	o.sample()
	o.others(of(strings.ReplaceAll(before, " 200 5 0 1000 ", " 280 9 0 1250 ")))
	o.close(true, time.Second, 0)
	if p := o.record(); p.DiskBusy != 0.25 {
		t.Errorf("busy for %v", p.DiskBusy)
	}
	o.sum.written = 1 << 20 // to a disk elsewhere
	if p := o.record(); p.DiskBusy != -1 {
		t.Errorf("busy for %v, though it wrote elsewhere", p.DiskBusy)
	}
}

// Threads of lowered priority don't have the cores: brunt's own keep them awake.
func TestLoweredPriorityIsLeftOut(t *testing.T) {
	busy, stolen := busyTicks([]byte("cpu  100 3600 40 5309 122 1 2 7 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"))
	if busy != 143 || stolen != 7 {
		t.Errorf("busy %d, stolen %d", busy, stolen)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{tcpText, tcp6Text, unixText, statText("D", "1"), "1 2 3\n", "read_bytes: 5\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		data := []byte(text)
		parseStat(data)
		stateOf(data)
		parseSchedstat(data)
		parseIO(data)
		parseThrottled(data)
		busyTicks(data)
		parseDisks(data)
		parseListeners(strings.NewReader(text))
		parseUnix(strings.NewReader(text))
		connected(data, func(ends, string) {})
		var q tcpQueues
		if q.parse(data, []uint16{6379}); q.connections < len(q.full) {
			t.Errorf("%+v", q)
		}
	})
}
