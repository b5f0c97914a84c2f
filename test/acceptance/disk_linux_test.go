package acceptance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/internal/cli"
	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
)

const (
	diskVariable   = "BRUNT_ACCEPTANCE_DISK"   // where a process mounts its disk
	sizeVariable   = "BRUNT_ACCEPTANCE_SIZE"   // size of the disk
	fillerVariable = "BRUNT_ACCEPTANCE_FILLER" // bytes that are in use until the disk has been full for a while
)

// onSmallDisk is the main function of a process with a file system that is too small. It mounts the file system, runs
// brunt, and then reports the bundle if asked to.
func onSmallDisk(args []string) int {
	dir := os.Getenv(diskVariable)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+os.Getenv(sizeVariable)); err != nil {
		fmt.Fprintln(os.Stderr, "mount:", err)
		return 2
	}
	var filler int
	fmt.Sscan(os.Getenv(fillerVariable), &filler)
	if filler > 0 {
		path := filepath.Join(dir, "filler")
		if err := os.WriteFile(path, make([]byte, filler), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "filler:", err)
			return 2
		}
		go func() {
			// Full, and for many intervals, of which a busy machine makes fewer. The rest of the disk is taken once there is
			// one, when everything else that a run begins with has been written.
			for {
				if began, err := os.Stat(filepath.Join(dir, "bundle", "intervals.ndjson")); err == nil && began.Size() > 0 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if rest, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0); err == nil {
				for err == nil {
					_, err = rest.Write(make([]byte, 4<<10))
				}
				rest.Close()
			}
			for full := 0; full < 3; time.Sleep(500 * time.Millisecond) {
				var disk syscall.Statfs_t
				if err := syscall.Statfs(dir, &disk); err == nil && disk.Bfree == 0 {
					full++
				}
			}
			os.Remove(path)
		}()
	}
	code := cli.Main("test", args, os.Stdin, os.Stdout, os.Stderr)
	if filler > 0 {
		var out, errs bytes.Buffer
		cli.Main("test", []string{"brunt", "report", filepath.Join(dir, "bundle"), "--output", "json"}, os.Stdin, &out,
			&errs)
		fmt.Println("report:")
		fmt.Print(out.String(), errs.String())
	}
	return code
}

// onReadOnlyDisk is the main function of a process whose results would be written to a read-only file system.
func onReadOnlyDisk(args []string) int {
	if err := syscall.Mount("tmpfs", os.Getenv(diskVariable), "tmpfs", syscall.MS_RDONLY, ""); err != nil {
		fmt.Fprintln(os.Stderr, "mount:", err)
		return 2
	}
	return cli.Main("test", args, os.Stdin, os.Stdout, os.Stderr)
}

// onDisk runs brunt in a process that may mount file systems, because it is in separate namespaces. This needs no
// privileges.
func onDisk(t *testing.T, role string, env []string, args ...string) outcome {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatalf("start a process with namespaces of its own: %v (the kernel must allow user namespaces)", err)
	}
	code := cmd.ProcessState.ExitCode()
	t.Logf("%s: exit %d\n%s", role, code, errs.String())
	if strings.HasPrefix(errs.String(), "mount:") || strings.HasPrefix(errs.String(), "filler:") {
		t.Fatal(errs.String())
	}
	return outcome{code: code, out: out.String(), err: errs.String()}
}

