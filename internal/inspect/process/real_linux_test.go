package process

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// spun is how often the process that computes went round.
var spun atomic.Uint64

// helperVariable makes the test's program a server of some kind.
const helperVariable = "BRUNT_PROCESS_HELPER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(helperVariable); kind != "" {
		serve(kind)
		return
	}
	os.Exit(m.Run())
}

// serve prints its address and answers each connection with 16 MB; "spin" computes besides.
func serve(kind string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	if kind == "spin" {
		go func() {
			runtime.LockOSThread()
			for n := uint64(0); ; n++ {
				spun.Store(n)
			}
		}()
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go c.Write(make([]byte, 16<<20))
	}
}

// helper starts a server and returns its address and process.
func helper(t *testing.T, kind string) (address string, pid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"="+kind)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line[:len(line)-1], cmd.Process.Pid
}

// seen observes a server until a condition holds, and for as many samples as are needed, and returns what is found.
func seen(t *testing.T, address string, pid int, until func(o *observed) bool) (ids []string) {
	t.Helper()
	p := watched(t, address, pid, until)
	for _, f := range judge(&p, 0) {
		ids = append(ids, f.ID)
	}
	return ids
}

func watched(t *testing.T, address string, pid int, until func(o *observed) bool) record.Process {
	t.Helper()
	all := Find([]string{address})
	if len(all) != 1 || all[0].PID != pid {
		t.Fatalf("%s is served by process %d: %+v", address, pid, all)
	}
	o := newObserved(all[0], procFolder, "/")
	defer o.end()
	o.count()
	o.others(machineNow())
	began := time.Now()
	for !until(o) {
		o.sample()
		o.count()
	}
	o.others(machineNow())
	for range leastSamples {
		o.sample()
	}
	o.count()
	o.close(true, time.Since(began), 0)
	p := o.record()
	t.Logf("%+v", p)
	return p
}

// A thread that computes all the time is found. If other processes have the cores, it is said that they do.
func TestThreadThatComputes(t *testing.T) {
	address, pid := helper(t, "spin")
	const enough = 300e6 // ns on a CPU
	got := seen(t, address, pid, func(o *observed) bool { return o.now.cpuNs > enough })
	if len(got) != 1 || !slices.Contains([]string{FindThread, FindTaken}, got[0]) {
		t.Errorf("%v", got)
	}
}

func TestClientThatDoesNotRead(t *testing.T) {
	address, pid := helper(t, "serve")
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := seen(t, address, pid, unread5()); !slices.Equal(got, []string{FindUnread}) {
		t.Errorf("%v", got)
	}
}

// unread5 holds when connections were full in enough looks, one after another.
func unread5() func(o *observed) bool {
	return func(o *observed) bool {
		if o.now.unread.full == 0 { // not yet full
			o.now.unread = queues{}
		}
		return o.now.unread.full >= leastLooks
	}
}

// What a replica that stands still doesn't read isn't blamed on the load.
func TestReplicaThatStandsStill(t *testing.T) {
	testserver.SkipQuick(t)
	primary, replica := testserver.Redis(t), testserver.Redis(t)
	ask := func(at *testserver.Server, words string, until string) {
		t.Helper()
		c, err := net.Dial("tcp", at.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		in := bufio.NewReader(c)
		for end := time.Now().Add(time.Minute); ; {
			if _, err := c.Write([]byte(words + "\r\n")); err != nil {
				t.Fatal(err)
			}
			line, err := in.ReadString('\n')
			if err == nil && line[0] == '$' {
				length, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
				text := make([]byte, length+2)
				_, err = io.ReadFull(in, text)
				line = string(text)
			}
			if strings.Contains(line, until) {
				return
			}
			if err != nil || time.Now().After(end) {
				t.Fatalf("%s: %s, %v", words, line, err)
			}
		}
	}
	ask(replica, fmt.Sprintf("REPLICAOF %s %d", primary.Host, primary.Port), "OK")
	ask(primary, "INFO replication", "state=online")
	if err := syscall.Kill(replica.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(replica.PID, syscall.SIGCONT)
	for range 16 { // more than what the kernel keeps for both sides
		ask(primary, `EVAL "return redis.call('SET','k',string.rep('x',1000000))" 0`, "OK")
	}
	p := watched(t, primary.Addr, primary.PID, unread5())
	found := judge(&p, 0)
	if len(found) != 1 || found[0].ID != FindUnread || found[0].Severity != record.Minor || p.UnreadLoadShare > 0 ||
		p.Unread[0].Kind != record.PeerMember || p.Unread[0].PID != replica.PID {
		t.Errorf("%+v, %+v", found, p.Unread)
	}
}

func TestIdleServerIsSilent(t *testing.T) {
	address, pid := helper(t, "serve")
	if got := seen(t, address, pid, func(o *observed) bool { return o.now.samples > leastSamples }); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

// A watch of a load returns what it saw in the intervals without warm-up.
func TestWatch(t *testing.T) {
	address, pid := helper(t, "spin")
	w := New()
	w.Start(append(Find([]string{address}), Target{Source: "pid:x", PID: pid}))
	for _, warm := range []bool{true, false, false} {
		iv := measure.Interval{WarmUp: warm}
		iv.EndNs = 1e9
		if err := w.Interval(&iv); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range w.Finish() {
		if o.PID != pid || o.LengthNs != 2e9 || len(o.Threads) == 0 {
			t.Errorf("%+v", o)
		}
	}
	if again := w.Finish(); len(again) > 0 {
		t.Errorf("again: %+v", again)
	}
	if t, ok := Named("tree:12"); !ok || t.PID != 12 {
		panic("tree:12 isn't a process")
	}
	for _, text := range []string{"pid:x", "pid:0", "url:http://x", "host", "pid"} {
		if _, ok := Named(text); ok {
			t.Errorf("%s names a process", text)
		}
	}
}
