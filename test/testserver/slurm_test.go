package testserver

import (
	"bufio"
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
	cmd.Env = append(os.Environ(), s.Variable())
	out, err := cmd.Output()
	nodes := strings.Fields(string(out))
	slices.Sort(nodes)
	if err != nil || !slices.Equal(nodes, []string{"n1", "n2", "n3"}) {
		t.Errorf("nodes %q, %v", nodes, err)
	}
}

// The steps of a cluster end with it, even if their clients were killed.
func TestSlurmLeavesNoStep(t *testing.T) {
	variable := ""
	t.Run("cluster", func(t *testing.T) {
		s := StartSlurm(t, 1)
		variable = s.Variable()
		cmd := exec.Command("srun", "sh", "-c", "echo begun; exec sleep 600")
		cmd.Env = append(os.Environ(), variable)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Errorf("the step said %q: %v", line, err)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if left := Having(variable); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// EndAll ends a process whose parent has ended, and none without the variable.
func TestEndAll(t *testing.T) {
	mine, others := "BRUNT_TEST_DIR="+t.TempDir(), "BRUNT_TEST_DIR="+t.TempDir()
	for _, variable := range []string{mine, others} {
		cmd := exec.Command("sh", "-c", "setsid sleep 600 >/dev/null 2>&1 &")
		cmd.Env = append(os.Environ(), variable)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { EndAll(t, variable) })
		if found := Having(variable); len(found) != 1 {
			t.Errorf("processes %v have %s, want 1", found, variable)
		}
	}
	EndAll(t, mine)
	if left := Having(mine); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if left := Having(others); len(left) != 1 {
		t.Errorf("processes %v of others are left, want 1", left)
	}
}
