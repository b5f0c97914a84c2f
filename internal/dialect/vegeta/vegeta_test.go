package vegeta

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"brunt/test/testserver"
)

func files(path string) ([]byte, error) {
	if path == "body.json" {
		return []byte(`{"a":1}`), nil
	}
	if path == "empty" {
		return nil, nil
	}
	return nil, errors.New("no such file")
}

func TestMaxBody(t *testing.T) {
	for text, want := range map[string]uint64{"-1": 5000, "0": 0, "512": 512, "1KB": 1024, "2k": 2048, "3B": 3,
		"1 MB": 5000} {
		o, err := parseAttack([]string{"-max-body", text})
		if err != nil || o.counted(5000) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "x", "-2", "1XB", "1.5KB", "9999999999TB"} {
		if _, err := parseAttack([]string{"-max-body=" + text}); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// Flags of connections and bodies are in the plan. What vegeta's flag parser refuses is refused as a mistake of flags.
func TestAttackFlags(t *testing.T) {
	o, err := parseAttack(strings.Fields("-chunked -laddr 127.0.0.5 -max-connections 3 -session-tickets -workers 7 -rate 9 " +
		"-proxy-header A:b"))
	if err != nil {
		t.Fatal(err)
	}
	list := "POST https://shop.test/\n@body.json\nGET https://shop.test/\n"
	if o.requests, err = Read("list", strings.NewReader(list), files); err != nil {
		t.Fatal(err)
	}
	if err := o.complete(nil); err != nil {
		t.Fatal(err)
	}
	p, err := o.plan()
	if err != nil || !p.Target.TLS.Resume || p.Target.Way.From != "127.0.0.5" || p.Settings.Sessions != 3 || !o.waits() {
		t.Errorf("%+v, %v", p, err)
	}
	for i, want := range []bool{true, false} {
		if r := &o.requests[i]; r.Gave("Transfer-Encoding") != want {
			t.Errorf("%d: %v", i, r.Header)
		}
	}
	var wrong flagsError
	for _, line := range []string{"-chunked=x", "-laddr nowhere.invalid", "-max-connections x", "-session-tickets=2",
		"-workers -1", "-connect-to a:1:b", "-header x", "-header :", "-proxy-header x", "-root-certs=", "-rate x", "-rate",
		"-duration NaN", "-timeout 1", "-nothing"} {
		if _, err := parseAttack(strings.Fields(line)); !errors.As(err, &wrong) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// The resolvers, in turn, are asked for names that no other flag maps.
func TestResolvers(t *testing.T) {
	n := testserver.ServeNames(t)
	n.Set("shop.test", "127.0.0.9", "127.0.0.8")
	for _, c := range []struct{ flags, want, wrong string }{
		{"", "[shop.test:80:127.0.0.9:80]", ""},
		{"-connect-to shop.test:80:127.0.0.7:81", "[shop.test:80:127.0.0.7:81]", ""},
		{"-unix-socket /run/s", "[shop.test:80:/run/s 127.0.0.1:80:/run/s]", ""},
		{"-targets no", "[]", "don't know no.test"},
	} {
		o, err := parseAttack(append(strings.Fields(c.flags), "-resolvers", n.Addr()+","+n.Addr(), "-dns-ttl", "30s"))
		if err != nil {
			t.Fatal(err)
		}
		list := "GET http://shop.test/\nGET http://127.0.0.1/\n"
		if c.wrong != "" {
			list = "GET http://no.test/\n"
		}
		if o.requests, err = Read("list", strings.NewReader(list), files); err != nil {
			t.Fatal(err)
		}
		p, err := o.plan()
		if err != nil {
			t.Fatal(err)
		}
		err = o.lookUp(p)
		if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v", c.flags, err)
		}
		if got := fmt.Sprint(p.Target.Way.Resolve); got != c.want {
			t.Errorf("%s: %s, want %s", c.flags, got, c.want)
		}
	}
	for _, flag := range []string{"-resolvers=dns.test", "-resolvers=1.2.3.4:x", "-dns-ttl=x"} {
		if _, err := parseAttack([]string{flag}); err == nil {
			t.Errorf("%s is taken", flag)
		}
	}
}

func TestRead(t *testing.T) {
	const list = "\ufeff" + `# a comment
GET http://a:8080/one?x=1
X-Id: 1: 2
Host: other

POST https://b/two
Content-Type: application/json
@body.json
PUT http://a/three
@empty
GET http://a/four HTTP/1.1
Host: a`
	got, err := Read("list", strings.NewReader(list), files)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range got {
		lines = append(lines, fmt.Sprintf("%s %s %q %q", r.Method, r.URL, r.Header, r.Body))
	}
	want := []string{
		`GET http://a:8080/one?x=1 [["X-Id" "1: 2"] ["Host" "other"]] ""`,
		`POST https://b/two [["Content-Type" "application/json"]] "{\"a\":1}"`,
		`PUT http://a/three [] ""`,
		`GET http://a/four [["Host" "a"]] ""`,
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}

func TestFaultsNameTheLine(t *testing.T) {
	for list, want := range map[string]string{
		"":                                  "l holds no request",
		"# only\n":                          "l holds no request",
		"GET a/b":                           "l:1: ",
		"X: 1":                              "l:1: write method and URL first",
		"GET http://a/\n\nX: 1":             "l:3: write method and URL first",
		"GET http://a/\nnonsense":           "l:2: neither a request",
		"GET http://a/\n@missing":           "l:2: body: no such file",
		"GET http://a/\n@empty\n@body.json": "l:3: the request has a body already",
		"@empty":                            "l:1: write method",
		"GET http://a/\nGET http://a/b c":   `l:2: "http://a/b c" has a blank`,
	} {
		if _, err := Read("l", strings.NewReader(list), files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", list, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("GET http://a/\nX: 1\n@body.json\n\nPOST https://b:1/x")
	f.Fuzz(func(t *testing.T, list string) {
		got, err := Read("l", strings.NewReader(list), files)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%q takes several lines", err)
			}
			return
		}
		for _, r := range got {
			if r.URL.Hostname() == "" || !isMethod(r.Method) {
				t.Errorf("%+v", r)
			}
		}
	})
}
