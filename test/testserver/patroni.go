package testserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// PatroniMember is a PostgreSQL of a cluster that Patroni manages, with Patroni's REST API.
type PatroniMember struct {
	*Server        // Patroni and PostgreSQL, which are stopped and paused together. Addr is PostgreSQL's
	REST    string // host:port
	name    string
}

// PatroniTTL is the lifetime of the leader's key in etcd: the failure of a leader is detected after that time at the
// latest.
const PatroniTTL = 6 * time.Second

// PatroniCluster starts PostgreSQL on the given number of members, with Patroni and an etcd as its store, and returns
// once all replicate. The first member is the primary. The superuser is "brunt", without a password. With synchronous,
// the primary waits for one of the replicas. Patroni doesn't wait for a failed primary to recover.
func PatroniCluster(t TB, members int, synchronous bool) []*PatroniMember {
	t.Helper()
	keys := Etcd(t)
	var all []*PatroniMember
	for i := range members {
		m := &PatroniMember{Server: &Server{User: "brunt", Database: "postgres"}, name: fmt.Sprintf("n%d", i+1)}
		launch(t, &spec{
			name:   "Patroni",
			binary: binary(t, "patroni", "patroni"),
			cred:   unprivileged(t, "postgres", "postgresql-15"),
			ports:  2,
			configure: func(s *Server) (file, content string) {
				m.REST = fmt.Sprintf("%s:%d", s.Host, s.ports[1].port)
				bin := filepath.Dir(postgresBinary(t, "postgres"))
				return "patroni.yml", patroniConfig(m, bin, keys.Addr, synchronous)
			},
			arguments: func(*Server) []string { return []string{"patroni.yml"} },
			ready:     func(*Server) error { return m.serves() },
			apart:     func(*Server) []int { return m.apartFromPatroni() },
		}, m.Server)
		t.Cleanup(m.Kill) // stopping Patroni takes long
		all = append(all, m)
	}
	for deadline := time.Now().Add(readyTimeout); ; time.Sleep(pollEvery) {
		replicas := all[0].Psql(t, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")
		if replicas == fmt.Sprint(members-1) {
			return all
		}
		if time.Now().After(deadline) {
			t.Fatalf("Patroni: %s replicas stream, want %d", replicas, members-1)
		}
	}
}

// Postmaster returns the PID of PostgreSQL's first process; 0 if there is none. Patroni starts that process so that it
// outlives Patroni.
func (m *PatroniMember) Postmaster() (pid int) {
	text, _ := os.ReadFile(filepath.Join(m.Dir, "data", "postmaster.pid"))
	line, _, _ := strings.Cut(string(text), "\n")
	if pid, err := strconv.Atoi(line); err == nil && pid > 1 {
		return pid
	}
	return 0
}

func (m *PatroniMember) apartFromPatroni() []int {
	if pid := m.Postmaster(); pid > 0 {
		return []int{pid}
	}
	return nil
}

func patroniConfig(m *PatroniMember, bin, etcd string, synchronous bool) string {
	return fmt.Sprintf(`scope: test
name: %[1]s
restapi: {listen: "%[2]s", connect_address: "%[2]s"}
etcd3: {hosts: ["%[3]s"]}
bootstrap:
  dcs:
    ttl: %[4]d
    loop_wait: 1
    retry_timeout: 2
    master_start_timeout: 0
    synchronous_mode: %[5]t
    postgresql:
      use_pg_rewind: true
      parameters: {max_connections: 300, max_wal_senders: 10, wal_level: replica, hot_standby: "on"}
  initdb: [{encoding: UTF8}, {locale: C}, {auth: trust}, no-sync]
postgresql:
  listen: "%[6]s"
  connect_address: "%[6]s"
  data_dir: %[7]s
  bin_dir: %[8]s
  pgpass: %[9]s
  parameters: {unix_socket_directories: "", fsync: "off", full_page_writes: "off", shared_buffers: 32MB}
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
  authentication:
    superuser: {username: %[10]s}
    replication: {username: %[10]s}
    rewind: {username: %[10]s}
`, m.name, m.REST, etcd, int(PatroniTTL.Seconds()), synchronous, m.Addr, filepath.Join(m.Dir, "data"), bin,
		filepath.Join(m.Dir, "pgpass"), m.User)
}

// serves returns nil once the member is the primary, or a replica that replicates.
func (m *PatroniMember) serves() error {
	cluster, err := m.cluster()
	if err != nil {
		return err
	}
	for _, member := range cluster {
		if member.Name == m.name && (member.Role == "leader" && member.State == "running" || member.Timeline > 0 &&
			(member.State == "running" || member.State == "streaming") && member.Role != "leader") {
			return nil
		}
	}
	return fmt.Errorf("%s isn't up: %+v", m.name, cluster)
}

type patroniState struct {
	Name, Role, State string
	Timeline          int
}

func (m *PatroniMember) cluster() ([]patroniState, error) {
	client := http.Client{Timeout: 2 * time.Second}
	answer, err := client.Get("http://" + m.REST + "/cluster")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var cluster struct{ Members []patroniState }
	err = json.NewDecoder(answer.Body).Decode(&cluster)
	return cluster.Members, err
}

// PatroniLeader returns the leader according to the first member that reports one; nil if none does.
func PatroniLeader(all []*PatroniMember) *PatroniMember {
	for _, asked := range all {
		states, _ := asked.cluster()
		for _, s := range states {
			for _, m := range all {
				if s.Name == m.name && strings.HasSuffix(s.Role, "leader") {
					return m
				}
			}
		}
	}
	return nil
}