// When the disk is full, the load continues, the result is printed, and a final message says what is missing in the
// record.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	plan, dir := shell.File(t, "plan.yml", diskPlan), t.TempDir()
	o := onDisk(t, "full disk", []string{diskVariable + "=" + dir, sizeVariable + "=64k"},
		"rate", "-c", plan, "--proto", "noop", "-a", "none", "--rate", "200", "--duration", "3s", "--interval", "10ms",
		"--bundle", filepath.Join(dir, "bundle"), "--output", "json", "--quiet")
	if got := doneIn(t, o.out); got != 600 {
		t.Errorf("%d operations were done, want 600", got)
	}
	if o.code != 1 && o.code != 98 { // 98 if the machine was too busy as well
		t.Errorf("exit %d, want 1", o.code)
	}
	if !strings.Contains(o.err, "no space left on device") {
		t.Errorf("standard error doesn't say that the disk is full:\n%s", o.err)
	}
	if strings.Count(o.err, "run.json") > 1 {
		t.Errorf("standard error names a file more than once:\n%s", o.err)
	}
	if !strings.Contains(o.out, "record-disk-full") {
		t.Error("the result has no warning of it")
	}
}

// A worker whose disk is full sends all of its share, and its intervals travel to the coordinator. Nothing is missing
// in the record, which says how the worker ended.
func TestFullDiskOfAWorker(t *testing.T) {
	t.Parallel()
	plan, small, dir := shell.File(t, "plan.yml", diskPlan), t.TempDir(), filepath.Join(t.TempDir(), "bundle")
	ticket := filepath.Join(t.TempDir(), "ticket")
	ended := make(chan outcome, 1)
	go func() {
		ended <- brunt(t, "rate", "-c", plan, "--proto", "noop", "-a", "none", "--rate", "200", "--duration", "10s",
			"--vu", "2", "--interval", "100ms", "--workers", "2", "--mixed-cores", "--on", "external", "--listen",
			"127.0.0.1:0", "--ticket",
			ticket,
			"--bundle", dir, "--output", "json")
	}()
	shell.Until(t, "the ticket is there", func() bool {
		text, err := os.ReadFile(ticket)
		return err == nil && len(text) > 0 || len(ended) > 0
	})
	if len(ended) > 0 {
		t.Fatal("the load ended before its workers came")
	}
	well, full := make(chan outcome, 1), make(chan outcome, 1)
	go func() { well <- brunt(t, "worker", "--ticket", ticket, "--index", "0") }()
	go func() {
		full <- onDisk(t, "full disk", []string{diskVariable + "=" + small, sizeVariable + "=64k", "TMPDIR=" + small},
			"worker", "--ticket", ticket, "--index", "1")
	}()
	if o := <-well; o.code != 0 {
		t.Errorf("the worker with a disk ends with %d\n%s", o.code, o.err)
	}
	const noSpace = "no space left on device"
	if o := <-full; o.code != 1 || !strings.Contains(o.err, noSpace) {
		t.Errorf("the worker on a full disk ends with %d\n%s", o.code, o.err)
	}
	o := <-ended
	if !judged(o.code) {
		t.Fatalf("exit %d\n%s", o.code, o.err)
	}
	run := readRun(t, dir)
	if run.Total.Done+run.Total.Dropped != 2000 || len(run.Parts) != 2 {
		t.Fatalf("exit %d, %d operations of 2000, %d parts\n%s", o.code, run.Total.Done, len(run.Parts), o.err)
	}
	for _, p := range run.Parts {
		if p.Missing != 0 || p.Worker.Missing != 0 {
			t.Errorf("missing %d, worker %+v", p.Missing, p.Worker)
		}
	}
	if !strings.Contains(o.err, noSpace) || !strings.Contains(o.err, "of 2 workers") {
		t.Errorf("the coordinator doesn't say why a worker ended, or how many there were:\n%s", o.err)
	}
}

