package loop

import (
	"testing"
	"time"
)

func TestWaitsEnd(t *testing.T) {
	for _, c := range []struct {
		name      string
		timerOnly bool
		ns        int64
		long      bool
	}{
		{"as long as an event is usually waited for", false, idleNs, false},
		{"shorter", false, idleNs / 4, false},
		{"longer", false, 2 * idleNs, false},
		{"in an ordinary system call", false, 2 * idleNs, true},
		{"without epoll_pwait2", true, idleNs, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := newPoller()
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			p.timerOnly = c.timerOnly
			start := time.Now()
			now := func() int64 { return int64(time.Since(start)) }
			for range 3 { // the timer is set again each time
				if n, errno := p.wait(now(), c.ns, c.long); n != 0 || errno != 0 {
					t.Errorf("%d events, error %d: nothing has happened but that time passed", n, errno)
				}
			}
			p.ring()
			n, errno := p.wait(now(), c.ns, c.long)
			for range n {
				if p.events[n-1].Fd == wakeupToken {
					break
				}
				n--
			}
			if n == 0 || errno != 0 {
				t.Errorf("the wakeup isn't among the events (error %d)", errno)
			}
			p.resetWakeup()
		})
	}
}

// A loop of few events sleeps as long as it may. One whose events come quickly wakes before, since its waits have no
// timeouts of their own.
func TestSleepsAreShortWhileEventsComeQuickly(t *testing.T) {
	var th thread
	const longest = 10 * idleNs
	check := func(what string, open bool, wantNs int64, wantLong bool) {
		t.Helper()
		if ns, long := th.wait(longest, open); ns != wantNs || long != wantLong {
			t.Errorf("%s: %d ns, long %t; want %d, %t", what, ns, long, wantNs, wantLong)
		}
		if ns, long := th.wait(idleNs/2, open); ns != idleNs/2 || long {
			t.Errorf("%s, for a short time: %d ns, long %t", what, ns, long)
		}
	}
	for range quickAfter {
		check("few events, closed", false, longest, false)
		check("few events, open", true, idleNs, false)
		th.slept(idleNs/4, 1)
	}
	check("events come quickly, closed", false, idleNs, false)
	th.slept(idleNs, 0)
	check("nothing has happened, closed", false, longest, false)
	check("nothing has happened, open", true, longest, true)
}
