package testserver_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// kinds starts each server that sends a greeting or answers over a plain connection.
var kinds = []struct {
	name   string
	start  func(t testserver.TB) *testserver.Server
	say    string
	answer string
}{
	{"Postgres", func(t testserver.TB) *testserver.Server { return testserver.Postgres(t) },
		"\x00\x00\x00\x08\x04\xd2\x16\x2f", "N"},
	{"Tarantool", func(t testserver.TB) *testserver.Server { return testserver.Tarantool(t) }, "", "Tarantool "},
	{"Redis", func(t testserver.TB) *testserver.Server { return testserver.Redis(t) }, "PING\r\n", "+PONG\r\n"},
	{"Etcd", func(t testserver.TB) *testserver.Server { return testserver.Etcd(t) }, "GET /version HTTP/1.0\r\n\r\n",
		"HTTP/1.0 200 OK"},
	{"Nginx", func(t testserver.TB) *testserver.Server { return testserver.Nginx(t, testserver.Workers(2)) },
		"GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK"},
}

func TestLifecycle(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := k.start(t)
			want := func(when string) {
				t.Helper()
				if got, err := ask(s.Addr, k.say, len(k.answer), time.Minute); err != nil || got != k.answer {
					t.Fatalf("%s: got %q, %v; want %q", when, got, err, k.answer)
				}
			}
			want("after start")
			s.Pause()
			if got, err := ask(s.Addr, k.say, len(k.answer), 300*time.Millisecond); err == nil {
				t.Fatalf("while paused: answered %q", got)
			}
			s.Resume()
			want("after the pause")
			pid := s.PID
			s.Kill()
			if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
				t.Fatalf("after Kill process %d is still there: %v", pid, err)
			}
			if got, err := ask(s.Addr, k.say, len(k.answer), 300*time.Millisecond); err == nil {
				t.Fatalf("after Kill: answered %q", got)
			}
			s.Restart()
			want("after Restart")
		})
	}
}

// ask sends a text and reads n bytes, for which it waits up to a time.
func ask(addr, say string, n int, wait time.Duration) (string, error) {
	c, err := net.DialTimeout("tcp", addr, wait)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(wait))
	if _, err := io.WriteString(c, say); err != nil {
		return "", err
	}
	b := make([]byte, n)
	_, err = io.ReadFull(c, b)
	return string(b), err
}

func TestMariaDBGreets(t *testing.T) {
	s := servers.MariaDB(t)
	got, err := ask(s.Addr, "", 16, time.Minute)
	if err != nil || !strings.Contains(got, "10.") && !strings.Contains(got, "5.5.5-") {
		t.Fatalf("got %q, %v; want a version in the greeting", got, err)
	}
	if again := servers.MariaDB(t); again != s {
		t.Fatal("the pool started a second server")
	}
}

func TestRedisClusterServesEverySlot(t *testing.T) {
	c := servers.RedisCluster(t)
	if len(c.Addrs()) != 3 {
		t.Fatalf("got %d nodes, want 3", len(c.Addrs()))
	}
	moved := 0
	for _, addr := range c.Addrs() {
		got, err := ask(addr, "GET foo\r\n", 3, time.Minute) // slot 12182
		if err != nil {
			t.Fatal(err)
		}
		if got == "-MO" {
			moved++
		} else if got != "$-1" {
			t.Fatalf("%s: got %q", addr, got)
		}
	}
	if moved != 2 {
		t.Fatalf("%d nodes of 3 redirected, want 2", moved)
	}
}

func TestHAProxySpreads(t *testing.T) {
	var addrs []string
	for i := range 3 {
		body := []byte(fmt.Sprintf("node %d", i))
		addrs = append(addrs, testserver.Nginx(t, testserver.Content(body)).Addr)
	}
	proxy := testserver.HAProxy(t, addrs...)
	seen := make(map[string]int)
	for range 6 {
		r, err := http.Get("http://" + proxy.Addr + "/")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		seen[string(b)]++
	}
	if len(seen) != 3 {
		t.Fatalf("answers came from %v, want all three", seen)
	}
}

func TestNginxOverTLS(t *testing.T) {
	s := testserver.Nginx(t, testserver.TLS(), testserver.Locations("location = /no { return 404; }"))
	client := http.Client{Transport: &http.Transport{TLSClientConfig: s.TLS, ForceAttemptHTTP2: true,
		DisableKeepAlives: true}}
	for path, want := range map[string]int{"/": 200, "/no": 404} {
		r, err := client.Get("https://" + s.Addr + path)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != want || r.ProtoMajor != 2 {
			t.Errorf("%s: got %d by HTTP/%d, want %d by HTTP/2", path, r.StatusCode, r.ProtoMajor, want)
		}
		if path == "/" && len(b) != testserver.NginxIndexSize {
			t.Errorf("got %d bytes, want %d", len(b), testserver.NginxIndexSize)
		}
	}
}

func TestPostgresOverTLSWithPassword(t *testing.T) {
	s := testserver.Postgres(t, testserver.TLS(), testserver.Password("p w'd"), testserver.Settings("work_mem = '5MB'"))
	c, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "\x00\x00\x00\x08\x04\xd2\x16\x2f")
	b := make([]byte, 1)
	if _, err := io.ReadFull(c, b); err != nil || b[0] != 'S' {
		t.Fatalf("SSLRequest: got %q, %v", b, err)
	}
	secure := tls.Client(c, s.TLS)
	io.WriteString(secure, "\x00\x00\x00\x14\x00\x03\x00\x00user\x00brunt\x00\x00")
	head := make([]byte, 9)
	if _, err := io.ReadFull(secure, head); err != nil || head[0] != 'R' || head[8] != 10 {
		t.Fatalf("got %q, %v; want a request for SASL", head, err)
	}
}

func TestStandaloneCleansUpInReverse(t *testing.T) {
	var log bytes.Buffer
	s := testserver.NewStandalone(&log)
	var order []int
	for i := range 3 {
		s.Cleanup(func() { order = append(order, i) })
	}
	r := testserver.Redis(s)
	s.Close()
	s.Close()
	if fmt.Sprint(order) != "[2 1 0]" {
		t.Errorf("cleanups ran in order %v", order)
	}
	if err := syscall.Kill(r.PID, 0); err != syscall.ESRCH {
		t.Errorf("the server outlived Close: %v", err)
	}
	if _, err := os.Stat(r.Dir); !os.IsNotExist(err) {
		t.Errorf("its folder is still there: %v", err)
	}
}
