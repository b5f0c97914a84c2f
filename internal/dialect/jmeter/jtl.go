package jmeter

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// columns are the columns of a JTL file, as JMeter writes them by default.
const columns = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage," +
	"bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect"

// jtl writes a file of results.
type jtl struct {
	mu     sync.Mutex
	file   *os.File
	out    *bufio.Writer
	xml    bool
	line   []byte
	err    error
	closed bool
}

// openJTL opens a file of results. Results are added to a file that is there, as JMeter does, unless fresh.
func openJTL(name string, fresh, xml bool) (*jtl, error) {
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if fresh {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		return nil, err
	}
	j := &jtl{file: f, out: bufio.NewWriterSize(f, 64<<10), xml: xml}
	st, err := f.Stat()
	if err == nil && st.Size() == 0 || err == nil && !st.Mode().IsRegular() {
		if xml {
			_, err = j.out.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testResults version=\"1.2\">\n")
		} else {
			_, err = j.out.WriteString(columns + "\n")
		}
	}
	return j, err
}

// Sample implements Sink.
func (j *jtl) Sample(r *result) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || j.err != nil {
		return
	}
	if j.xml {
		j.line = appendXML(j.line[:0], r, 0)
	} else {
		j.line = appendAll(j.line[:0], r)
	}
	_, j.err = j.out.Write(j.line)
}

// close ends the file.
func (j *jtl) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	if j.xml && j.err == nil {
		_, j.err = j.out.WriteString("</testResults>\n")
	}
	if err := errors.Join(j.err, j.out.Flush(), j.file.Close()); err != nil {
		return fmt.Errorf("the results in %s: %w", j.file.Name(), err)
	}
	return nil
}

// appendAll appends a sample and its parts.
func appendAll(b []byte, r *result) []byte {
	b = appendCSV(b, r)
	for _, p := range r.parts {
		switch p.groupThreads, p.allThreads = r.groupThreads, r.allThreads; {
		case p.unnamed:
		case p.thread == "":
			p.thread = r.thread
		}
		b = appendAll(b, p)
	}
	return b
}

func appendCSV(b []byte, r *result) []byte {
	number := func(n int64) {
		b = strconv.AppendInt(b, n, 10)
		b = append(b, ',')
	}
	text := func(s string) {
		b = append(appendField(b, s), ',')
	}
	number(r.start.UnixMilli())
	number(r.elapsedMs())
	text(r.label)
	text(r.code)
	text(r.message)
	text(r.thread)
	text(r.kind)
	text(strconv.FormatBool(r.success))
	text(r.failure)
	number(r.bytes)
	number(r.sent)
	number(int64(r.groupThreads))
	number(int64(r.allThreads))
	text(r.url)
	number(r.latencyMs())
	number(r.idle.Milliseconds())
	b = strconv.AppendInt(b, r.connect.Milliseconds(), 10)
	return append(b, '\n')
}

// appendField appends a value, quoted if it must be.
func appendField(b []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\r\n") {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}

func appendXML(b []byte, r *result, depth int) []byte {
	tag := "httpSample"
	if r.url == "null" || r.url == "" {
		tag = "sample"
	}
	indent := strings.Repeat("  ", depth)
	b = fmt.Appendf(b,
		`%s<%s t="%d" it="%d" lt="%d" ct="%d" ts="%d" s="%t" lb="%s" rc="%s" rm="%s" tn="%s" dt="%s"`+
			` by="%d" sby="%d" ng="%d" na="%d"`,
		indent, tag, r.elapsedMs(), r.idle.Milliseconds(), r.latencyMs(), r.connect.Milliseconds(), r.start.UnixMilli(),
		r.success,
		escapeXML(r.label), escapeXML(r.code), escapeXML(r.message), escapeXML(r.thread), r.kind, r.bytes, r.sent,
		r.groupThreads, r.allThreads)
	if len(r.parts) == 0 && len(r.asserts) == 0 && tag == "sample" {
		return append(b, "/>\n"...)
	}
	b = append(b, ">\n"...)
	for _, p := range r.parts {
		b = appendXML(b, p, depth+1)
	}
	for _, a := range r.asserts {
		b = fmt.Appendf(b,
			"%s  <assertionResult>\n%s    <name>%s</name>\n%s    <failure>%t</failure>\n%s    <error>false</error>\n",
			indent, indent, escapeXML(a.name), indent, a.failed, indent)
		if a.message != "" {
			b = fmt.Appendf(b, "%s    <failureMessage>%s</failureMessage>\n", indent, escapeXML(a.message))
		}
		b = fmt.Appendf(b, "%s  </assertionResult>\n", indent)
	}
	if tag == "httpSample" {
		b = fmt.Appendf(b, "%s  <java.net.URL>%s</java.net.URL>\n", indent, escapeXML(r.url))
	}
	return fmt.Appendf(b, "%s</%s>\n", indent, tag)
}

// write adds a sample to the file of a listener.
func (p *Program) write(w *collector, r *result) {
	if w.errorsOnly && r.success || w.successOnly && !r.success {
		return
	}
	p.mu.Lock()
	f := p.written[w.name]
	if f == nil && p.writesFiles {
		var err error
		if f, err = openJTL(w.name, false, strings.HasSuffix(strings.ToLower(w.name), ".xml")); err != nil {
			p.mu.Unlock()
			p.complain("%s: %v", w.element, err)
			p.mu.Lock()
			f = &jtl{closed: true}
		}
		p.written[w.name] = f
	}
	p.mu.Unlock()
	if f != nil {
		f.Sample(r)
	}
}

// closeFiles ends the files of listeners.
func (p *Program) closeFiles() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.written {
		err = errors.Join(err, f.close())
	}
	return err
}
