package testserver

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A step has one task on each node.
func TestSlurm(t *testing.T) {
	s := StartSlurm(t, 3)
	cmd := exec.Command("srun", "--nodes=3", "--ntasks-per-node=1", "sh", "-c", "echo $SLURMD_NODENAME")
	cmd.Env = append(os.Environ(), "SLURM_CONF="+s.Conf)
	out, err := cmd.Output()
	nodes := strings.Fields(string(out))
	slices.Sort(nodes)
	if err != nil || !slices.Equal(nodes, []string{"n1", "n2", "n3"}) {
		t.Errorf("nodes %q, %v", nodes, err)
	}
}
