package testserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// Etcd starts a single etcd without users.
func Etcd(t TB, opts ...Option) *Server {
	t.Helper()
	o := collect(opts)
	return etcdMember(t, &o, nil)
}

// EtcdCluster starts a cluster of etcd members without users, and returns once they all know each other. Members start
// an election when they haven't heard from their leader for 200 to 400 ms.
func EtcdCluster(t TB, members int, opts ...Option) []*Server {
	t.Helper()
	o := collect(opts)
	o.settings = append(o.settings, "--strict-reconfig-check=false")
	all := &etcds{}
	for range members {
		all.members = append(all.members, etcdMember(t, &o, all))
	}
	return all.members
}

// etcds are the existing members of a cluster.
type etcds struct {
	members []*Server
	initial string // names and peer URLs of the members, in the format of --initial-cluster
}

// etcdMember starts a member that joins the existing ones. If all is nil, it starts a cluster of one member.
func etcdMember(t TB, o *options, all *etcds) *Server {
	t.Helper()
	scheme, number, initial := "http://", 0, ""
	if all != nil {
		number, initial = len(all.members), all.initial
	}
	name := fmt.Sprintf("m%d", number)
	var peers, advertised string
	sp := &spec{
		name:   "etcd",
		binary: binary(t, "etcd", "etcd-server"),
		ports:  2,
		configure: func(s *Server) (file, content string) {
			at := fmt.Sprintf("%s:%d", s.Host, s.ports[1].port)
			peers, advertised = "http://"+at, "http://"+at
			if o.peers != nil {
				advertised = "http://" + o.peers(number, at)
			}
			if number > 0 {
				ask := fmt.Sprintf(`{"peerURLs":[%q]}`, advertised)
				if _, err := etcdAsk(all.members[0], "/v3/cluster/member/add", ask); err != nil {
					t.Fatalf("add a member to etcd: %v", err)
				}
			}
			return "peers", advertised
		},
		arguments: func(s *Server) []string {
			clients, state := scheme+s.Addr, "new"
			if number > 0 {
				state = "existing"
			}
			return append([]string{
				"--name", name, "--data-dir", filepath.Join(s.Dir, "data"),
				"--listen-client-urls", clients, "--advertise-client-urls", clients,
				"--listen-peer-urls", peers, "--initial-advertise-peer-urls", advertised,
				"--initial-cluster", initial + name + "=" + advertised, "--initial-cluster-state", state,
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
	if all != nil {
		sp.ready = etcdDecided
	}
	s := launch(t, sp, &Server{})
	if all != nil {
		all.initial += name + "=" + advertised + ","
	}
	return s
}

// etcdDecided returns nil once the cluster has decided on its version. A member that joins before ends at once.
func etcdDecided(s *Server) error {
	client := http.Client{Timeout: time.Second}
	r, err := client.Get("http://" + s.Addr + "/version")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err == nil && bytes.Contains(answer, []byte("not_decided")) {
		err = errors.New("the cluster's version isn't decided")
	}
	return err
}

// EtcdLeader returns the leader of a cluster; nil if no member reports to be the leader.
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

// etcdAsk sends a JSON request to the member's gRPC gateway.
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
