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
