package connection

import (
	"crypto/tls"
	"reflect"
	"strings"
	"testing"

	"brunt/internal/plan"
	"brunt/internal/protocol"
)

var redisURL = Form{Plain: "redis", Secure: "rediss", Port: "6379"}

// What Format writes, Parse reads.
func TestURLsAreReadAsWritten(t *testing.T) {
	for _, c := range []struct {
		name      string
		of        plan.Target
		addresses []string
		text      string
	}{
		{"one host", plan.Target{}, []string{"10.0.0.1:7000"}, "redis://10.0.0.1:7000/"},
		{"user and database", plan.Target{User: "me", Password: "a/b@c:d%", Database: "3"}, []string{"h:1", "[::1]:2"},
			"redis://me:a%2Fb%40c%3Ad%25@h:1,[::1]:2/3"},
		{"password only", plan.Target{Password: "x y"}, []string{"h:1"}, "redis://:x%20y@h:1/"},
		{"socket", plan.Target{}, []string{"/run/redis.sock"}, "redis://%2Frun%2Fredis.sock/"},
		{"TLS", plan.Target{TLS: plan.TLS{Enabled: true, InsecureSkipVerify: true, ServerName: "db"}}, []string{"h:1"},
			"rediss://h:1/?servername=db&sslmode=require"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := redisURL.Format(&c.of, c.addresses)
			if text != c.text {
				t.Errorf("%s, want %s", text, c.text)
			}
			got, err := redisURL.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range c.addresses {
				want := protocol.Target{Address: a, User: c.of.User, Password: c.of.Password, Database: c.of.Database,
					Options: map[string]string{}}
				if c.of.TLS.Enabled {
					want.TLS = &tls.Config{InsecureSkipVerify: true, ServerName: "db", MinVersion: tls.VersionTLS12}
				}
				if !reflect.DeepEqual(got[i], want) {
					t.Errorf("%+v, want %+v", got[i], want)
				}
			}
		})
	}
}

func TestURLsOfServers(t *testing.T) {
	got, err := redisURL.Parse("h?x=1")
	if err != nil || got[0].Address != "h:6379" || got[0].Options["x"] != "1" {
		t.Errorf("%+v, %v", got, err)
	}
	if Only(got[0]) == nil || Only(got[0], "x") != nil {
		t.Error("options")
	}
	for text, want := range map[string]string{
		"http://me:secret@h:1":        "the URL begins with redis://",
		"redis://me:sec%ret@h":        "it can't be read",
		"redis://me:secret@h:x":       "is not a port",
		"redis://me:secret@h?sslmode": "",
		"redis://:secret@h?sslmode=a": "write disable",
		"redis://:secret":             "is not a port",
		"redis://me:secret#x@h":       "it can't be read",
		"redis://me:secret/x@h:1":     "it can't be read",
		"redis://me:12/secret@h:1":    "it can't be read",
		"redis://me:12#secret@h:1":    "it can't be read",
		"redis://me:12?secret@h:1":    "it can't be read",
		"redis://me:12?secret=x@h:1":  "it can't be read",
		"redis://me:a@12/secret@h:1":  "it can't be read",
		"redis://h:1/0?a=1;secret":    "it can't be read",
		"redis://h/?user=a@b":         "",
		"redis://h/?password=a@b":     "",
		"redis://h/?name=a%40b":       "",
	} {
		_, err := redisURL.Parse(text)
		if want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
