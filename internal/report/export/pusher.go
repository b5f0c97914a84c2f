package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	bufferBytes    = 32 << 20 // limit of the points that wait for one destination
	batchPoints    = 60       // most intervals in one request
	requestTimeout = 10 * time.Second
	flushTimeout   = 5 * time.Second // at the end of the run, for all destinations together
	firstPause     = 500 * time.Millisecond
	longestPause   = 30 * time.Second
)

// destination is a server that accepts intervals, and its format.
type destination interface {
	// name returns the kind and host, without secrets.
	name() string
	// encode returns the body of a request that sends points. before is the sum of all earlier points; formats with
	// running totals add the points to it.
	encode(n *names, points []*point, before *point) ([]byte, error)
	// request returns the HTTP request that sends a body.
	request(ctx context.Context, body []byte) (*http.Request, error)
	// accepted checks the body of a successful answer.
	accepted(body []byte) error
}

// transfer counts the intervals of a destination.
type transfer struct {
	name                string
	sent, lost, waiting uint64
	reason              string // for the last failure
}

// pusher sends points to one destination from a separate goroutine. Points wait in a queue of bounded size. When it
// is full, the oldest points are dropped and only their sums are kept, so that running totals stay correct.
type pusher struct {
	to     destination
	client *http.Client
	names  atomic.Pointer[names] // nil until start
	bound  int
	pause  func(attempt int) time.Duration

	mu      sync.Mutex // only held briefly, since Interval takes it
	queue   []*point
	bytes   int
	dropped *point
	state   transfer
	closing bool

	wake   chan struct{}
	done   chan struct{}
	cancel context.CancelFunc
	before *point // sum of all points taken from the queue; only the goroutine uses it
}

func newPusher(to destination, client *http.Client) *pusher {
	return &pusher{
		to: to, client: client, bound: bufferBytes, pause: backoff,
		state: transfer{name: to.name()}, before: &point{}, wake: make(chan struct{}, 1), done: make(chan struct{}),
		cancel: func() {},
	}
}

// backoff returns how long to wait after a failed attempt (from 1): 0.5 s, doubled with each attempt up to 30 s,
// minus a random part of up to half.
func backoff(attempt int) time.Duration {
	d := min(firstPause<<min(attempt-1, 10), longestPause)
	return d - time.Duration(rand.Int64N(int64(d/2)))
}

func (p *pusher) start(n *names) {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.names.Store(n)
	go func() {
		defer close(p.done)
		p.run(ctx)
	}()
}

// add queues a point. It never waits for the network.
func (p *pusher) add(pt *point) {
	p.mu.Lock()
	p.queue = append(p.queue, pt)
	p.bytes += pt.bytes()
	for p.bytes > p.bound && len(p.queue) > 1 {
		oldest := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		p.bytes -= oldest.bytes()
		p.state.lost++
		if p.dropped == nil {
			p.dropped = &point{}
		}
		p.dropped.add(oldest)
	}
	p.mu.Unlock()
	p.wakeUp()
}

func (p *pusher) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// take removes the next batch from the queue. more is false if the queue is empty and nothing will be added.
func (p *pusher) take() (batch []*point, more bool) {
	p.mu.Lock()
	n := min(len(p.queue), batchPoints)
	batch = slices.Clone(p.queue[:n])
	p.queue = slices.Delete(p.queue, 0, n)
	for _, pt := range batch {
		p.bytes -= pt.bytes()
	}
	dropped := p.dropped
	p.dropped = nil
	more = n > 0 || !p.closing
	p.mu.Unlock()
	if dropped != nil {
		p.before.add(dropped)
	}
	return batch, more
}

func (p *pusher) run(ctx context.Context) {
	for ctx.Err() == nil {
		batch, more := p.take()
		if len(batch) > 0 {
			p.send(ctx, batch)
			continue
		}
		if !more {
			return
		}
		select {
		case <-p.wake:
		case <-ctx.Done():
		}
	}
}

