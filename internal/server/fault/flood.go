package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/internal/server/target"
)

const (
	// floodTimeout is how long opening one connection of a flood may take.
	floodTimeout = 5 * time.Second
	// floodAtOnce is how many connections are opened to an address at the same time, if no rate is set.
	floodAtOnce = 16
)

// opener opens one connection of a flood.
type opener func(context.Context) (io.Closer, error)

// openers returns how to open connections to addresses. To an address of the target that is a session, as the load's
// are: servers count and limit sessions, and soon end connections that don't log in.
func (c *Executor) openers(addresses []string) (all []opener, err error) {
	p := c.o.Plan
	own, _ := p.Target.Weighted()
	var targets []protocol.Target
	if len(own) > 0 {
		if targets, err = target.Targets(p); err != nil {
			return nil, err
		}
	}
	d := protocols.Of(p.Target.Protocol)
	for _, a := range addresses {
		at := slices.Index(own, a)
		if at < 0 || at >= len(targets) || d.Open == nil || d.Embedded {
			all = append(all, func(ctx context.Context) (io.Closer, error) {
				return (&net.Dialer{Timeout: floodTimeout}).DialContext(ctx, "tcp", a)
			})
			continue
		}
		driver, to := d.Open(), targets[at]
		to.ConnectTimeout = floodTimeout
		all = append(all, func(ctx context.Context) (io.Closer, error) {
			return driver.Dial(ctx, to, &protocol.Program{})
		})
	}
	return all, nil
}

func (c *Executor) floodAction(f *plan.Fault, number int) (*action, error) {
	at := c.picked(f, number, f.Flood.Addresses)
	open, err := c.openers(at)
	if err != nil {
		return nil, err
	}
	own, _ := c.o.Plan.Target.Weighted()
	var held []io.Closer
	var first error
	d := &action{target: strings.Join(at, ", ")}
	for _, a := range at {
		if slices.Contains(own, a) {
			d.addresses = append(d.addresses, a)
		}
	}
	d.told = func() string {
		text := fmt.Sprintf("%s (%d of %d connections)", d.target, len(held), len(at)*f.Flood.Connections)
		if first != nil && !errors.Is(first, context.Canceled) {
			text += ": " + said([]byte(first.Error()))
		}
		return text
	}
	d.inject = func(ctx context.Context) error {
		var mu sync.Mutex
		var wait sync.WaitGroup
		for i := range at {
			wait.Go(func() {
				err := flood(ctx, &f.Flood, open[i], func(one io.Closer) {
					mu.Lock()
					defer mu.Unlock()
					held = append(held, one)
				})
				mu.Lock()
				defer mu.Unlock()
				first = cmp.Or(first, err)
			})
		}
		wait.Wait()
		if len(held) == 0 {
			return first
		}
		return nil
	}
	d.heal = func(context.Context) error {
		for _, one := range held {
			_ = one.Close()
		}
		return nil
	}
	return d, nil
}

// flood opens f.Connections connections, at f.PerS per second if that is set, and passes each to keep, which must be
// safe for concurrent use. It stops when ctx ends or no connection can be opened any more, and returns the last error.
func flood(ctx context.Context, f *plan.FloodFault, open opener, keep func(io.Closer)) (last error) {
	begin := time.Now()
	numbers, over := make(chan int), make(chan error)
	workers := min(f.Connections, floodAtOnce)
	for range workers {
		go func() {
			for range numbers {
				one, err := open(ctx)
				if err != nil {
					over <- err
					return
				}
				keep(one)
			}
			over <- nil
		}()
	}
	left := workers
	for n := 0; n < f.Connections && left > 0; n++ {
		if f.PerS > 0 && !protocol.Sleep(ctx, time.Until(begin.Add(time.Duration(float64(n)/f.PerS*1e9)))) {
			last = ctx.Err()
			break
		}
		select {
		case numbers <- n:
		case last = <-over: // one gives up; the others may find room
			left--
		}
	}
	close(numbers)
	for ; left > 0; left-- {
		last = cmp.Or(<-over, last)
	}
	return last
}
