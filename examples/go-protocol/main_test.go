package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"brunt"
)

// The test binary is the program itself if it is started with this variable.
const asProgram = "MEMLOAD"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// server speaks memcached's protocol and keeps what it is given.
type server struct {
	net.Listener
	mu   sync.Mutex
	data map[string]string
}

func serve(t *testing.T) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Listener: l, data: map[string]string{}}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.answer(conn)
		}
	}()
	t.Cleanup(func() { l.Close() })
	return s
}

func (s *server) answer(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if _, err := io.WriteString(conn, s.reply(strings.Fields(line), in)); err != nil {
			return
		}
	}
}

func (s *server) reply(words []string, in io.Reader) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch words[0] {
	case "set":
		var size int
		_, _ = fmt.Sscan(words[4], &size)
		value := make([]byte, size+2)
		if _, err := io.ReadFull(in, value); err != nil {
			return "ERROR\r\n"
		}
		s.data[words[1]] = string(value[:size])
		return "STORED\r\n"
	case "get":
		if value, ok := s.data[words[1]]; ok {
			return fmt.Sprintf("VALUE %s 0 %d\r\n%s\r\nEND\r\n", words[1], len(value), value)
		}
		return "END\r\n"
	}
	return "ERROR\r\n"
}

// A plan that names the protocol is run from Go.
func TestPlanFromGo(t *testing.T) {
	s := serve(t)
	p, err := brunt.ReadPlan("plan.yml")
	if err != nil {
		t.Fatal(err)
	}
	p.SetAddresses(s.Addr().String())
	r, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Total.OK != 500 || len(s.data) == 0 {
		t.Errorf("%+v: %+v", r.Total, r.Failures)
	}
}

// memload runs the program. A busy machine may make a result invalid.
func memload(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != 98 {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// The program runs the plan itself, and on workers, which are the same program.
func TestPlanOfTheProgram(t *testing.T) {
	s := serve(t)
	for _, more := range [][]string{nil, {"--workers", "2"}} {
		t.Run(fmt.Sprint(more), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			out := memload(t, slices.Concat([]string{"run", "plan.yml", "-a", s.Addr().String(), "--bundle", dir, "--quiet"},
				more)...)
			r, err := brunt.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			if r.Total.OK != 500 {
				t.Errorf("%+v\n%s", r.Total, out)
			}
		})
	}
}

// A k6 script opens the protocol by its name.
func TestScriptOfTheProgram(t *testing.T) {
	s := serve(t)
	out := memload(t, "k6", "run", "--quiet", "-o", "brunt=none", "-e", "ADDRESS="+s.Addr().String(), "script.js")
	if s.data["script"] != "fast" {
		t.Errorf("nothing was stored\n%s", out)
	}
}
