package scale

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// receive decodes a message.
func receive(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody)).Decode(into)
	if err != nil {
		respond(w, http.StatusBadRequest, &refusal{"not a message of a worker: " + err.Error(), exitcode.BadPlan})
	}
	return err == nil
}

func respond(w http.ResponseWriter, status int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(what) // a worker that doesn't receive it asks again
}

// refuseWorker tells a worker that it can't take part.
func refuseWorker(w http.ResponseWriter, code int, format string, args ...any) {
	respond(w, http.StatusConflict, &refusal{fmt.Sprintf(format, args...), code})
}

// desk answers the requests of workers.
type desk struct{ *Coordinator }

func (d desk) handlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"POST /join": d.serveJoin, "POST /clock": d.serveClock, "POST /report": d.serveReport,
		"PUT /file": d.serveFile, "GET /file": d.serveHave,
	}
}

// memberOf returns the worker with a number. If there is none, or the worker belongs to another run, it refuses the
// request and returns nil.
func (d desk) memberOf(w http.ResponseWriter, run string, worker int) *member {
	if run != d.o.Run {
		refuseWorker(w, exitcode.BadPlan, "the coordinator leads run %s, the worker belongs to run %s", d.o.Run, run)
		return nil
	}
	if worker < 0 || worker >= len(d.members) {
		refuseWorker(w, exitcode.BadPlan, "there is no worker %d: the run has %d", worker+1, len(d.members))
		return nil
	}
	return d.members[worker]
}

// serveJoin registers a worker, and sends it its job when all workers have joined.
func (d desk) serveJoin(w http.ResponseWriter, r *http.Request) {
	var h Hello
	if !receive(w, r, &h) {
		return
	}
	m := d.memberOf(w, h.Run, h.Worker)
	if m == nil {
		return
	}
	d.mu.Lock()
	if refused := d.replaces(r.Context(), m, h.Process); refused != nil {
		d.mu.Unlock()
		respond(w, http.StatusConflict, refused)
		return
	}
	m.hello, m.host, m.seen = h, h.Host, time.Now()
	if m.process != h.Process || m.state == "" {
		m.process, m.state, m.problem, m.joining = h.Process, Joined, nil, 0
	}
	m.joining++
	d.cond.Broadcast()
	for !d.agreed && d.refused == nil && r.Context().Err() == nil {
		d.awaitTurn(r.Context(), 0)
	}
	if m.process == h.Process {
		m.joining--
	}
	refused := d.refused
	d.mu.Unlock()
	switch {
	case r.Context().Err() != nil: // the worker has closed the connection
	case refused != nil:
		respond(w, http.StatusConflict, refused)
	default:
		respond(w, http.StatusOK, &d.o.Job)
	}
}

// aliveWithin is how long a process that joins as a worker of which another process has the share waits for a sign of
// that process: twice as long as it may take to send one.
const aliveWithin = 2 * beatEvery

// replaces returns nil if a process may join as worker m: if no other process has, or if that one gives no sign of life
// and has sent nothing. Otherwise it returns the refusal: a process whose share was lost or is complete has nothing to
// do, which is no error, so that an engine doesn't start it again. c.mu must be held; it is released while it waits.
func (d desk) replaces(ctx context.Context, m *member, process string) *refusal {
	for came := time.Now(); m.process != "" && m.process != process; d.awaitTurn(ctx, beatEvery/10) {
		begun, waited := m.begun() || d.startNs > 0, time.Since(came)
		switch {
		case begun && (m.lost || m.gone != "" || m.state == Ended || waited > aliveWithin):
			return &refusal{fmt.Sprintf("the share of worker %s has been begun already: it is not sent again", m.name()), exitcode.Pass}
		case m.seen.After(came), !begun && waited > aliveWithin && m.joining > 0:
			return taken(m)
		case ctx.Err() != nil, !begun && waited > aliveWithin:
			return nil
		}
	}
	return nil
}

