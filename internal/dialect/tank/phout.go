package tank

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"brunt/internal/judge/result"
	"brunt/internal/protocol"
)

// sample is a line of a phout: a request that has ended. Times are in µs.
type sample struct {
	sent                                 time.Time
	tag                                  string
	real, connect, send, latency, answer int64
	out, in                              int64 // bytes
	net, proto                           int
}

// append appends the line: time of the start in s, tag, and the columns, separated by tabs. The columns are, as
// phantom's: interval_real, connect_time, send_time, latency, receive_time, interval_event, size_out, size_in, net_code
// and proto_code.
func (s *sample) append(b []byte) []byte {
	b = strconv.AppendInt(b, s.sent.Unix(), 10)
	b = fmt.Appendf(b, ".%03d\t", s.sent.Nanosecond()/1e6)
	b = append(b, strings.Map(func(c rune) rune {
		if c == '\t' || c == '\n' || c == '\r' {
			return ' '
		}
		return c
	}, s.tag)...)
	for _, v := range []int64{s.real, s.connect, s.send, s.latency, s.answer, s.real, s.out, s.in, int64(s.net),
		int64(s.proto)} {
		b = strconv.AppendInt(append(b, '\t'), v, 10)
	}
	return append(b, '\n')
}

// split sets the parts of the time.
func (s *sample) split(p *protocol.Parts) {
	us := func(ns int64) int64 { return min(max(ns/1000, 0), s.real) }
	s.connect, s.send, s.answer = us(p.ConnectNs), us(p.WriteNs), us(p.ReadNs)
	s.latency = max(s.real-s.connect-s.send-s.answer, 0)
}

// The error numbers of Linux that stand for failures.
const (
	noError    = 0
	errProto   = 71  // EPROTO
	errReset   = 104 // ECONNRESET
	errTimeout = 110 // ETIMEDOUT
	errRefused = 111 // ECONNREFUSED
	errOther   = 999 // Pandora's for failures without a number
	// errDiscarded is Pandora's for requests that weren't sent because no instance was free.
	errDiscarded = 777
)

// errnoTexts are texts of the system in failures, with their numbers.
var errnoTexts = []struct {
	text   string
	number int
}{{"connection reset", errReset}, {"broken pipe", 32}, {"connection refused", errRefused},
	{"network is unreachable", 101}, {"no route to host", 113}, {"no such host", errOther}}

// netCode returns the error number by which a generator reports a failure of that class and text. sent says whether
// the request was sent.
func netCode(generator string, class protocol.Class, text string, sent bool) int {
	lost := class == protocol.UnknownOutcome || class == protocol.Connect && sent
	switch {
	case class == protocol.OK || class == protocol.Server:
		return noError
	case generator == "bfg" && class != protocol.Client:
		return 1
	case protocol.Overdue(class, text):
		return errTimeout
	case lost || class == protocol.Connect:
		for _, known := range errnoTexts {
			if strings.Contains(text, known.text) {
				return known.number
			}
		}
	}
	switch {
	case lost && text == "": // of a worker's request
		return errReset
	case class == protocol.Connect && !sent:
		return errRefused
	case (lost || class == protocol.Protocol) && generator == "phantom":
		return errProto // the answer ends in the middle, or isn't HTTP
	}
	return errOther
}

// columns is the number of columns of a phout.
const columns = 12

// parseLine parses a line of a phout.
func parseLine(line []byte) (s sample, startS float64, ok bool) {
	fields := bytes.Split(line, []byte("\t"))
	if len(fields) != columns {
		return s, 0, false
	}
	startS, err := strconv.ParseFloat(string(fields[0]), 64)
	if err != nil {
		return s, 0, false
	}
	var v [columns - 2]int64
	for i := range v {
		if v[i], err = strconv.ParseInt(string(fields[i+2]), 10, 64); err != nil {
			return s, 0, false
		}
	}
	s = sample{tag: string(fields[1]), real: v[0], connect: v[1], send: v[2], latency: v[3], answer: v[4], out: v[6],
		in: v[7], net: int(v[8]), proto: int(v[9])}
	return s, startS, true
}

// Results returns the format of phouts.
func Results() result.Format {
	return result.Format{About: "a phout.log of Yandex Tank", Is: isPhout, Parse: ParsePhout}
}

func isPhout(text []byte, _ map[string]json.RawMessage) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(text, "\n"), []byte("\n"))
	_, _, ok := parseLine(bytes.TrimRight(line, "\r"))
	return ok
}

// ParsePhout parses a phout.
func ParsePhout(text []byte) (*result.Result, error) {
	var times []int64
	var first, last, sum float64
	failed, n := 0, 0
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if line = bytes.TrimRight(line, "\r"); len(line) == 0 {
			continue
		}
		n++
		s, start, ok := parseLine(line)
		if !ok {
			if !bytes.HasSuffix(text, []byte("\n")) && bytes.HasSuffix(text, line) {
				break // the run was killed while it wrote the line
			}
			return nil, fmt.Errorf("line %d of the phout isn't 12 columns of numbers", n)
		}
		end := start + float64(s.real)/1e6
		if len(times) == 0 {
			first, last = start, end
		}
		first, last = min(first, start), max(last, end)
		if s.net != 0 || s.proto >= 400 || s.proto == 0 {
			failed++
		}
		times, sum = append(times, s.real), sum+float64(s.real)
	}
	if len(times) == 0 {
		return nil, errors.New("the phout has no requests")
	}
	r := &result.Result{Program: "yandex-tank", LoadModel: "open"}
	r.Add("count", "", float64(len(times)))
	if last > first {
		r.Add("rate", "", float64(len(times)-failed)/(last-first))
	}
	r.Add("errors", "", float64(failed)/float64(len(times)))
	r.Add("response.avg", "", sum/float64(len(times))*1000)
	r.Add("response.max", "", percentile(times, 100)*1000)
	for _, q := range result.Quantiles() {
		r.Add(result.QuantileName(q), "", percentile(times, q)*1000)
	}
	return r, nil
}
