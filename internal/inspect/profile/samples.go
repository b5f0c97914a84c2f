package profile

import (
	"strings"
	"time"

	"brunt/internal/inspect/profile/flight"
	"brunt/internal/inspect/profile/hotspot"
)

// samples are those of a flight recording, counted by stack.
type samples struct {
	stacks map[string]*stackCount
	native map[int64]int // by thread, over the whole recording, as are
	java   map[int64]int
}

// stackCount is how often a stack was seen during the load, by thread for native code.
type stackCount struct {
	stack  []string
	java   int
	native map[int64]int
}

func newSamples() *samples {
	return &samples{map[string]*stackCount{}, map[int64]int{}, map[int64]int{}}
}

// waits are native methods of the JDK and Netty in which threads wait, so that samples of them say nothing about
// processor time.
var waits = map[string]bool{
	"sun.nio.ch.EPoll.wait": true, "sun.nio.ch.EPollArrayWrapper.epollWait": true, "sun.nio.ch.Net.poll": true,
	"sun.nio.ch.Net.accept": true, "sun.nio.ch.UnixDomainSockets.accept0": true,
	"java.net.PlainSocketImpl.socketAccept": true, "java.net.SocketInputStream.socketRead0": true,
	"jdk.internal.misc.Unsafe.park": true, "java.lang.Object.wait": true, "java.lang.Object.wait0": true,
	"java.lang.Thread.sleep": true, "java.lang.Thread.sleep0": true, "java.lang.Thread.sleepNanos0": true,
	"java.lang.ProcessHandleImpl.waitForProcessExit0":         true,
	"java.lang.ref.Reference.waitForReferencePendingList":     true,
	"sun.nio.fs.LinuxWatchService.poll":                       true,
	"io.netty.channel.epoll.Native.epollWait":                 true,
	"io.netty.channel.epoll.Native.epollWait0":                true,
	"io.netty.channel.epoll.Native.epollBusyWait0":            true,
	"io.netty.channel.uring.Native.ioUringEnter":              true,
	"sun.net.dns.ResolverConfigurationImpl.notifyAddrChange0": true,
}

// add counts a sample. measured says that the load was under way, without warm-up.
func (a *samples) add(s flight.Sample, measured bool) {
	if len(s.Stack) == 0 || s.Native && waits[s.Stack[0]] {
		return
	}
	if s.Native {
		a.native[s.Thread]++
	} else {
		a.java[s.Thread]++
	}
	if !measured {
		return
	}
	key := strings.Join(s.Stack, "\n")
	c := a.stacks[key]
	if c == nil {
		c = &stackCount{stack: s.Stack, native: map[int64]int{}}
		a.stacks[key] = c
	}
	if s.Native {
		c.native[s.Thread]++
	} else {
		c.java++
	}
}

// tally returns the time of methods. threads is the processor time of each thread during the recording.
//
// A sample of Java code stands for a period of processor time. One of native code may be a wait: those of a thread
// together stand for no more than the processor time that its Java code hasn't had.
func (a *samples) tally(threads map[int64]time.Duration) *tally {
	t := newTally()
	for _, c := range a.stacks {
		spent := float64(c.java) * float64(hotspot.Period)
		for id, n := range c.native {
			left := threads[id] - hotspot.Period*time.Duration(a.java[id])
			spent += float64(n) / float64(a.native[id]) * float64(min(max(left, 0), hotspot.Period*time.Duration(a.native[id])))
		}
		if spent > 0 {
			t.add(c.stack, spent)
		}
	}
	return t
}
