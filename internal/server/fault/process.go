package fault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/plan"
)

// Process identifies a process. Its start time distinguishes it from a later process with the same PID.
type Process struct {
	PID     int    `json:"pid"`
	Started uint64 `json:"started"` // in clock ticks since the machine's start
	Command string `json:"command"` // from /proc/PID/comm
}

// String returns the PID, followed by the command in parentheses if it is known.
func (p Process) String() string {
	if p.Command == "" {
		return strconv.Itoa(p.PID)
	}
	return strconv.Itoa(p.PID) + " (" + p.Command + ")"
}

// errEnded means that a process no longer exists.
var errEnded = errors.New("it has ended meanwhile")

// lookUp returns the process with a PID, and the PID of its parent. Zombies count as ended, which is an error.
func lookUp(pid int) (p Process, parent int, err error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		if _, e := os.Stat("/proc/self/stat"); e != nil {
			return Process{}, 0, errors.New("processes can be looked up on Linux only")
		}
		return Process{}, 0, fmt.Errorf("there is no process %d", pid)
	}
	// The command is in parentheses and may itself contain some. The state is the first field after it; see
	// proc(5).
	text := string(data)
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return Process{}, 0, fmt.Errorf("/proc/%d/stat can't be read", pid)
	}
	fields := strings.Fields(text[end+1:])
	const parentField, startField = 1, 19
	if len(fields) <= startField || fields[0] == "Z" || fields[0] == "X" {
		return Process{}, 0, fmt.Errorf("process %d has ended", pid)
	}
	parent, _ = strconv.Atoi(fields[parentField])
	started, err := strconv.ParseUint(fields[startField], 10, 64)
	return Process{PID: pid, Started: started, Command: text[open+1 : end]}, parent, err
}

// processes returns all processes, sorted by PID, and the PID of each one's parent.
func processes() (all []Process, parents map[int]int) {
	entries, _ := os.ReadDir("/proc")
	parents = map[int]int{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if p, parent, err := lookUp(pid); err == nil {
				all, parents[pid] = append(all, p), parent
			}
		}
	}
	slices.SortFunc(all, func(a, b Process) int { return a.PID - b.PID })
	return all, parents
}

// selector finds the processes of a fault.
type selector struct {
	fault *plan.ProcessFault
	own   []int // PIDs of this program's own processes, which must not be selected
}

// find returns the selected processes: at least one, or an error of one line that says why there is none.
func (s *selector) find() ([]Process, error) {
	f := s.fault
	var found []Process
	var err error
	switch {
	case f.PID != 0:
		found, err = s.numbered([]string{strconv.Itoa(f.PID)}, "pid")
	case f.PIDFile != "":
		var data []byte
		if data, err = os.ReadFile(f.PIDFile); err == nil {
			first, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
			found, err = s.numbered([]string{first}, f.PIDFile)
		}
	case f.CGroup != "":
		path := filepath.Join("/sys/fs/cgroup", strings.TrimPrefix(f.CGroup, "/sys/fs/cgroup"), "cgroup.procs")
		var data []byte
		if data, err = os.ReadFile(path); err == nil {
			if found, err = s.numbered(strings.Fields(string(data)), path); err == nil && len(found) == 0 {
				err = fmt.Errorf("the control group %s has no process", f.CGroup)
			}
		}
	default:
		found, err = s.matching(f.Match)
	}
	if err != nil {
		return nil, err
	}
	if f.Children {
		found = withChildren(found)
	}
	for _, p := range found {
		if p.PID == 1 || slices.Contains(s.own, p.PID) {
			return nil, fmt.Errorf("process %s is brunt's own or the system's first one; name the server's", p)
		}
	}
	return found, nil
}

func (s *selector) numbered(numbers []string, where string) (out []Process, err error) {
	for _, text := range numbers {
		pid, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || pid < 1 {
			return nil, fmt.Errorf("%s holds %q, which is no process", where, text)
		}
		p, _, err := lookUp(pid)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// matching returns the processes whose command lines match a regular expression. It skips this program's processes
// and their ancestors, since their command lines may quote the expression.
func (s *selector) matching(pattern string) ([]Process, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	all, parents := processes()
	above := map[int]bool{1: true}
	for _, own := range s.own {
		for pid := own; pid > 1 && !above[pid]; pid = parents[pid] {
			above[pid] = true
		}
	}
	var out []Process
	for _, p := range all {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "cmdline"))
		if err != nil || len(line) == 0 || above[p.PID] {
			continue
		}
		words := strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
		if re.MatchString(words) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no command line matches %q", pattern)
	}
	return out, nil
}

// withChildren adds all descendants of the found processes, parents before children.
func withChildren(found []Process) []Process {
	all, parents := processes()
	in := map[int]bool{}
	for _, p := range found {
		in[p.PID] = true
	}
	for added := true; added; {
		added = false
		for _, p := range all {
			if !in[p.PID] && in[parents[p.PID]] {
				in[p.PID], added = true, true
				found = append(found, p)
			}
		}
	}
	return found
}
