package kubernetes

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Closing adopted workers deletes the Job and the Secret that a killed process created. Objects that are gone already
// are no error.
func TestAdoptedWorkersAreDeleted(t *testing.T) {
	noEnvironment(t)
	var mu sync.Mutex
	var asked []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		kind, name := path.Split(r.URL.Path)
		asked = append(asked, r.Method+" "+path.Base(kind)+"/"+name)
		if strings.Contains(r.URL.Path, "/secrets/") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"kind":"Status","reason":"NotFound","code":404}`))
			return
		}
		_, _ = w.Write([]byte("{}"))
	}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	server.StartTLS()
	t.Cleanup(server.Close)
	text := strings.Replace(usual, "https://10.1.2.3:6443", server.URL, 1)
	c, err := Open(Source{Kubeconfig: write(t, t.TempDir(), "config", text)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Adopt("brunt-cars-1").Close(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"DELETE jobs/brunt-cars-1", "DELETE secrets/brunt-cars-1"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}
