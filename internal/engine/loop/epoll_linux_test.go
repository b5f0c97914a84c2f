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
	}{
		{"as long as an event is usually waited for", false, idleNs},
		{"shorter", false, idleNs / 4},
		{"longer", false, 2 * idleNs},
		{"without epoll_pwait2", true, idleNs},
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
				if n, errno := p.wait(now(), c.ns); n != 0 || errno != 0 {
					t.Errorf("%d events, error %d: nothing has happened but that time passed", n, errno)
				}
			}
			p.ring()
			n, errno := p.wait(now(), c.ns)
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
	const long = 10 * idleNs
	for i := range 2 * quickAfter {
		want := int64(long)
		if i >= quickAfter {
			want = idleNs
		}
		if got := th.wait(long); got != want {
			t.Errorf("after %d short sleeps: %d ns, want %d", i, got, want)
		}
		if got := th.wait(idleNs / 2); got != idleNs/2 {
			t.Errorf("after %d short sleeps, the next %d ns, want %d", i, got, idleNs/2)
		}
		th.slept(idleNs / 4)
	}
	if th.slept(idleNs); th.wait(long) != long {
		t.Error("after a long sleep the next one is short")
	}
}
