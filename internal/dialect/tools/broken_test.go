package tools_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"brunt/test/shell"
)

// answers are what a broken server writes, by the path of the request. One that ends with a bell closes the connection
// then. %n stands for line ends.
var answers = map[string]string{
	"/closes":      "\a",
	"/garbage":     "\x00\x01garbage garbage%n%n\a",
	"/half-a-head": "HTTP/1.1 200 OK%nContent-Le\a",
	"/half":        "HTTP/1.1 200 OK%nContent-Length: 100%n%nhalf\a",
	"/chunk":       "HTTP/1.1 200 OK%nTransfer-Encoding: chunked%n%n5%nhello%nzz%nx\a",
	"/long":        "HTTP/1.1 200 OK%nContent-Length: 99999999999999999999999%n%nhello\a",
	"/negative":    "HTTP/1.1 200 OK%nContent-Length: -5%n%nhello\a",
	"/two":         "HTTP/1.1 200 OK%nContent-Length: 5%nContent-Length: 6%n%nhello!\a",
	"/continue":    "HTTP/1.1 100 Continue%n%nHTTP/1.1 200 OK%nContent-Length: 5%n%nhello",
	"/hints":       "HTTP/1.1 103 Early Hints%nLink: </a>%n%nHTTP/1.1 102 Processing%n%nHTTP/1.1 200 OK%nContent-Length: 0%n%n",
	"/old":         "HTTP/1.0 200 OK%n%nhello\a",
	"/again":       "HTTP/1.1 302 Found%nLocation: /again%nContent-Length: 0%n%n",
	"/strange":     "HTTP/1.1 999 Strange%nContent-Length: 0%n%n",
	"/trailers":    "HTTP/1.1 200 OK%nTransfer-Encoding: chunked%n%n5;x=y%nhello%n0%nT: 1%n%n",
}

// serveBroken answers requests by their paths.
func serveBroken(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for in := bufio.NewReader(c); ; {
					q, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					text, closes := strings.CutSuffix(answers[q.URL.Path], "\a")
					_, _ = io.WriteString(c, strings.ReplaceAll(text, "%n", "\r\n"))
					if closes {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// A broken server costs its requests, and each is counted where the tool counts it. hey's requests go over Go's client,
// ab's over event loops.
func TestBrokenServers(t *testing.T) {
	t.Parallel()
	address := serveBroken(t)
	counts := regexp.MustCompile(`(?m)^ {2}\[([0-9]+)\]\t([0-9]+ responses|[a-z ]+)|^(?:Complete requests|   \(Connect|Non-2xx responses):?.*$`)
	const cut, broken = "   (Connect: 0, Receive: 4, Length: 0, Exceptions: 0)", "  [4]\tthe connection broke before the answer came"
	const none, all, wrong = "Complete requests:      0", "Complete requests:      4", "  [4]\tthe answer isn"
	for path, want := range map[string][]string{
		"/closes":      {broken, none, cut},
		"/garbage":     {wrong, none, cut},
		"/half-a-head": {wrong, none, cut},
		"/half":        {broken, none, cut},
		"/chunk":       {broken, none, cut},
		"/long":        {broken, none, cut},
		"/negative":    {broken, none, cut},
		"/two":         {broken, none, cut},
		"/continue":    {"  [200]\t4 responses", all},
		"/hints":       {"  [200]\t4 responses", all},
		"/old":         {"  [200]\t4 responses", all},
		"/again":       {"  [4]\tmore than ", all, "Non-2xx responses:      4"},
		"/strange":     {"  [999]\t4 responses", all, "Non-2xx responses:      4"},
		"/trailers":    {"  [200]\t4 responses", all},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, tool := range []string{"hey -c 1", "ab -k"} {
				o := shell.Run(t, "brunt", strings.Fields("as "+tool+" -n 4 --no-record http://"+address+path)...)
				if o.Code != 0 {
					t.Errorf("%s: exit code %d: %s", tool, o.Code, o.Err)
				}
				got = append(got, counts.FindAllString(o.Out, -1)...)
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}
