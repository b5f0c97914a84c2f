package wire_test

import (
	"strings"
	"testing"

	"brunt/internal/schedule"
	"brunt/internal/tier"
)

// onRing makes benches use io_uring where the kernel has it; if it is plainBytes, as for a run whose
// stages are all closed.
const (
	onRing     = "BRUNT_TEST_IOURING"
	plainBytes = "bytes"
)

func TestOnIOUring(t *testing.T) {
	t.Setenv(onRing, "1")
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"closed", TestClosedSendsEachOperationOnce},
		{"open", TestOpenSendsEachArrivalOnceInOrder},
		{"stall", TestStallIsChargedToEveryArrival},
		{"timeout", TestTimeout},
		{"death", TestAddressDiesAndReturns},
		{"retries", TestRetries},
		{"transaction", TestTransactionCarriesValues},
		{"torn", TestTornAnswers},
		{"large", TestLargeAnswers},
		{"hostile", TestHostileAnswers},
		{"stalled writes", TestStalledWritesGoOn},
		{"cancel", TestCancelLosesNothing},
		{"hard stop", TestHardStop},
	} {
		t.Run(c.name, c.test)
	}
}

func TestOnIOUringWithoutTimesOfArrival(t *testing.T) {
	t.Setenv(onRing, plainBytes)
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"closed", TestClosedSendsEachOperationOnce},
		{"open", TestOpenSendsEachArrivalOnceInOrder},
		{"transaction", TestTransactionCarriesValues},
		{"torn", TestTornAnswers},
		{"large", TestLargeAnswers},
		{"hostile", TestHostileAnswers},
		{"death", TestAddressDiesAndReturns},
	} {
		t.Run(c.name, c.test)
	}
}

func TestTimingSaysWhatIsUsed(t *testing.T) {
	for _, ring := range []bool{false, true} {
		b := newBench(t, options{config: tier.Config{IOUring: ring}})
		b.run(schedule.Stage{Operations: 1})
		if got := b.fleet.Timing(); strings.Contains(got, "io_uring") != ring || !strings.Contains(got, "SO_TIMESTAMPNS") {
			t.Errorf("io_uring asked for: %v; timing: %s", ring, got)
		}
		b = newBench(t, options{config: tier.Config{IOUring: ring, ClosedOnly: true}})
		b.run(schedule.Stage{Operations: 1})
		if got := b.fleet.Timing(); strings.Contains(got, "SO_TIMESTAMPNS") || !strings.Contains(got, "when it is read") {
			t.Errorf("only closed stages; timing: %s", got)
		}
	}
}
