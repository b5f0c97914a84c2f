package testserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// Etcd starts an etcd of one member without users.
func Etcd(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	scheme := "http://"
	sp := &spec{
		name:   "etcd",
		binary: binary(t, "etcd", "etcd-server"),
		ports:  2,
		arguments: func(s *Server) []string {
			clients, peers := scheme+s.Addr, fmt.Sprintf("http://%s:%d", s.Host, s.ports[1].port)
			return append([]string{
				"--data-dir", filepath.Join(s.Dir, "data"),
				"--listen-client-urls", clients, "--advertise-client-urls", clients,
				"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
				"--initial-cluster", "default=" + peers,
				"--heartbeat-interval", "20", "--election-timeout", "200",
			}, o.settings...)
		},
		ready: httpReady("/health", http.StatusOK),
	}
	if o.tls {
		scheme = "https://"
		o.settings = append(o.settings, "--cert-file=server.crt", "--key-file=server.key")
		sp.prepare = (*Server).certify
	}
	return launch(t, sp, &Server{})
}

// EtcdCluster starts a cluster of so many etcds, without users, and returns when all know each other.
func EtcdCluster(t TB, members int) []*Server {
	t.Helper()
	all := []*Server{Etcd(t, Settings("--strict-reconfig-check=false"))}
	first := all[0]
	initial := fmt.Sprintf("default=http://%s:%d", first.Host, first.ports[1].port)
	for i := 1; i < members; i++ {
		name := fmt.Sprintf("m%d", i)
		var peers string
		all = append(all, launch(t, &spec{
			name:   "etcd",
			binary: binary(t, "etcd", "etcd-server"),
			ports:  2,
			configure: func(s *Server) (file, content string) {
				peers = fmt.Sprintf("http://%s:%d", s.Host, s.ports[1].port)
				if _, err := etcdAsk(first, "/v3/cluster/member/add", fmt.Sprintf(`{"peerURLs":[%q]}`, peers)); err != nil {
					t.Fatalf("add a member to etcd: %v", err)
				}
				return "peers", peers
			},
			arguments: func(s *Server) []string {
				clients := "http://" + s.Addr
				return []string{
					"--name", name, "--data-dir", filepath.Join(s.Dir, "data"),
					"--listen-client-urls", clients, "--advertise-client-urls", clients,
					"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
					"--initial-cluster", initial + "," + name + "=" + peers, "--initial-cluster-state", "existing",
					"--heartbeat-interval", "20", "--election-timeout", "200",
				}
			},
			ready: httpReady("/health", http.StatusOK),
		}, &Server{}))
		initial += "," + name + "=" + peers
	}
	return all
}

// EtcdLeader is the one of a cluster's members that leads it; nil if none says so.
func EtcdLeader(all []*Server) *Server {
	for _, s := range all {
		var status struct {
			Header struct {
				MemberID string `json:"member_id"`
			} `json:"header"`
			Leader string `json:"leader"`
		}
		body, err := etcdAsk(s, "/v3/maintenance/status", "{}")
		if err == nil && json.Unmarshal(body, &status) == nil && status.Leader != "" &&
			status.Leader == status.Header.MemberID {
			return s
		}
	}
	return nil
}

// etcdAsk sends a request in JSON to the member's gateway.
func etcdAsk(s *Server, path, body string) ([]byte, error) {
	client := http.Client{Timeout: 5 * time.Second}
	r, err := client.Post("http://"+s.Addr+path, "application/json", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.Status, answer)
	}
	return answer, err
}