// A coordinator whose disk is full, which is also the disk of its workers, joins what they sent in memory, and prints
// the whole result. The last line says where the record is missing.
func TestFullDiskOfACoordinator(t *testing.T) {
	t.Parallel()
	plan, dir := shell.File(t, "plan.yml", diskPlan), t.TempDir()
	o := onDisk(t, "full disk", []string{diskVariable + "=" + dir, sizeVariable + "=96k", "TMPDIR=" + t.TempDir()},
		"rate", "-c", plan, "--proto", "noop", "-a", "none", "--rate", "200", "--duration", "6s", "--interval", "100ms",
		"--vu", "2", "--workers", "2", "--mixed-cores", "--bundle", filepath.Join(dir, "bundle"), "--output", "json",
	)
	if o.code != 1 && o.code != 98 { // 98 if the machine was too busy as well
		t.Errorf("exit %d, want 1", o.code)
	}
	if got := doneIn(t, o.out); got != 1200 {
		t.Errorf("%d operations were done, want 1200", got)
	}
	if !strings.Contains(o.err, "no space left on device") || !strings.Contains(o.err, "the load was sent") ||
		strings.Contains(o.err, "nothing was sent") || !strings.Contains(o.err, "brunt-worker-") {
		t.Errorf("standard error doesn't say that the load was sent, and the disk is full:\n%s", o.err)
	}
	if !strings.Contains(o.out, "record-disk-full") {
		t.Error("the result has no warning of it")
	}
}

// A part whose disk is full when it is uploaded travels from memory: nothing of it is missing in the whole.
func TestFullDiskOfAPartThatIsUploaded(t *testing.T) {
	t.Parallel()
	store := testserver.ObjectStore(t)
	plan, small := shell.File(t, "plan.yml", diskPlan), t.TempDir()
	place := "s3://" + store.Database + "/parts"
	env := []string{
		"AWS_ACCESS_KEY_ID=somebody", "AWS_SECRET_ACCESS_KEY=topsecret", "AWS_ENDPOINT_URL=http://" + store.Addr,
		"AWS_CONFIG_FILE=/none", "AWS_SHARED_CREDENTIALS_FILE=/none"}
	load := func(k, dir string) []string {
		return []string{"rate", "-c", plan, "--proto", "noop", "-a", "none", "--rate", "200", "--duration", "3s",
			"--interval", "10ms", "--vu", "2", "--part", k + "/2", "--upload", place, "--bundle", dir, "--quiet"}
	}
	o := onDisk(t, "full disk", append(env, diskVariable+"="+small, sizeVariable+"=64k"),
		load("1", filepath.Join(small, "bundle"))...)
	if !strings.Contains(o.err, "no space left on device") || !strings.Contains(o.err, "the bundle is at "+place) {
		t.Errorf("exit %d\n%s", o.code, o.err)
	}
	spawnWith(t, t.TempDir(), env, load("2", filepath.Join(t.TempDir(), "bundle"))...).wait()
	dir := filepath.Join(t.TempDir(), "whole")
	merged := spawnWith(t, t.TempDir(), env, "merge", place+"/*", "--bundle", dir).wait()
	run := readRun(t, dir)
	if run == nil {
		t.Fatalf("exit %d\n%s", merged.code, merged.err)
	}
	reasons := run.Verdict.Texts()
	if run.Total.Done != 600 || len(run.Parts) != 2 || run.Parts[0].Missing+run.Parts[1].Missing != 0 {
		t.Errorf("%d operations of 600, parts %+v, %q", run.Total.Done, run.Parts, reasons)
	}
	text := fmt.Sprint(reasons)
	if !run.Complete || strings.Contains(text, "killed") || strings.Contains(text, "missing") {
		t.Errorf("complete %v, reasons %s", run.Complete, text)
	}
}

// If space becomes available again, nothing is missing in the record.
func TestFullDiskThatIsFreed(t *testing.T) {
	t.Parallel()
	plan, dir := shell.File(t, "plan.yml", diskPlan), t.TempDir()
	o := onDisk(t, "full disk", []string{diskVariable + "=" + dir, sizeVariable + "=4m", fillerVariable + "=4112384"},
		"rate", "-c", plan, "--proto", "noop", "-a", "none", "--rate", "200", "--duration", "4s", "--interval", "10ms",
		"--bundle", filepath.Join(dir, "bundle"), "--output", "json", "--quiet")
	_, report, found := strings.Cut(o.out, "report:\n")
	if !found || !judged(o.code) {
		t.Fatalf("exit %d\n%s", o.code, o.err)
	}
	if got := doneIn(t, report); got != 800 {
		t.Errorf("the record has %d operations, want 800", got)
	}
	if !strings.Contains(report, "record-disk-full") {
		t.Error("the record doesn't say that it had to wait")
	}
}

