package vegeta

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"time"
)

// Result is a request that has ended, as vegeta stores it. Its fields are those of vegeta's results in gob, which
// compares them by name.
type Result struct {
	Attack    string        `json:"attack"`
	Seq       uint64        `json:"seq"`
	Code      uint16        `json:"code"`
	Timestamp time.Time     `json:"timestamp"`
	Latency   time.Duration `json:"latency"`
	BytesOut  uint64        `json:"bytes_out"`
	BytesIn   uint64        `json:"bytes_in"`
	Error     string        `json:"error"`
	Body      []byte        `json:"body"`
	Method    string        `json:"method"`
	URL       string        `json:"url"`
	Headers   http.Header   `json:"headers"`
}

// End returns when the answer was complete.
func (r *Result) End() time.Time { return r.Timestamp.Add(r.Latency) }

// encoder returns a function that writes results in an encoding, and one that ends the output.
func encoder(w io.Writer, encoding string) (write func(*Result) error, end func() error, err error) {
	switch encoding {
	case "gob":
		b := bufio.NewWriter(w)
		enc := gob.NewEncoder(b)
		return func(r *Result) error { return enc.Encode(r) }, b.Flush, nil
	case "json":
		b := bufio.NewWriter(w)
		enc := json.NewEncoder(b)
		return func(r *Result) error { return enc.Encode(r) }, b.Flush, nil
	case "csv":
		enc := csv.NewWriter(w)
		return func(r *Result) error { return enc.Write(r.record()) }, func() error { enc.Flush(); return enc.Error() }, nil
	}
	return nil, nil, fmt.Errorf("encode: unknown encoding %q; use gob, json or csv", encoding)
}

// record returns the twelve columns of a result in CSV.
func (r *Result) record() []string {
	var header bytes.Buffer
	_ = r.Headers.Write(&header) // can't fail
	if len(r.Headers) > 0 {
		header.WriteString("\r\n")
	}
	code64 := base64.StdEncoding.EncodeToString
	return []string{
		strconv.FormatInt(r.Timestamp.UnixNano(), 10), strconv.Itoa(int(r.Code)), strconv.FormatInt(int64(r.Latency), 10),
		strconv.FormatUint(r.BytesOut, 10), strconv.FormatUint(r.BytesIn, 10), r.Error, code64(r.Body), r.Attack,
		strconv.FormatUint(r.Seq, 10), r.Method, r.URL, code64(header.Bytes()),
	}
}

// decoder returns a function that reads one result after the other. The encoding is recognized by its first bytes. The
// end is io.EOF.
func decoder(in io.Reader) (func(*Result) error, error) {
	b := bufio.NewReader(in)
	first, err := b.Peek(1)
	if err == io.EOF {
		return func(*Result) error { return io.EOF }, nil
	}
	if err != nil {
		return nil, err
	}
	switch c := first[0]; {
	case c == '{':
		dec := json.NewDecoder(b)
		return func(r *Result) error { *r = Result{}; return dec.Decode(r) }, nil
	case c >= '0' && c <= '9':
		if line, _ := b.Peek(64); bytes.IndexByte(line, ',') > 0 {
			dec := csv.NewReader(b)
			dec.FieldsPerRecord, dec.ReuseRecord = 12, true
			return func(r *Result) error { return r.read(dec) }, nil
		}
	}
	dec := gob.NewDecoder(b)
	return func(r *Result) error { *r = Result{}; return dec.Decode(r) }, nil
}

// read reads a result in CSV.
func (r *Result) read(dec *csv.Reader) error {
	record, err := dec.Read()
	if err != nil {
		return err
	}
	var fault error
	number := func(i, bits int) uint64 {
		n, err := strconv.ParseUint(record[i], 10, bits)
		fault = errors.Join(fault, err)
		return n
	}
	blob := func(i int) []byte {
		b, err := base64.StdEncoding.DecodeString(record[i])
		fault = errors.Join(fault, err)
		return b
	}
	*r = Result{Timestamp: time.Unix(0, int64(number(0, 63))), Code: uint16(number(1, 16)),
		Latency: time.Duration(number(2, 63)), BytesOut: number(3, 64), BytesIn: number(4, 64), Error: record[5],
		Body: blob(6), Attack: record[7], Seq: number(8, 64), Method: record[9], URL: record[10]}
	if header := blob(11); len(header) > 0 {
		h, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(append(header, "\r\n"...)))).ReadMIMEHeader()
		fault = errors.Join(fault, err)
		r.Headers = http.Header(h)
	}
	if fault != nil {
		return errors.New("the results in CSV have a bad line: " + firstLine(fault))
	}
	return nil
}

func firstLine(err error) string {
	text, _, _ := bytes.Cut([]byte(err.Error()), []byte("\n"))
	return string(text)
}
