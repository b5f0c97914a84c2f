package testserver

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// Slurm is a cluster of nodes n1, n2 and so on, all on this machine: the slurmd of each node, their controller, and
// MUNGE, which authenticates them.
type Slurm struct {
	Conf  string    // file for SLURM_CONF, which tells clients the controller's address
	Nodes []*Server // the slurmd of each node
}

// Variable returns the environment variable that the cluster's clients need, and that its steps and their tasks have.
func (s *Slurm) Variable() string { return "SLURM_CONF=" + s.Conf }

// StartSlurm starts a cluster with the given number of nodes, each with one CPU, in the partition main. The last node
// is also in the partition small.
func StartSlurm(t TB, nodes int) *Slurm {
	t.Helper()
	srun, sinfo := binary(t, "srun", "slurm-client"), binary(t, "sinfo", "slurm-client")
	munge := startMunge(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatalf("%v", err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatalf("%v", err)
	}
	cluster := &Slurm{}
	client := func(s *Server, program string, args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "SLURM_CONF="+filepath.Join(s.Dir, "slurm.conf"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", program, err, out)
		}
		return string(out), err
	}
	controller := launch(t, &spec{
		name: "slurmctld", binary: binary(t, "slurmctld", "slurmctld"), ports: 1 + nodes,
		configure: func(s *Server) (file, content string) {
			var text strings.Builder
			fmt.Fprintf(&text, slurmConf, host, s.Host, s.Port, munge, me.Username, me.Username, s.Dir, s.Dir, s.Dir, s.Dir)
			for i := range nodes {
				fmt.Fprintf(&text, "NodeName=n%d NodeHostname=%s NodeAddr=%s Port=%d CPUs=1 State=UNKNOWN\n", i+1, host, s.Host,
					s.ports[i+1].port)
			}
			fmt.Fprintf(&text, "PartitionName=main Nodes=n[1-%d] Default=YES State=UP\n", nodes)
			fmt.Fprintf(&text, "PartitionName=small Nodes=n%d State=UP\n", nodes)
			return "slurm.conf", text.String()
		},
		arguments: func(s *Server) []string { return []string{"-D", "-f", filepath.Join(s.Dir, "slurm.conf")} },
		ready: func(s *Server) error {
			_, err := client(s, sinfo, "--noheader")
			return err
		},
	}, &Server{})
	cluster.Conf = filepath.Join(controller.Dir, "slurm.conf")
	t.Cleanup(func() { EndAll(t, cluster.Variable()) }) // the steps and their tasks outlive slurmd
	for i := range nodes {
		address := net.JoinHostPort(controller.Host, strconv.Itoa(controller.ports[i+1].port))
		cluster.Nodes = append(cluster.Nodes, launch(t, &spec{
			name: "slurmd", binary: binary(t, "slurmd", "slurmd"),
			arguments: func(*Server) []string {
				return []string{"-D", "-N", "n" + strconv.Itoa(i+1), "-f", cluster.Conf}
			},
			ready: func(*Server) error { return dial("tcp", address) },
		}, &Server{}))
	}
	// srun waits for nodes that haven't registered yet.
	if _, err := client(controller, srun, "--nodes="+strconv.Itoa(nodes), "true"); err != nil {
		t.Fatalf("%v", err)
	}
	return cluster
}

// slurmConf is the configuration without nodes. Clients ask the controller about nodes that don't respond within 10 s.
const slurmConf = `ClusterName=brunt
SlurmctldHost=%s(%s)
SlurmctldPort=%d
AuthInfo=socket=%s
SlurmUser=%s
SlurmdUser=%s
StateSaveLocation=%s/state
SlurmdSpoolDir=%s/spool-%%n
SlurmctldPidFile=%s/slurmctld.pid
SlurmdPidFile=%s/slurmd-%%n.pid
SlurmdTimeout=10
KillWait=2
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SlurmdParameters=config_overrides
`

// startMunge starts MUNGE, by which Slurm's programs authenticate each other, and returns its socket.
func startMunge(t TB) string {
	t.Helper()
	s := launch(t, &spec{
		name: "munged", binary: binary(t, "munged", "munge"),
		prepare: func(s *Server) error {
			key := make([]byte, 128)
			_, _ = rand.Read(key) // never fails
			return os.WriteFile(filepath.Join(s.Dir, "key"), key, 0o600)
		},
		arguments: func(s *Server) []string {
			in := func(name string) string { return filepath.Join(s.Dir, name) }
			return []string{"--foreground", "--force", "--key-file", in("key"), "--socket", in("socket"),
				"--pid-file", in("pid"), "--seed-file", in("seed"), "--log-file", in("munged.log")}
		},
		ready: func(s *Server) error { return dial("unix", filepath.Join(s.Dir, "socket")) },
	}, &Server{})
	return filepath.Join(s.Dir, "socket")
}