// A run that can't be recorded doesn't start.
func TestNoRoomForTheRecord(t *testing.T) {
	t.Parallel()
	plan, dir := shell.File(t, "plan.yml", diskPlan), t.TempDir()
	taken := shell.File(t, "taken", "")
	args := []string{"rate", "-c", plan, "--proto", "noop", "-a", "none", "--rate", "10", "--duration", "1s", "--results"}
	for name, run := range map[string]func() outcome{
		"read-only": func() outcome {
			return onDisk(t, "read-only disk", []string{diskVariable + "=" + dir},
				append(args, filepath.Join(dir, "results"))...)
		},
		"no blocks": func() outcome {
			return onDisk(t, "full disk", []string{diskVariable + "=" + dir, sizeVariable + "=4k"},
				append(args, filepath.Join(dir, "results"))...)
		},
		"below a file": func() outcome { return brunt(t, append(args, filepath.Join(taken, "results"))...) },
	} {
		o := run()
		if o.code != 104 || o.out != "" {
			t.Errorf("%s: exit %d, want 104\n%s", name, o.code, o.out)
		}
		oneLine(t, o.err, "record", "results", "name another folder")
	}
}

// Writes that are not recorded on disk are unknown, during the load and after it. Unrecorded writes of the same keys
// don't cause other writes to be reported as lost or wrong.
func TestWritesOnAFullDisk(t *testing.T) {
	t.Parallel()
	g := &gated{}
	done, put := writesDone(1000) // the disk is full by then, however slow the machine
	g.put, g.rogue = put, func() { <-done }
	address := g.serve(t)
	plan, dir := shell.File(t, "plan.yml", fmt.Sprintf(`
target: {protocol: http, addresses: [%[1]s]}
sessions: 2
interval: 10ms
account: {deadline: 1s}
verify: {patience: 300ms, after: each-fault}
queries:
  - name: put
    http: {method: PUT, path: /orders/$1, body: $2}
    params: [{type: Unsigned, range: [1, 20]}, {type: String, range: [8, 8]}]
    verify: {read: {http: /orders/$1, capture: [body]}, expect: [2]}
load: [{constant: {rate: 300, duration: 4s}}]
faults:
  - {name: nothing, at: 3500ms, http: {inject: {path: /rogue, origin: "http://%[1]s"}}}
`, address)), t.TempDir()
	o := onDisk(t, "full disk", []string{diskVariable + "=" + dir, sizeVariable + "=64k"}, "run", plan, "--allow-faults",
		"--bundle", filepath.Join(dir, "bundle"), "--output", "json", "--quiet")
	var run record.Run
	if err := json.NewDecoder(strings.NewReader(o.out)).Decode(&run); err != nil || run.Verified == nil {
		t.Fatalf("exit %d: %v\n%s", o.code, err, o.err)
	}
	v := run.Verified
	if sum := v.Sum(); v.Unrecorded == 0 || sum.Wrong() != 0 || sum.Acknowledged == 0 {
		t.Errorf("%d unrecorded, and %+v", v.Unrecorded, sum)
	}
	if len(v.AfterFaults) != 1 {
		t.Fatalf("%d readings after the fault", len(v.AfterFaults))
	}
	if a := &v.AfterFaults[0]; a.Unrecorded == 0 || a.NewLost != 0 {
		t.Errorf("after the fault: %+v", a)
	}
	for _, id := range []string{"writes-unchecked", "writes-unchecked-after-fault", "record-disk-full"} {
		if !strings.Contains(o.out, `"`+id+`"`) {
			t.Errorf("no warning %s", id)
		}
	}
}
