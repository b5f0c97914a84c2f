package live

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/internal/report"
	"brunt/test/testserver"
)

// serve starts the page of a generated run. feed sends it the interval of a second.
func serve(t *testing.T, address string, stop func()) (s *Server, feed func(second int)) {
	t.Helper()
	s, err := Listen(address, Options{Stop: stop})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Log(err)
		}
	})
	run := recordtest.Base()
	s.Start(run)
	return s, func(second int) {
		recordtest.Load(s, run, "hold", second, recordtest.Shape{Seconds: 1, PerS: 200, ServiceNs: 300e3, LagNs: 8e3,
			Health: recordtest.Healthy})
	}
}

// streaming makes streams of two messages of all answers.
type streaming struct{ *Server }

func (s streaming) Interval(iv *measure.Interval) error {
	for i := range iv.Operations {
		o := &iv.Operations[i]
		o.Streams, o.StreamMessages = o.Done, 2*o.Done
		o.StreamFirst, o.StreamBetween = measure.NewHistogram(), measure.NewHistogram()
		for range o.Done {
			o.StreamFirst.Record(2e6)
			o.StreamBetween.Record(1e6)
		}
	}
	return s.Server.Interval(iv)
}

func get(t *testing.T, url string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// stream follows the events at a URL and returns a channel with the data of each slot.
func stream(t *testing.T, ctx context.Context, url string) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan string, 1000)
	go func() {
		defer close(out)
		defer answer.Body.Close()
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				out <- data
			}
		}
	}()
	return out
}

func TestIntervalsReachAllWhoFollow(t *testing.T) {
	s, feed := serve(t, "127.0.0.1:0", nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	const browsers = 100
	var all []<-chan string
	for range browsers {
		all = append(all, stream(t, ctx, s.URL()))
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		n := len(s.readers)
		s.mu.Unlock()
		if n == browsers {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d browsers follow", n)
		}
	}
	feed(0)
	for _, events := range all {
		var m struct {
			Columns struct{ Rate []float64 }
			Head    string
			Tables  string
		}
		for len(m.Columns.Rate) == 0 { // a browser that connected earlier receives the interval
			if err := json.Unmarshal([]byte(<-events), &m); err != nil {
				t.Fatal(err)
			}
		}
		if len(m.Columns.Rate) != 1 || m.Columns.Rate[0] != 200 || !strings.Contains(m.Head, "UNDER WAY") ||
			!strings.Contains(m.Tables, "insert car") {
			t.Fatalf("%+v", m)
		}
	}
}

// A browser that doesn't read is disconnected, and the load never waits for it.
func TestSlowReadersAreDropped(t *testing.T) {
	s, feed := serve(t, "127.0.0.1:0", nil)
	slow, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if err := slow.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(slow, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	readers := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.readers)
	}
	for deadline := time.Now().Add(5 * time.Minute); readers() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the browser doesn't follow")
		}
	}
	event := []byte("data: " + strings.Repeat("x", 1<<20) + "\n\n")
	for range 200 {
		s.tell(event)
		if readers() == 0 {
			feed(0)
			return
		}
	}
	t.Error("a browser that reads nothing is still followed")
}

func TestWhoMayAsk(t *testing.T) {
	stopped := make(chan struct{}, 2)
	s, feed := serve(t, "127.0.0.1:0", func() { stopped <- struct{}{} })
	feed(0)
	if code, body := get(t, s.URL()); code != http.StatusOK || !strings.Contains(body, "connect-src 'self'") {
		t.Errorf("the page: %d", code)
	}
	if code, _ := get(t, s.URL(), "Host", "evil.example"); code != http.StatusForbidden {
		t.Errorf("under another site's name: %d", code)
	}
	for token, want := range map[string]int{"": http.StatusForbidden, "guess": http.StatusForbidden,
		s.token: http.StatusAccepted} {
		req, err := http.NewRequest(http.MethodPost, s.URL()+"stop", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Brunt-Token", token)
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("stopping with token %q: %d, want %d", token, answer.StatusCode, want)
		}
	}
	<-stopped
	open, _ := serve(t, "0.0.0.0:0", nil)
	_, port, _ := net.SplitHostPort(open.listener.Addr().String())
	at := "http://127.0.0.1:" + port + "/"
	if code, _ := get(t, at); code != http.StatusForbidden {
		t.Errorf("beyond loopback without a token: %d", code)
	}
	if code, _ := get(t, at+"?token="+open.token); code != http.StatusOK || !strings.Contains(open.URL(), open.token) {
		t.Errorf("beyond loopback with its token: %d", code)
	}
}

