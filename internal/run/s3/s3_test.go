package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brunt/test/testserver"
)

func TestPlaces(t *testing.T) {
	for text, want := range map[string]Place{
		"s3://b": {"b", ""}, "s3://b/": {"b", ""}, "s3://b/p": {"b", "p"}, "s3://b//p/q/": {"b", "p/q"},
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := Parse(text); err != nil || got != want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	for _, text := range []string{"", "b/p", "s3://", "s3:///p", "s3://key:secret@b/p", "https://b/p"} {
		t.Run("bad "+text, func(t *testing.T) {
			if got, err := Parse(text); err == nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// transport replaces the network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Requests are signed as in the examples in the documentation of Amazon S3, "Signature Calculations for the
// Authorization Header: Transferring Payload in a Single Chunk".
func TestPublishedSignatures(t *testing.T) {
	for query, want := range map[string]string{
		"lifecycle=":          "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
		"max-keys=2&prefix=J": "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
	} {
		t.Run(query, func(t *testing.T) {
			s := New(Options{Region: "us-east-1", key: "AKIAIOSFODNN7EXAMPLE",
				secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"})
			s.now = func() time.Time { return time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC) }
			var said string
			s.client.Transport = transport(func(r *http.Request) (*http.Response, error) {
				said = r.Header.Get("Authorization")
				return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(""))}, nil
			})
			u := &url.URL{Scheme: "https", Host: "examplebucket.s3.amazonaws.com", Path: "/", RawQuery: query}
			if err := s.do(context.Background(), http.MethodGet, u, nil, 0, discard); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(said, "Signature="+want) {
				t.Errorf("got %s, want %s", said, want)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	for want, row := range map[string]struct {
		o           Options
		bucket, key string
	}{
		"https://b.s3.eu-west-1.amazonaws.com/a%20b/%C3%BC": {Options{Region: "eu-west-1"}, "b", "a b/ü"},
		"https://s3.eu-west-1.amazonaws.com/b.c/k":          {Options{Region: "eu-west-1"}, "b.c", "k"},
		"http://127.0.0.1:9000/b/k%2B":                      {Options{Endpoint: "http://127.0.0.1:9000"}, "b", "k+"},
		"https://store/minio/b/":                            {Options{Endpoint: "https://store/minio/"}, "b", ""},
	} {
		t.Run(want, func(t *testing.T) {
			if got := New(row.o).address(row.bucket, row.key).String(); got != want {
				t.Errorf("got %s", got)
			}
		})
	}
}

// clean sets the environment to the credentials of the test only.
func clean(t *testing.T, set map[string]string) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION",
		"AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_CONFIG_FILE",
		"AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, set[name])
	}
	t.Setenv("HOME", t.TempDir())
}

func TestCredentialsOfTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	keys := file("credentials", "[default]\naws_access_key_id = A\naws_secret_access_key = B\n[other]\naws_access_key_id=C\naws_secret_access_key=D\naws_session_token=E\n")
	settings := file("config", "[profile other]\nregion = eu-central-1\nendpoint_url = http://store:9000\n")
	for name, row := range map[string]struct {
		set  map[string]string
		want Options
	}{
		"variables": {map[string]string{"AWS_ACCESS_KEY_ID": "K", "AWS_SECRET_ACCESS_KEY": "S", "AWS_REGION": "r",
			"AWS_ENDPOINT_URL": "http://x"}, Options{"http://x", "r", "K", "S", ""}},
		"default profile": {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": keys}, Options{"", "us-east-1", "A", "B", ""}},
		"named profile": {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": keys, "AWS_CONFIG_FILE": settings,
			"AWS_PROFILE": "other"}, Options{"http://store:9000", "eu-central-1", "C", "D", "E"}},
	} {
		t.Run(name, func(t *testing.T) {
			clean(t, row.set)
			if got, err := FromEnvironment(); err != nil || got != row.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	for name, set := range map[string]map[string]string{
		"none": {}, "no secret": {"AWS_ACCESS_KEY_ID": "K"},
		"no URL": {"AWS_ACCESS_KEY_ID": "K", "AWS_SECRET_ACCESS_KEY": "hidden", "AWS_ENDPOINT_URL": "minio:9000"},
	} {
		t.Run("bad: "+name, func(t *testing.T) {
			clean(t, set)
			_, err := FromEnvironment()
			if err == nil || strings.Contains(err.Error(), "hidden") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func store(t *testing.T) (*Store, Place) {
	server := testserver.ObjectStore(t)
	return New(Options{Endpoint: "http://" + server.Addr, Region: "us-east-1", key: "k", secret: "s"}),
		Place{Bucket: server.Database, Prefix: "runs of ü"}
}

// A folder is the same after upload and download, and the file that marks it as complete is uploaded last.
func TestFoldersComeBack(t *testing.T) {
	t.Parallel()
	s, p := store(t)
	from, to := t.TempDir(), t.TempDir()
	files := map[string]string{"run.json": "{}", "empty": "", "sub/a b+ü.txt": strings.Repeat("x", 100_000), "z": "z"}
	for name, text := range files {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	var order []string
	base := s.client.Transport
	s.client.Transport = transport(func(r *http.Request) (*http.Response, error) {
		order = append(order, r.Method+" "+r.URL.Path)
		if base == nil {
			return http.DefaultTransport.RoundTrip(r)
		}
		return base.RoundTrip(r)
	})
	if err := s.PutFolder(ctx, p.In("one"), from, "run.json", nil); err != nil {
		t.Fatal(err)
	}
	if last := order[len(order)-1]; !strings.HasSuffix(last, "/run.json") {
		t.Errorf("stored last: %s", last)
	}
	folders, err := s.Folders(ctx, p, "run.json")
	if err != nil || !slices.Equal(folders, []string{"one"}) {
		t.Fatalf("folders %q, %v", folders, err)
	}
	if err := s.GetFolder(ctx, p.In("one"), to); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != text {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// Listings with several pages are complete.
func TestLongListsAreWhole(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if token := r.URL.Query().Get("continuation-token"); token != fmt.Sprint(strings.TrimPrefix(fmt.Sprint(n-1), "0")) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, "<R><IsTruncated>%v</IsTruncated><NextContinuationToken>%d</NextContinuationToken><Contents><Key>p/%d</Key></Contents></R>",
			n < 3, n, n)
	}))
	defer server.Close()
	s := New(Options{Endpoint: server.URL, Region: "r", key: "k", secret: "s"})
	names, err := s.List(context.Background(), Place{"b", "p"})
	if err != nil || !slices.Equal(names, []string{"1", "2", "3"}) {
		t.Errorf("got %q, %v", names, err)
	}
}

// Requests that fail for a temporary reason are repeated, and others are not. Errors contain no secrets.
func TestFailuresOfTheStore(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		codes []int
		want  string
		asked int64
	}{
		"comes back":   {[]int{503, 500, 200}, "", 3},
		"stays away":   {[]int{503, 503, 503, 503, 200}, "answers 503 Service Unavailable", 4},
		"refuses":      {[]int{403, 200}, "see the credentials", 1},
		"has nothing":  {[]int{404, 200}, "see that the bucket exists", 1},
		"wrong region": {[]int{400, 200}, "see AWS_REGION", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if string(body) != "text" {
					t.Errorf("attempt %d has the body %q", asked.Load(), body)
				}
				w.WriteHeader(row.codes[asked.Add(1)-1])
			}))
			defer server.Close()
			s := New(Options{Endpoint: server.URL, Region: "r", key: "k", secret: "hidden"})
			s.pause = time.Nanosecond
			err := s.Put(context.Background(), Place{"b", "k"}, bytes.NewReader([]byte("text")), 4)
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("got %v, want %q", err, row.want)
			}
			if err != nil && strings.Contains(err.Error(), "hidden") {
				t.Errorf("a secret is told: %v", err)
			}
			if asked.Load() != row.asked {
				t.Errorf("asked %d times, want %d", asked.Load(), row.asked)
			}
		})
	}
}

// Waiting for a store that never answers ends with the caller's context.
func TestAStoreThatHangs(t *testing.T) {
	t.Parallel()
	came, over := make(chan struct{}, attempts), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		came <- struct{}{}
		<-over
	}))
	defer server.Close()
	defer close(over)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-came
		cancel()
	}()
	_, err := New(Options{Endpoint: server.URL, Region: "r", key: "k", secret: "s"}).List(ctx, Place{"b", ""})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Keys that lead out of the folder are not written.
func TestKeysThatLeaveTheFolder(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("list-type") {
			fmt.Fprint(w, "<R><Contents><Key>p/../../evil</Key></Contents><Contents><Key>p/good</Key></Contents><Contents><Key>p//abs</Key></Contents></R>")
			return
		}
		fmt.Fprint(w, "text")
	}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := New(Options{Endpoint: server.URL, Region: "r", key: "k", secret: "s"})
	if err := s.GetFolder(context.Background(), Place{"b", "p"}, dir); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(dir)), "*"))
	if err != nil || len(found) != 1 {
		t.Errorf("written: %q, %v", found, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "good")); err != nil {
		t.Error(err)
	}
}