// taken refuses a process because another process is worker m.
func taken(m *member) *refusal {
	return &refusal{fmt.Sprintf("worker %s is another process, %d on %s: give each worker a number of its own (--index)",
		m.name(), m.hello.PID, m.host), exitcode.BadPlan}
}

// serveClock sends the coordinator's time.
func (d desk) serveClock(w http.ResponseWriter, _ *http.Request) {
	received := d.clock.Now()
	respond(w, http.StatusOK, &sample{ReceivedNs: received, RepliedNs: d.clock.Now()})
}

// startHold is how long the answer to a ready worker is delayed until the start is known, so that all workers learn it
// at once.
const startHold = time.Second

// bodies are buffers for reports.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// serveReport stores a worker's report and answers what it must do.
func (d desk) serveReport(w http.ResponseWriter, r *http.Request) {
	body := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(body)
	body.Reset()
	body.Grow(int(min(max(r.ContentLength, 0), mostLines)) + bytes.MinRead)
	var said Report
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, mostBody))
	if err == nil {
		err = said.decode(body.Bytes())
	}
	if err != nil {
		respond(w, http.StatusBadRequest, &refusal{"not a message of a worker: " + err.Error(), exitcode.BadPlan})
		return
	}
	m := d.memberOf(w, said.Run, said.Worker)
	if m == nil {
		return
	}
	answer, refused := d.hear(r.Context(), m, &said)
	if refused != nil {
		respond(w, http.StatusConflict, refused)
		return
	}
	respond(w, http.StatusOK, answer)
}

// hear processes a report and returns the answer. If it returns a refusal, the worker is refused.
func (d desk) hear(ctx context.Context, m *member, said *Report) (*Answer, *refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.process == "" { // the coordinator has been resumed
		m.process, m.host = said.Process, said.Host
	}
	if m.process != said.Process {
		return nil, taken(m)
	}
	if said.State == Joined { // a sign of life from before the load; it may arrive late
		if m.state == Joined {
			m.seen = time.Now()
		}
		return d.answer(m), nil
	}
	m.seen = time.Now()
	switch {
	case !m.lost || m.gone != "" || m.state == Ended:
	case !m.given:
		m.lost = false
		d.journal.note(&event{Back: &m.number})
		d.tell("worker %s is back", m.name())
	case !m.stopped:
		m.stopped = true
		d.tell("worker %s is back; others have its share, so it is told to stop", m.name())
	}
	if said.State == Failed && m.problem == nil {
		m.problem = &refusal{said.Error, said.Code}
		if d.startNs > 0 && !m.lost {
			d.lose(m, message.Literal(said.Error))
			m.gone = said.Error
		}
	}
	d.mu.Unlock()
	err := m.inbox.receive(said)
	d.mu.Lock()
	if len(said.Lines) > 0 { // a report without intervals doesn't show that there is room again
		m.complain(d.Coordinator, err)
	}
	if m.state != Ended {
		m.state, m.asked, m.rows, m.filled = said.State, said.Asked, said.Rows, said.Filled
		if said.Rules != nil {
			m.rules = said.Rules
		}
		if m.state == Ended {
			d.journal.note(&event{Ended: &m.number})
		}
	}
	if m.state == Ended {
		m.inbox.close()
	}
	d.cond.Broadcast()
	if said.State == Ready && d.startNs == 0 && !d.stop {
		d.awaitTurn(ctx, startHold)
	}
	answer := d.course.instruct(d.answer(m), said)
	if said.Request != nil && d.o.OnLost == Redistribute {
		answer.Grant = d.grant(m, said.Request)
	}
	return answer, nil
}

// complain tells the user why a worker's intervals can't be stored, once for each reason. c.mu must be held.
func (m *member) complain(c *Coordinator, err error) {
	why := ""
	if err != nil {
		why = err.Error()
	}
	if why != "" && why != m.unstored {
		c.tell("worker %s: %s", m.name(), why)
	}
	if folder := m.inbox.leaves(); folder != "" {
		c.tell("worker %s: there is no room for its bundle, which goes to %s", m.name(), folder)
	}
	m.unstored = why
}

