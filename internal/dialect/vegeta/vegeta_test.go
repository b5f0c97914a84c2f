package vegeta

import (
	"errors"
	"fmt"
	"strings"
	"testing"
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
