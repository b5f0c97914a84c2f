package cli_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/test/shell"
	"brunt/test/testserver"
)

// With a valid token InfluxDB receives every request. With a wrong one, the run says that its points are lost, and why.
// The token appears in neither run's output or record.
func TestTokensForInfluxDB(t *testing.T) {
	const secret = "geheim"
	influx := testserver.InfluxDB18(t, testserver.Settings("auth-enabled = true"))
	ask := func(user bool, query string) string {
		address := url.URL{Scheme: "http", Host: influx.Addr, Path: "/query"}
		if user {
			address.User = url.UserPassword("me", secret)
		}
		answer, err := http.PostForm(address.String(), url.Values{"q": {query}, "db": {"load"}})
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != http.StatusOK || bytes.Contains(body, []byte("error")) {
			t.Fatalf("%s: %s %s", query, answer.Status, body)
		}
		return string(body)
	}
	ask(false, "CREATE USER me WITH PASSWORD '"+secret+"' WITH ALL PRIVILEGES")
	ask(true, "CREATE DATABASE load")
	server := testserver.Nginx(t)
	for token, lost := range map[string]bool{"me:" + secret: false, "me:other-" + secret: true} {
		t.Setenv("INFLUX_TOKEN", token)
		c := shell.Run(t, "brunt http", "http://"+server.Addr+"/", "--rate", "100", "--requests", "100", "--output", "text",
			"--export", "influx=http://"+influx.Addr+"?org=any&bucket=load/autogen")
		if c.Run == nil || c.Run.Total.OK != 100 {
			t.Fatalf("exit %d: %+v", c.Code, c.Run)
		}
		told := strings.Contains(c.Out, "did not reach influx "+influx.Addr+": it answered 401")
		recorded := false
		for _, w := range c.Run.Warnings {
			recorded = recorded || w.ID == "export-lost"
		}
		if told != lost || recorded != lost {
			t.Errorf("lost: told %v, recorded %v, want %v", told, recorded, lost)
		}
		files, err := os.ReadDir(c.Dir)
		if err != nil || len(files) < 3 {
			t.Fatalf("%v, %v", files, err)
		}
		text := c.Out + c.Err
		for _, f := range files {
			if data, err := os.ReadFile(filepath.Join(c.Dir, f.Name())); err == nil {
				text += string(data)
			}
		}
		if strings.Contains(text, secret) || len(text) < 1000 {
			t.Errorf("the token is shown, or there is nothing:\n%s", text)
		}
	}
	if rows := ask(true, "SELECT sum(ok) FROM brunt"); !strings.Contains(rows, ",100]") {
		t.Errorf("rows %s", rows)
	}
}