// send delivers a batch. It retries until ctx ends, unless the destination refuses the batch. Undelivered points
// are counted as lost.
func (p *pusher) send(ctx context.Context, batch []*point) {
	p.setWaiting(len(batch))
	defer p.setWaiting(0)
	body, err := p.to.encode(p.names.Load(), batch, p.before)
	if err != nil {
		p.lose(ctx, len(batch), err)
		return
	}
	for attempt := 1; ; attempt++ {
		again, err := p.post(ctx, body)
		switch {
		case err == nil:
			p.mu.Lock()
			p.state.sent += uint64(len(batch))
			p.mu.Unlock()
			return
		case !again || ctx.Err() != nil:
			p.lose(ctx, len(batch), err)
			return
		}
		p.mu.Lock()
		p.state.reason = err.Error()
		p.mu.Unlock()
		p.rest(ctx, attempt)
	}
}

// rest waits before the next attempt. At the end of the run it waits for at most firstPause.
func (p *pusher) rest(ctx context.Context, attempt int) {
	wait := p.pause(attempt)
	if p.ending() {
		wait = min(wait, firstPause)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-p.wake:
			if p.ending() {
				timer.Reset(min(p.pause(1), firstPause))
			}
		}
	}
}

func (p *pusher) ending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closing
}

// post makes one attempt. again reports whether a further attempt may succeed.
func (p *pusher) post(ctx context.Context, body []byte) (again bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := p.to.request(bounded, body)
	if err != nil {
		return false, errors.New("not a usable address")
	}
	answer, err := p.client.Do(request)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address, which may contain a password
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %v", requestTimeout)
		}
		return true, err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	switch code := answer.StatusCode; {
	case code/100 == 2:
		return false, p.to.accepted(text)
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return true, fmt.Errorf("it answered %s: %s", answer.Status, short(text))
	default:
		return false, fmt.Errorf("it answered %s: %s", answer.Status, short(text))
	}
}

// short returns the beginning of an answer, on one line.
func short(text []byte) string {
	const most = 200
	if len(text) > most {
		text = text[:most]
	}
	out := []byte{}
	for _, c := range text {
		if c < ' ' || c == 0x7f {
			c = ' '
		}
		out = append(out, c)
	}
	return string(out)
}

// lose counts n intervals as lost. If sending was ended by ctx, an earlier reason is kept, since it tells more.
func (p *pusher) lose(ctx context.Context, n int, err error) {
	p.mu.Lock()
	p.state.lost += uint64(n)
	switch {
	case ctx.Err() == nil:
		p.state.reason = err.Error()
	case p.state.reason == "":
		p.state.reason = noAnswer
	}
	p.mu.Unlock()
}

func (p *pusher) setWaiting(n int) {
	p.mu.Lock()
	p.state.waiting = uint64(n)
	p.mu.Unlock()
}

// transfer returns the current counts.
func (p *pusher) transfer() transfer {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.state
	t.waiting += uint64(len(p.queue))
	return t
}

// finish waits until the goroutine has sent the queued points or ctx ends. What is left then is counted as lost.
func (p *pusher) finish(ctx context.Context) {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	p.wakeUp()
	select {
	case <-p.done:
	case <-ctx.Done():
		p.cancel()
		<-p.done
	}
	p.cancel()
	p.mu.Lock()
	p.state.lost += uint64(len(p.queue))
	p.queue = nil
	p.mu.Unlock()
}

// endpoint is the address of a destination and the headers of its requests. It implements the methods of
// destination that are the same for all kinds.
type endpoint struct {
	shown   string
	target  string
	user    *url.Userinfo
	headers []label // override that of user
}

// newEndpoint returns the endpoint at an address. path is the default path.
func newEndpoint(kind string, u *url.URL, path string) endpoint {
	at := *u
	at.User = nil
	if at.Path == "" || at.Path == "/" {
		at.Path = path
	}
	return endpoint{shown: kind + " " + u.Host, target: at.String(), user: u.User}
}

func (e *endpoint) name() string { return e.shown }

func (e *endpoint) request(ctx context.Context, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if e.user != nil {
		password, _ := e.user.Password()
		r.SetBasicAuth(e.user.Username(), password)
	}
	for _, h := range e.headers {
		r.Header.Set(h.name, h.value)
	}
	return r, nil
}

func (*endpoint) accepted([]byte) error { return nil }

// noAnswer is the reason for losing intervals that were being sent when the time for sending ended.
const noAnswer = "no answer before the end"