// The printed URL can be opened, also if the page listens on all addresses of the machine.
func TestTheAddressCanBeOpened(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0", ":0"} {
		t.Run(address, func(t *testing.T) {
			s, feed := serve(t, address, nil)
			feed(0)
			if strings.Contains(s.URL(), "//0.0.0.0:") || strings.Contains(s.URL(), "//[::]:") {
				t.Errorf("%s can't be opened from elsewhere", s.URL())
			}
			if code, _ := get(t, s.URL()); code != http.StatusOK {
				t.Errorf("%s: %d", s.URL(), code)
			}
		})
	}
	ip := func(text string) net.Addr {
		at, n, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
		n.IP = at
		return n
	}
	for _, c := range []struct {
		want string
		all  []net.Addr
	}{
		{"127.0.0.1", nil}, {"127.0.0.1", []net.Addr{ip("127.0.0.1/8"), ip("::1/128"), ip("fe80::1/64"),
			ip("169.254.0.9/16")}},
		{"10.0.0.7", []net.Addr{ip("127.0.0.1/8"), ip("2001:db8::5/64"), ip("10.0.0.7/24")}},
		{"2001:db8::5", []net.Addr{ip("fe80::1/64"), ip("2001:db8::5/64")}},
	} {
		if got := reachable(c.all); got.String() != c.want {
			t.Errorf("of %v %s is told", c.all, got)
		}
	}
}

// A day of intervals fits into the slots of a timeline.
func TestMemoryIsBounded(t *testing.T) {
	s, _ := serve(t, "127.0.0.1:0", nil)
	iv := &measure.Interval{Phase: "hold", Kind: measure.KindOpen}
	for k := range 100_000 {
		iv.StartNs, iv.EndNs = int64(k)*1e9, int64(k+1)*1e9
		iv.Standstills = []measure.Standstill{{StartNs: iv.StartNs, EndNs: iv.EndNs}}
		if err := s.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	if n, m := len(s.timeline.Slots), len(s.timeline.Standstills); n > 1440 || m > 200 {
		t.Errorf("%d slots, %d standstills", n, m)
	}
}

func TestLivePageInABrowser(t *testing.T) {
	stopped := make(chan struct{})
	s, feed := serve(t, "127.0.0.1:0", func() { close(stopped) })
	b := testserver.NewBrowser(t, t.TempDir())
	b.Look(1180, 900, "screen", "light")
	b.Open(s.URL())
	t.Cleanup(func() {
		if t.Failed() {
			var state string
			b.Eval(
				`(document.getElementById("live") || document.body).outerHTML.slice(0, 300) + " " + document.querySelectorAll("canvas").length`, &state)
			t.Log(state, b.Faults())
		}
	})
	second := 0
	drawn := func(text string) {
		t.Helper()
		feed(second)
		second++
		b.Wait(text)
	}
	drawn(`document.getElementById("live").textContent.includes("UNDER WAY")`)
	for range 5 {
		drawn(`document.getElementById("tables").textContent.includes("insert car")`)
	}
	b.Wait(`document.querySelectorAll("canvas").length >= 7`)
	b.Wait(`document.getElementById("window-text").textContent.startsWith("whole run: 1,200 answers")`)
	// Without streams, their chart is hidden. It appears with the first one.
	const streams = `document.querySelector("figure[data-chart=streams]")`
	b.Wait(streams + `.closest(".chart").hidden`)
	recordtest.Load(streaming{s}, recordtest.Base(), "hold", second, recordtest.Shape{Seconds: 1, PerS: 200,
		ServiceNs: 300e3, LagNs: 8e3, Health: recordtest.Healthy})
	b.Wait(`!` + streams + `.closest(".chart").hidden && ` + streams + `.querySelector("canvas").clientWidth > 100`)
	b.Wait(streams + `.textContent.includes("between p99")`)
	b.Wait(`document.getElementById("tables").textContent.includes("STREAMS")`)
	b.Eval(`document.getElementById("stop").click()`, nil)
	<-stopped
	run, k := recordtest.Base(), &measure.Tally{}
	recordtest.Load(k, run, "hold", 0, recordtest.Shape{Seconds: 6, PerS: 200, ServiceNs: 300e3, LagNs: 8e3,
		Health: recordtest.Healthy})
	record.Fill(run, k)
	verdict.Judge(run, k.Total())
	if err := s.Finish(&report.Result{Run: run}); err != nil {
		t.Fatal(err)
	}
	b.Wait(`document.querySelector(".banner strong")?.textContent === "PASS"`)
	if faults := b.Faults(); len(faults) > 0 {
		t.Error(faults)
	}
}

// An interval that arrives while the page is being drawn neither waits for it nor changes what is drawn.
func TestIntervalsDoNotWaitForTheDrawing(t *testing.T) {
	s, feed := serve(t, "127.0.0.1:0", nil)
	feed(0)
	s.drawing.Lock() // like a drawing that never ends
	defer s.drawing.Unlock()
	r, last, _ := s.snapshot()
	slots := len(r.Timeline.Slots)
	end := r.Timeline.Slots[slots-1]
	feed(1)
	if got := r.Timeline.Slots; len(got) != slots || got[slots-1].EndNs != end.EndNs || got[slots-1].OK != end.OK {
		t.Errorf("the copy has changed: %d slots, want %d", len(got), slots)
	}
	if _, now, _ := s.snapshot(); now <= last {
		t.Errorf("the interval wasn't taken: the last ended at %d ns", now)
	}
}
