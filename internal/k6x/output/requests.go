package output

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.k6.io/k6/v2/metrics"

	"brunt/internal/driver"
	"brunt/internal/k6x/session"
)

// requests makes calls of the requests that k6's own modules report. It is used by one goroutine.
type requests struct {
	s     *session.Session
	known map[*metrics.TagSet]request // k6 has one set of tags for all samples with the same
}

// request is what the tags of a sample say.
type request struct {
	call  session.Call
	inRun bool // it is no part of setup or teardown
}

// mostTags bounds what is remembered: scripts may put a tag of its own on each request.
const mostTags = 10_000

func newRequests(s *session.Session) *requests {
	return &requests{s: s, known: map[*metrics.TagSet]request{}}
}

// take records the request whose duration s is.
func (r *requests) take(s *metrics.Sample) {
	q, ok := r.known[s.Tags]
	if !ok {
		q = r.read(s.Metric.Name, s.Tags)
		if len(r.known) >= mostTags {
			clear(r.known)
		}
		r.known[s.Tags] = q
	}
	if q.inRun {
		c := q.call
		c.End = r.s.At(s.Time)
		c.Sent = c.End - int64(s.Value*float64(time.Millisecond))
		r.s.Request(&c)
	}
}

func (r *requests) read(metric string, tags *metrics.TagSet) (q request) {
	tag := func(t metrics.SystemTag) string {
		v, _ := tags.Get(t.String())
		return v
	}
	group := tag(metrics.TagGroup)
	if q.inRun = group != "::setup" && group != "::teardown"; !q.inRun {
		return q
	}
	name := tag(metrics.TagName)
	if name == "" {
		name = tag(metrics.TagURL)
	}
	protocol := "grpc"
	if metric == metrics.HTTPReqDurationName {
		protocol = "http"
		name = strings.TrimSpace(tag(metrics.TagMethod) + " " + name)
	}
	if name == "" {
		name = protocol
	}
	q.call.Operation, q.call.Address = r.s.Operation(name), -1
	if host := hostOf(tag(metrics.TagURL)); host != "" {
		q.call.Address = r.s.Address(protocol, host)
	}
	status, _ := strconv.Atoi(tag(metrics.TagStatus))
	q.call.Status = status
	code := tag(metrics.TagErrorCode)
	expected := tag(metrics.TagExpectedResponse)
	if protocol == "grpc" && status != 0 || expected == "false" || expected == "" && code != "" {
		q.call.Class, q.call.Code = classOf(code, status), code
		if code == "" {
			q.call.Code = strconv.Itoa(status)
		}
		q.call.Text = tag(metrics.TagError)
		if q.call.Text == "" {
			q.call.Text = "status " + strconv.Itoa(status)
		}
	}
	return q
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// classOf sorts k6's error codes (grafana.com/docs/k6, "Error codes").
func classOf(code string, status int) driver.Class {
	n, _ := strconv.Atoi(code)
	switch {
	case n == 1050:
		return driver.Timeout
	case n >= 1100 && n < 1220, n >= 1300 && n < 1400:
		return driver.Connect
	case n >= 1220 && n < 1300, n >= 1600 && n < 1700:
		return driver.UnknownOutcome
	case n >= 1400 && n < 1600, n == 0 && status > 0:
		return driver.Server
	}
	return driver.Protocol
}
