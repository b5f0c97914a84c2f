package process

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/measure"
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

// seen observes a server until a condition holds, and for as many samples as are needed.
func seen(t *testing.T, address string, pid int, until func(o *observed) bool) []string {
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
	var ids []string
	for _, f := range judge(&p, 0) {
		ids = append(ids, f.ID)
	}
	return ids
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
	looks := 0
	got := seen(t, address, pid, func(o *observed) bool {
		if o.now.unread.full == 0 { // not yet full
			o.now.unread = queues{}
		}
		looks++
		return o.now.unread.full >= leastLooks
	})
	if !slices.Equal(got, []string{FindUnread}) {
		t.Errorf("%v after %d looks", got, looks)
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