// answer returns what a worker must do.
func (d desk) answer(m *member) *Answer {
	a := &Answer{Have: m.inbox.have(), StartNs: d.startNs, Stop: d.stop || m.given, Hard: d.hard}
	if d.o.OnLost == Redistribute && d.startNs > 0 {
		if !m.lost {
			m.untilNs = max(m.untilNs, max(d.clock.Now()-d.startNs, 0)+int64(d.lease()))
		}
		a.UntilNs, a.Losses = m.untilNs, d.losses
	}
	return a
}

// bundleFile reports whether a bundle can contain a file of this name: without a folder, or in one folder.
func bundleFile(name string) bool {
	local := fs.ValidPath(name) && filepath.IsLocal(filepath.FromSlash(name))
	return name != "." && local && path.Dir(path.Dir(name)) == "."
}

// hashHeader is the header with the SHA-256 of a file, in hexadecimal.
const hashHeader = "X-Brunt-Sha256"

// serveFile receives a file of a worker's bundle. The file is stored completely or not at all.
func (d desk) serveFile(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	number, err := strconv.Atoi(q.Get("worker"))
	if err != nil {
		number = -1
	}
	m := d.memberOf(w, q.Get("run"), number)
	if m == nil {
		return
	}
	name := q.Get("name")
	d.mu.Lock()
	known := m.process == q.Get("process") && m.process != ""
	d.mu.Unlock()
	if !known {
		respond(w, http.StatusConflict, taken(m))
		return
	}
	if !bundleFile(name) {
		refuseWorker(w, exitcode.BadPlan, "file %q of worker %s is not taken", name, m.name())
		return
	}
	to := filepath.Join(d.folder(number), filepath.FromSlash(name))
	place := os.Rename
	if name == record.IntervalsFile {
		place = m.inbox.replace
	}
	err = take(to, r.Body, r.Header.Get(hashHeader), place)
	if err != nil {
		m.inbox.writing.Lock()
		m.inbox.move(err) // the worker sends the file again
		m.inbox.writing.Unlock()
	}
	if err != nil {
		d.mu.Lock()
		m.complain(d.Coordinator, err) // once: that another file has room says nothing
		d.mu.Unlock()
		respond(w, http.StatusInternalServerError, &refusal{err.Error(), exitcode.Other})
		return
	}
	d.mu.Lock()
	d.cond.Broadcast() // the live view may read it
	d.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// serveHave answers whether the coordinator has a file of a worker's bundle, identified by its hash. Intervals are
// usually complete, because they are sent during the load.
func (d desk) serveHave(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	number, err := strconv.Atoi(q.Get("worker"))
	name := q.Get("name")
	if err != nil || q.Get("run") != d.o.Run || number < 0 || number >= len(d.members) || !bundleFile(name) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	status := http.StatusNotFound
	sum, _, err := hashOf(filepath.Join(d.folder(number), filepath.FromSlash(name)))
	if err == nil && sum == r.Header.Get(hashHeader) {
		status = http.StatusNoContent
	}
	w.WriteHeader(status)
}

// take writes a file whose hash is known. place moves the complete file to its destination.
func take(to string, body io.Reader, hash string, place func(from, to string) error) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(to), ".coming-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	sum := sha256.New()
	if _, err = io.Copy(io.MultiWriter(file, sum), body); err == nil {
		err = file.Chmod(0o644)
	}
	if err = cmp.Or(err, file.Close()); err == nil && hex.EncodeToString(sum.Sum(nil)) != hash {
		err = fmt.Errorf("%s arrived damaged", filepath.Base(to))
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok { // named by where the file belongs: its name now is random
		return fmt.Errorf("%s %s: %w", at.Op, to, at.Err)
	}
	if err != nil {
		return err
	}
	return place(file.Name(), to)
}
