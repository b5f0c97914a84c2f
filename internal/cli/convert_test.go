package cli_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"brunt/internal/cli"
	"brunt/internal/judge/exitcode"
)

// recordingServer notes requests, and answers them.
type recordingServer struct {
	net.Listener
	mu       sync.Mutex
	requests []string
	answer   func(*bufio.Reader) (request, answer string, err error)
}

func recordRequests(t *testing.T, answer func(*bufio.Reader) (request, answer string, err error)) *recordingServer {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &recordingServer{Listener: at, answer: answer}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go l.serve(c)
		}
	}()
	return l
}

func (l *recordingServer) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		request, answer, err := l.answer(r)
		if err != nil {
			return
		}
		l.mu.Lock()
		l.requests = append(l.requests, request)
		l.mu.Unlock()
		io.WriteString(c, answer)
	}
}

// take returns the requests since the last call.
func (l *recordingServer) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.requests
	l.requests = nil
	return all
}

// overHTTP reads a request of HTTP with all its header fields.
func overHTTP(r *bufio.Reader) (request, answer string, err error) {
	read, err := http.ReadRequest(r)
	if err != nil {
		return "", "", err
	}
	var whole bytes.Buffer
	err = read.Write(&whole)
	return whole.String(), "HTTP/1.1 204 No Content\r\n\r\n", err
}

// overRESP reads a command of Redis. It answers HMGET with as many values as there are fields, and HSET as if all were
// new.
func overRESP(r *bufio.Reader) (request, answer string, err error) {
	number := func(first byte) (n int) {
		line, e := r.ReadString('\n')
		if e != nil || line[0] != first {
			err = fmt.Errorf("%q: %w", line, io.ErrUnexpectedEOF)
			return 0
		}
		n, err = strconv.Atoi(strings.TrimSpace(line[1:]))
		return n
	}
	var words []string
	for range number('*') {
		word := make([]byte, number('$')+2)
		if err == nil {
			_, err = io.ReadFull(r, word)
		}
		words = append(words, strings.TrimSpace(string(word)))
	}
	if err != nil {
		return "", "", err
	}
	answer = "+OK\r\n"
	switch words[0] {
	case "HSET":
		answer = fmt.Sprintf(":%d\r\n", len(words)/2-1)
	case "HMGET":
		answer = fmt.Sprintf("*%d\r\n", len(words)-2) + strings.Repeat("$1\r\nx\r\n", len(words)-2)
	}
	return fmt.Sprintf("%q", words), answer, nil
}

// A converted load sends the same requests as the command that it was converted from, to the byte.
func TestConvertedPlansSendTheSame(t *testing.T) {
	redis, web := recordRequests(t, overRESP), recordRequests(t, overHTTP)
	address := "http://" + web.Addr().String() + "/"
	for _, c := range []struct {
		to      *recordingServer
		counted string // with which the requests of the load begin
		line    []string
	}{
		{redis, `["H`, []string{"ycsb", "run", "redis", "-p", "redis.addr=" + redis.Addr().String(), "--workload", "a",
			"-p", "operationcount=300", "-p", "recordcount=1000", "-p", "randomseed=7", "--quiet"}},
		{redis, `["H`, []string{"ycsb", "load", "redis", "-p", "redis.addr=" + redis.Addr().String(), "--workload", "a",
			"-p", "recordcount=300", "-p", "randomseed=7", "-p", "load.pipeline=1", "--quiet"}},
		{web, "", []string{"cook", "-qps", "200", "-concurrency", "1", "-totalRequests", "60", "-data", "x",
			"-method", "POST", "-quiet", address + "a"}},
		{web, "", []string{"hey", "-n", "60", "-c", "1", "-m", "POST", "-d", "x", "--no-record", address + "a"}},
		{web, "", []string{"ab", "-n", "60", "-c", "1", "--no-record", address + "a"}},
		{web, "", []string{"http", "-n", "60", "-c", "1", "--quiet", address + "a", address + "b"}},
	} {
		t.Run(strings.Join(c.line[:2], " "), func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			sent := func(args ...string) []string {
				var stderr bytes.Buffer
				code := cli.Main("test", append([]string{"brunt"}, args...), strings.NewReader(""), io.Discard, &stderr)
				if code != 0 && code != exitcode.Invalid {
					t.Fatalf("%q: %d: %s", args, code, stderr.String())
				}
				return slices.DeleteFunc(c.to.take(), func(r string) bool { return !strings.HasPrefix(r, c.counted) })
			}
			before := sent(c.line...)
			var plan, stderr bytes.Buffer
			if code := cli.Main("test", append([]string{"brunt", "convert"}, c.line...), nil, &plan, &stderr); code != 0 {
				t.Fatalf("%d: %s", code, stderr.String())
			}
			file := filepath.Join(dir, "plan.yml")
			if err := os.WriteFile(file, plan.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := c.to.take(); len(got) > 0 {
				t.Errorf("converting sent %q", got)
			}
			after := sent("run", file, "--quiet")
			if len(before) < 60 || !slices.Equal(before, after) {
				t.Errorf("the command sent %d, its plan %d:\n%.2000q\n%.2000q", len(before), len(after), before, after)
			}
		})
	}
}
