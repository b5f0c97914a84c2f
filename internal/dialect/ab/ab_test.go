package ab

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/dialect/httpload"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

func TestParse(t *testing.T) {
	o, err := Parse(strings.Fields("-n 20 -c4 -kdS -t 9 -C a=b -H X:1 127.0.0.1:81/a?b"))
	if err != nil || o.Requests != 50_000 || o.Concurrency != 4 || !o.KeepAlive || !o.NoTable || !o.NoDeviation ||
		o.Limit != 9*time.Second || o.target.String() != "http://127.0.0.1:81/a?b" {
		t.Errorf("%+v %v", o, err)
	}
	file := filepath.Join(t.TempDir(), "client.pem")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err = Parse(strings.Fields("-E " + file + " -B 127.0.0.5 -f tls1.1 -Z AES128-SHA -X p:81 https://shop.test/x"))
	if err != nil {
		t.Fatal(err)
	}
	want := plan.TLS{Enabled: true, InsecureSkipVerify: true, CertFile: file, KeyFile: file, ServerName: "shop.test",
		MinVersion: "1.1", MaxVersion: "1.1", Ciphers: "AES128-SHA"}
	if p, err := o.Plan(); err != nil || p.Target.TLS != want || p.Target.Way.From != "127.0.0.5" ||
		p.Target.Addresses[0] != "p:81" || !strings.HasPrefix(o.Text(), "GET https://shop.test/x HTTP/1.0\r\n") {
		t.Errorf("%+v %v", p, err)
	}
	for _, line := range []string{"-Z HIGH:!aNULL -f foo https://a/", "-n 3x http://a/", "-n 3 -c 2.5 http://a/",
		"-n 3 -t 0 http://a/", "-s -1 http://a/", "-t text http://a/", "-p " + file + " -m PATCH http://a/"} {
		if _, err := Parse(strings.Fields(line)); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	for line, want := range map[string]string{
		"":                             "ab: wrong number of arguments",
		"-n 0 http://a/":               "Invalid number of requests",
		"-c 2 http://a/":               "Cannot use concurrency level greater",
		"foo":                          "ab: invalid URL",
		"-x":                           "option requires an argument -- 'x'",
		"-B no.invalid http://a/":      "-B no.invalid: it isn't an address",
		"-f ssl3 https://a/":           "-f SSL3 isn't available with https",
		"-Z nope https://a/":           `no cipher suite "nope"`,
		"-E /nowhere http://a/":        "unable to get certificate from '/nowhere'",
		"-p /nowhere http://a/":        "Could not open POST data file (/nowhere): no such file",
		"-i -p " + file + " http://a/": "Cannot mix POST with other methods",
		"-p " + file + " -i http://a/": "Cannot mix HEAD with other methods",
		"-p " + file + " -u " + file + " http://a/": "Cannot mix PUT with other methods",
		"-m PATCH -u " + file + " http://a/":        "Cannot mix PUT with other methods",
		"-n x http://a/":                            "Invalid number of requests",
		"-n 99999999999999 http://a/":               "Invalid number of requests",
		"-s 0 http://a/":                            "-s 0: give seconds above zero",
		"http://a/ -n 5":                            "wrong number of arguments",
	} {
		if _, err := Parse(strings.Fields(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}

// received returns what ab sends to a server that closes the connection without an answer.
func received(t *testing.T, ab string, args ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			got <- err.Error()
			return
		}
		defer c.Close()
		buf := make([]byte, 4096)
		n, _ := c.Read(buf)
		got <- string(buf[:n])
	}()
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "127.0.0.1:80", l.Addr().String())
	}
	_ = exec.Command(ab, append(args, "http://"+l.Addr().String()+"/x?y")...).Run()
	return strings.ReplaceAll(<-got, l.Addr().String(), "127.0.0.1:80")
}

// The request is that of the real ab, but for the order of its headers.
func TestRequestsAreThoseOfAB(t *testing.T) {
	program, err := exec.LookPath("ab")
	if err != nil {
		t.Fatal("ab isn't installed: apt-get install -y --no-install-recommends apache2-utils")
	}
	for _, line := range []string{"-n 1", "-n 1 -k -C a=b -A u:p -H X:1", "-n 1 -i", "-n 1 -m DELETE",
		"-n 1 -H Host:other -H User-Agent:me", "-n 1 -X 127.0.0.1:80 -P u:p"} {
		o, err := Parse(append(strings.Fields(line), "http://127.0.0.1:80/x?y"))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := lines(o.Text()), lines(received(t, program, strings.Fields(line)...)); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", line, got, want)
		}
	}
}

