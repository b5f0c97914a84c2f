package self

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"brunt/internal/engine/machine"
)

// A process that computes on the cores that this process may use is counted as others' time, and as waiting time of a
// thread of this process that also computes.
func TestABusyProcessBesideIsSeen(t *testing.T) {
	cores := machine.Cores()
	if len(cores) == 0 {
		t.Fatal("this process may use no core")
	}
	p := Start(nil)
	defer p.Stop()
	var beside []*exec.Cmd
	for range cores {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
		beside = append(beside, cmd)
	}
	p.Sample()
	// Wait for processor time of the loops and not for wall-clock time, however long this takes.
	const leastNs = 300_000_000
	var others, steal, waited int64
	for had := int64(0); had < leastNs; {
		for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
		}
		h := p.Sample()
		others, steal, waited = others+h.OthersNs, steal+h.StealNs, waited+h.RunQueueNs
		had = 0
		for _, cmd := range beside {
			text, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/schedstat")
			if err != nil {
				t.Fatal(err)
			}
			had += int64(field(text, 0))
		}
	}
	// Half of it may be lost to the kernel's rounding, and to time that counts as stolen and idle.
	if others+steal < leastNs/2 {
		t.Errorf("processes beside had more than %d ns of our cores; seen: others %d ns, steal %d ns", leastNs, others, steal)
	}
	if waited == 0 {
		t.Error("nothing waited for a core beside busy loops on every one")
	}
}
