package hotspot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"brunt/internal/base/lazyregexp"
)

// Period is the time between two samples of a thread.
const Period = 20 * time.Millisecond

// settings are those of a recording, as the JVM reads them.
const settings = `<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0" label="brunt" description="what threads execute" provider="brunt">
  <event name="jdk.ExecutionSample">
    <setting name="enabled">true</setting><setting name="period">20 ms</setting>
  </event>
  <event name="jdk.NativeMethodSample">
    <setting name="enabled">true</setting><setting name="period">20 ms</setting>
  </event>
</configuration>
`

const (
	ours         = "brunt-"
	settingsFile = "brunt.jfc"
	dumpFile     = "brunt.jfr"
	mostDisk     = "64m" // of a recording: what is older is given up
	started      = "Started recording"
)

// number counts the recordings of this process.
var number atomic.Int64

// Recording is a recording under way.
type Recording struct {
	jvm    *JVM
	name   string
	folder string // in the JVM's /tmp, of the JVM's user
}

// Record starts a recording of what the JVM's threads execute. Before that it ends those that killed processes of brunt
// on this machine have left. Others' are never touched.
func (j *JVM) Record(ctx context.Context) (*Recording, error) {
	if err := j.tidy(ctx); err != nil {
		return nil, err
	}
	r := &Recording{jvm: j, name: ourName(os.Getpid()) + "-" + strconv.FormatInt(number.Add(1), 10)}
	r.folder = r.name
	if err := r.prepare(); err != nil {
		r.remove()
		return nil, fmt.Errorf("the JVM %d: its /tmp can't be written to: %w", j.pid, err)
	}
	answer, err := j.command(ctx, fmt.Sprintf("JFR.start name=%s settings=%s disk=true maxsize=%s dumponexit=false",
		r.name, r.path(settingsFile), mostDisk))
	if err == nil && !strings.Contains(answer, started) {
		err = j.refusal("JFR.start", answer)
	}
	if err != nil {
		r.remove()
		return nil, err
	}
	return r, nil
}

// path returns the path of a file as the JVM sees it.
func (r *Recording) path(file string) string { return filepath.Join("/", temporary, r.folder, file) }

// prepare makes the folder, which belongs to the JVM's user, with the settings.
func (r *Recording) prepare() error {
	tmp := r.jvm.tmp
	if err := tmp.Mkdir(r.folder, 0o700); err != nil {
		return err
	}
	file := filepath.Join(r.folder, settingsFile)
	if err := tmp.WriteFile(file, []byte(settings), 0o600); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	return errors.Join(tmp.Lchown(file, r.jvm.owner[0], r.jvm.owner[1]),
		tmp.Lchown(r.folder, r.jvm.owner[0], r.jvm.owner[1]))
}

func (r *Recording) remove() { _ = r.jvm.tmp.RemoveAll(r.folder) }

// Stop ends the recording, hands it to read, and removes it.
func (r *Recording) Stop(ctx context.Context, read func(io.Reader) error) error {
	defer r.remove()
	if _, err := r.jvm.command(ctx, fmt.Sprintf("JFR.stop name=%s filename=%s", r.name, r.path(dumpFile))); err != nil {
		return err
	}
	f, err := r.jvm.tmp.Open(filepath.Join(r.folder, dumpFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the JVM %d wrote no recording: somebody else has stopped it, or its disk is full", r.jvm.pid)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return fmt.Errorf("the JVM %d wrote no recording", r.jvm.pid)
	}
	return read(f)
}

// The names of recordings and of their folders say which process they belong to: the number of its namespace of PIDs,
// its PID, and when it began, since PIDs are used again.
var ourNames = lazyregexp.New(`\b` + ours + `(\d+)-(\d+)-(\d+)-\d+\b`)

// ourName returns the names' beginning for a process of this namespace, or "" if there is none with this PID.
func ourName(pid int) string {
	f := statOf(pid)
	const began = 19
	if len(f) <= began {
		return ""
	}
	return fmt.Sprintf("%s%d-%d-%s", ours, namespace(), pid, f[began])
}

// namespace returns the number of this process's namespace of PIDs.
func namespace() int64 {
	text, _ := os.Readlink(filepath.Join(procFolder, "self", "ns", "pid"))
	n, _ := strconv.ParseInt(strings.Trim(text, "pid:[]"), 10, 64)
	return n
}

// left reports whether a recording or folder is one of a process of brunt that has ended.
func left(name string) bool {
	m := ourNames().FindStringSubmatch(name)
	if m == nil || m[0] != name || m[1] != strconv.FormatInt(namespace(), 10) {
		return false
	}
	pid, err := strconv.Atoi(m[2])
	return err == nil && !strings.HasPrefix(name, ourName(pid)+"-")
}

// tidy ends the recordings of processes that have ended, and removes their folders. It returns an error if the JVM
// can't be asked.
func (j *JVM) tidy(ctx context.Context) error {
	answer, err := j.command(ctx, "JFR.check")
	if err != nil {
		return err
	}
	for _, name := range ourNames().FindAllString(answer, -1) {
		if left(name) {
			_, _ = j.command(ctx, "JFR.stop name="+name)
		}
	}
	folder, err := j.tmp.Open(".")
	if err != nil {
		return fmt.Errorf("the JVM %d: its /tmp can't be read: %w", j.pid, err)
	}
	defer folder.Close()
	entries, _ := folder.ReadDir(-1)
	for _, e := range entries {
		if e.IsDir() && left(e.Name()) {
			_ = j.tmp.RemoveAll(e.Name())
		}
	}
	return nil
}

// tick is the unit of times in /proc/PID/stat: 1/USER_HZ, which Linux shows to programs as 1/100 s everywhere.
const tick = 10 * time.Millisecond

// CPU returns the processor time that the JVM has had, with that of its collector and compiler.
func (j *JVM) CPU() time.Duration {
	f := statOf(j.pid)
	const user, system = 11, 12
	if len(f) <= system {
		return 0
	}
	a, _ := strconv.ParseInt(f[user], 10, 64)
	b, _ := strconv.ParseInt(f[system], 10, 64)
	return time.Duration(a+b) * tick
}

// statOf returns the fields of /proc/PID/stat from the third on: those after the name, which may contain anything.
func statOf(pid int) []string {
	text, _ := os.ReadFile(filepath.Join(procFolder, strconv.Itoa(pid), "stat"))
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

// Threads returns the processor time that each thread has had, by its number in the JVM's namespace.
func (j *JVM) Threads() map[int64]time.Duration {
	folder := filepath.Join(procFolder, strconv.Itoa(j.pid), "task")
	entries, _ := os.ReadDir(folder)
	out := make(map[int64]time.Duration, len(entries))
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name(), "schedstat"))
		id := j.innerThread(filepath.Join(folder, e.Name()), e.Name())
		f := strings.Fields(string(text))
		if err != nil || len(f) == 0 || id == 0 {
			continue
		}
		ns, _ := strconv.ParseInt(f[0], 10, 64)
		out[id] = time.Duration(ns)
	}
	return out
}

// innerThread returns the number of a thread in the JVM's namespace, or 0.
func (j *JVM) innerThread(folder, name string) int64 {
	if j.inner != j.pid {
		status, err := os.ReadFile(filepath.Join(folder, "status"))
		_, list, ok := strings.Cut(string(status), "NSpid:")
		list, _, _ = strings.Cut(list, "\n")
		f := strings.Fields(list)
		if err != nil || !ok || len(f) == 0 {
			return 0
		}
		name = f[len(f)-1]
	}
	n, _ := strconv.ParseInt(name, 10, 64)
	return n
}
