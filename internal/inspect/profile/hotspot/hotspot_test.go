package hotspot_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/internal/inspect/profile"
	"brunt/internal/inspect/profile/hotspot"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// helperVariable makes the test's program print why it can't record the process with this PID.
const helperVariable = "BRUNT_HOTSPOT_HELPER"

func TestMain(m *testing.M) {
	if text := os.Getenv(helperVariable); text != "" {
		pid, _ := strconv.Atoi(text)
		_, err := hotspot.Open(pid)
		fmt.Print(err)
		return
	}
	os.Exit(m.Run())
}

// requests sends requests, one after another.
func requests(t *testing.T, s *testserver.Server, path string, n int) {
	t.Helper()
	for range n {
		a, err := http.Get("http://" + s.Addr + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
	}
}

// interval is an interval of a load.
func interval(length time.Duration, warmUp bool) *measure.Interval {
	iv := &measure.Interval{}
	iv.EndNs, iv.WarmUp = int64(length), warmUp
	return iv
}

// profiled returns what is seen of a JVM while it answers requests, after a warm-up with others.
func profiled(t *testing.T, s *testserver.Server, source string) (record.Profile, []record.Warning) {
	t.Helper()
	parsed, err := profile.Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	w := profile.New([]*profile.Source{parsed})
	w.Start(true, nil)
	began := time.Now()
	requests(t, s, "/other", 20)
	turn := time.Now()
	_ = w.Interval(interval(turn.Sub(began), true))
	requests(t, s, "/", 100)
	_ = w.Interval(interval(time.Since(turn), false))
	all, warnings := w.Finish()
	if len(all) == 0 {
		return record.Profile{}, warnings
	}
	return all[0], warnings
}

// A method that computes is named first, those of the warm-up and idle ones aren't, and a recording of the user's goes
// on, whereas that of a killed brunt ends.
func TestMethodsOfJVM(t *testing.T) {
	s := testserver.JVM(t)
	j, err := hotspot.Open(s.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	dead := strings.Replace(hotspot.OurName(os.Getpid()), fmt.Sprintf("-%d-", os.Getpid()), "-4194305-", 1) + "-1"
	for _, name := range []string{"mine", dead} {
		if answer, err := j.Command(t.Context(), "JFR.start name="+name); err != nil ||
			!strings.Contains(answer, "Started") {
			t.Fatalf("%q, %v", answer, err)
		}
	}
	folder := filepath.Join(os.TempDir(), dead)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(folder)

	p, warnings := profiled(t, s, fmt.Sprintf("profile:pid:%d", s.PID))
	if len(p.Functions) == 0 || p.Functions[0].Name != "Service.hot" || p.Functions[0].Own < 0.5 || p.OnCPU <= 0 ||
		p.LengthNs <= 0 {
		t.Fatalf("%+v, %+v", p, warnings)
	}
	for _, f := range p.Functions {
		if f.Name == "Service.idle" && f.With > 0.05 || f.Name == "Service.other" {
			t.Errorf("%+v is accused", f)
		}
	}
	answer, err := j.Command(t.Context(), "JFR.check")
	if err != nil || !strings.Contains(answer, "name=mine") || strings.Contains(answer, "brunt") {
		t.Errorf("recordings that are left: %q, %v", answer, err)
	}
	testserver.Freeze(s.PID)
	j.Patience(time.Second)
	if _, err := j.Record(t.Context()); err == nil || !strings.Contains(err.Error(), "doesn't answer") {
		t.Errorf("a JVM that stands still: %v", err)
	}
	testserver.Thaw(s.PID)
	if found, _ := filepath.Glob(strings.TrimSuffix(folder, "-1") + "*"); len(found) > 0 {
		t.Errorf("folders that are left: %v", found)
	}
	if found, _ := filepath.Glob(filepath.Join(os.TempDir(), hotspot.OurName(os.Getpid())+"*")); len(found) > 0 {
		t.Errorf("folders that are left: %v", found)
	}
}

// JVMs that can't be recorded are told in one line that says what to do.
func TestJVMsThatCannotBeRecorded(t *testing.T) {
	for _, c := range []struct{ option, want string }{
		{"-XX:-FlightRecorder", "Flight Recorder is disabled. Start it without -XX:-FlightRecorder"},
		{"-Xrs", "start it without -Xrs"},
		{"-XX:+DisableAttachMechanism", "start it without -XX:+DisableAttachMechanism"},
	} {
		t.Run(c.option, func(t *testing.T) {
			t.Parallel()
			s := testserver.JVM(t, testserver.Settings(c.option))
			j, err := hotspot.Open(s.PID)
			if err == nil {
				defer j.Close()
				if c.option == "-XX:+DisableAttachMechanism" {
					j.Patience(time.Second)
				}
				_, err = j.Record(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			requests(t, s, "/", 1)
		})
	}
}

func TestProcessesThatAreNoJVMs(t *testing.T) {
	if _, err := hotspot.Open(4194305); err == nil || !strings.Contains(err.Error(), "there is no process") {
		t.Errorf("%v", err)
	}
	if _, err := hotspot.Open(os.Getpid()); err == nil || !strings.Contains(err.Error(), "isn't a JVM") {
		t.Errorf("%v", err)
	}
	// A program of which a library of OpenJ9 is a part.
	f, err := os.Create(filepath.Join(t.TempDir(), "libj9vm29.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	m, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(m)
	if _, err := hotspot.Open(os.Getpid()); err == nil || !strings.Contains(err.Error(), "OpenJ9") {
		t.Errorf("%v", err)
	}
}

// The process of another user needs root.
func TestProcessOfAnotherUser(t *testing.T) {
	testserver.SkipQuick(t)
	program := "/proc/self/exe"
	var as *syscall.SysProcAttr
	if os.Geteuid() == 0 { // the program must be where any user can read it
		folder, err := os.MkdirTemp("", "brunt-test-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(folder)
		program = filepath.Join(folder, "program")
		if err := copyProgram(program); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	cmd := exec.Command(program)
	cmd.Dir, cmd.SysProcAttr, cmd.Env = "/", as, append(os.Environ(), helperVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "run brunt as that user or as root") {
		t.Errorf("%s, %v", out, err)
	}
}

// copyProgram copies the test's program.
func copyProgram(to string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, from); err != nil {
		return err
	}
	return f.Close()
}

func TestNamesOfRecordings(t *testing.T) {
	mine := hotspot.OurName(os.Getpid())
	rest := strings.TrimPrefix(mine, "brunt-")
	namespace, _, _ := strings.Cut(rest, "-")
	for name, want := range map[string]bool{
		mine + "-1":                           false,
		mine + "0-1":                          true, // an earlier process with this PID
		"brunt-" + namespace + "-4194305-1-1": true,
		"brunt-1-4194305-1-1":                 false, // of another container
		"brunt-1":                             false,
		"mine":                                false,
	} {
		if got := hotspot.Left(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