// lines returns the lines of a request as text.
func lines(request string) string { return strings.ReplaceAll(request, "\r\n", "\n") }

func sample(us, connect, wait int64, status int, body int64) httpload.Sample {
	return httpload.Sample{Took: time.Duration(us) * time.Microsecond, Bytes: 100 + body, Status: status,
		Parts: protocol.Parts{ConnectNs: connect * 1000, WaitNs: wait * 1000, BodyBytes: body}}
}

func TestReport(t *testing.T) {
	o, err := Parse(strings.Fields("-n 5 -c 2 http://127.0.0.1:81/p"))
	if err != nil {
		t.Fatal(err)
	}
	r := &Outcome{Server: "s/1", Took: 50 * time.Millisecond, Samples: []httpload.Sample{
		sample(3000, 1000, 1500, 200, 10), sample(1000, 200, 400, 404, 10), sample(9000, 1000, 7000, 200, 12),
		sample(5000, 1000, 2000, 200, 10), {Class: protocol.Connect, Took: time.Millisecond},
	}}
	want := `

Server Software:        s/1
Server Hostname:        127.0.0.1
Server Port:            81

Document Path:          /p
Document Length:        10 bytes

Concurrency Level:      2
Time taken for tests:   0.050 seconds
Complete requests:      4
Failed requests:        2
   (Connect: 1, Receive: 0, Length: 1, Exceptions: 0)
Non-2xx responses:      1
Total transferred:      442 bytes
HTML transferred:       42 bytes
Requests per second:    80.00 [#/sec] (mean)
Time per request:       25.000 [ms] (mean)
Time per request:       12.500 [ms] (mean, across all concurrent requests)
Transfer rate:          8.63 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    1   0.4      1       1
Processing:     1    4   3.2      6       8
Waiting:        0    3   2.9      5       7
Total:          1    5   3.4      7       9

Percentage of the requests served within a certain time (ms)
  50%      5
  66%      5
  75%      9
  80%      9
  90%      9
  95%      9
  98%      9
  99%      9
 100%      9 (longest request)
`
	got := o.Report(r)
	if got != want {
		t.Errorf("%s", got)
	}
	res, err := ParseResult([]byte("This is ApacheBench\n" + got))
	if err != nil || res.Find("rate", "").Value != 80 || res.Find("response.p(99)", "").Value != 9e6 ||
		res.Find("errors", "").Value != 0.4 {
		t.Errorf("%+v %v", res, err)
	}
	var csv, plot strings.Builder
	if err := errors.Join(o.WriteCSV(&csv, r), o.WriteGnuplot(&plot, r)); err != nil ||
		!strings.HasPrefix(csv.String(), "Percentage served,Time in ms\n0,1.000\n1,1.000\n") ||
		strings.Count(csv.String(), "\n") != 101 || !strings.HasSuffix(plot.String(), "\t1\t8\t9\t7\n") {
		t.Errorf("%v\n%s\n%s", err, csv.String(), plot.String())
	}
}

func FuzzParseResult(f *testing.F) {
	f.Add("This is ApacheBench\nRequests per second:    80.00 [#/sec] (mean)\n  50%      5\n")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = ParseResult([]byte(text)) })
}

// The warnings about times are those that the real ab holds, for times of which ab would doubt the mean.
func TestDoubtsAreThoseOfAB(t *testing.T) {
	program, err := exec.LookPath("ab")
	if err != nil {
		t.Fatal("ab isn't installed: apt-get install -y --no-install-recommends apache2-utils")
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		us   []int64
		want string
	}{
		{[]int64{100, 300, 1300}, "WARNING"},   // median 0.3 ms, printed as 0, and mean 0.57, printed as 1
		{[]int64{400, 450, 501, 502}, "ERROR"}, // rounding sets 0.46 and 0.50 ms apart
		{[]int64{1000, 2000, 3000}, ""},
	} {
		d := describe(c.us)
		for _, name := range []string{"initial connection", "processing", "waiting", "total"} {
			got := d.doubt(name)
			if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") ||
				!bytes.Contains(text, []byte(strings.TrimSuffix(got, "\n"))) {
				t.Errorf("%v: got %q, want ab's %s", c.us, got, c.want)
			}
		}
	}
}
