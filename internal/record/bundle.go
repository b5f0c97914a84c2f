package record

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// The files of a bundle.
const (
	PlanFile      = "plan.yml"
	RunFile       = "run.json"
	IntervalsFile = "intervals.ndjson"
	ErrorsFile    = "errors.ndjson"
	TraceFile     = "trace.ndjson"  // the steps of the first operations, if they were traced
	FaultsFile    = "faults.ndjson" // only of runs with faults
	// WatchdogFile is what the watchdog undid, of runs with faults that were killed.
	WatchdogFile = "watchdog.ndjson"
	WritesFile   = "writes.ndjson" // only of runs whose writes are read back
	// VerifiedFile holds the results of reading writes back after each fault. Only runs that do so have it.
	VerifiedFile  = "verified.ndjson"
	WatchedFolder = "observe" // what was observed: a file for each source
	WorkersFolder = "workers" // of runs with workers: the workers' bundles, and how they were coordinated
)

// DefaultRoot is the folder that holds bundles unless the user names another one.
const DefaultRoot = "results"

// FolderName returns the name of a run's bundle: the run's name made safe for every file system, and its start in UTC
// to the second.
func FolderName(name string, started time.Time) string {
	return SafeName(name) + "-" + started.UTC().Format("20060102T150405Z")
}

// SafeName turns a run's name into a file name. Letters and digits of any script and ".", "_" and "-" are kept; every
// other character becomes "-". The result has at most 60 characters; it is "run" if nothing is left.
func SafeName(name string) string {
	var b strings.Builder
	n := 0
	for _, r := range name {
		if n++; n > 60 {
			break
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '_' || r == '-' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	if s := strings.Trim(b.String(), "-."); s != "" {
		return s
	}
	return "run"
}

// NewID returns a random identifier for a run: 16 hexadecimal digits.
func NewID() string {
	var b [8]byte
	// crypto/rand.Read never fails: it ends the program instead.
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Place says where the bundle of a run is stored: nowhere (None), in the folder Dir, or in a folder named after the run
// under Root, which defaults to DefaultRoot.
type Place struct {
	None bool
	Root string
	Dir  string
}

// Create makes the bundle of the run called name at this place; see the functions Create and CreateIn.
func (p Place) Create(name string, started time.Time, o Options) (*Bundle, error) {
	switch {
	case p.None:
		return CreateIn(Nowhere{}, "", o)
	case p.Dir != "":
		return CreateIn(OS{}, p.Dir, o)
	}
	return Create(OS{}, cmp.Or(p.Root, DefaultRoot), name, started, o)
}

// Create makes the bundle's folder root/<name>-<UTC time> and opens its files. If a run of that name began in the same
// second, it appends -2, -3 and so on. It fails before any request is sent if the folder can't be written to.
func Create(fsys FS, root, name string, started time.Time, o Options) (*Bundle, error) {
	dir, err := newFolder(fsys, root, name, started)
	if err != nil {
		return nil, err
	}
	b, err := open(fsys, dir, o)
	if err == nil {
		b.ours = true
	}
	return b, err
}

// newFolder makes a folder root/<name>-<UTC time> and returns its path.
func newFolder(fsys FS, root, name string, started time.Time) (string, error) {
	if err := fsys.MkdirAll(root); err != nil {
		return "", folderError(root, err)
	}
	base := filepath.Join(root, FolderName(name, started))
	for n := 1; n < 1000; n++ {
		dir := base
		if n > 1 {
			dir += "-" + strconv.Itoa(n)
		}
		err := fsys.Mkdir(dir)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", folderError(dir, err)
		}
	}
	return "", fmt.Errorf("%s and 998 more exist; choose another name or folder", base)
}

// Folder makes the folder of a bundle that Join will write later, and returns its path. p must not be None.
func (p Place) Folder(name string, started time.Time) (string, error) {
	if p.Dir == "" {
		return newFolder(OS{}, cmp.Or(p.Root, DefaultRoot), name, started)
	}
	return p.Dir, emptyFolder(OS{}, p.Dir)
}

// CreateIn makes the bundle in a folder that the user named. The folder must be empty or not exist yet. If two runs
// begin in the same folder at once, only one succeeds.
func CreateIn(fsys FS, dir string, o Options) (*Bundle, error) {
	if err := emptyFolder(fsys, dir); err != nil {
		return nil, err
	}
	return open(fsys, dir, o)
}

// emptyFolder makes a folder, or checks that an existing one is empty. A folder that holds workers' bundles may also
// hold what was observed.
func emptyFolder(fsys FS, dir string) error {
	if err := fsys.MkdirAll(dir); err != nil {
		return folderError(dir, err)
	}
	names, err := fsys.List(dir)
	if err != nil {
		return folderError(dir, err)
	}
	if slices.Contains(names, WorkersFolder) {
		names = slices.DeleteFunc(names, func(n string) bool { return n == WorkersFolder || n == WatchedFolder })
	}
	for _, n := range names {
		if n == IntervalsFile || n == RunFile {
			return fmt.Errorf("folder %s already holds a run, or one under way; name an empty or new folder",
				dir)
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("folder %s is not empty (it holds %s); name an empty or new folder", dir, names[0])
	}
	return nil
}

// open creates the bundle's files. The process that creates intervals.ndjson owns the folder.
func open(fsys FS, dir string, o Options) (*Bundle, error) {
	intervals, err := fsys.Create(filepath.Join(dir, IntervalsFile))
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("folder %s was taken by another run just now; name another folder", dir)
	}
	if err != nil {
		return nil, folderError(dir, err)
	}
	failures, err := fsys.Create(filepath.Join(dir, ErrorsFile))
	if err != nil {
		_ = intervals.Close()
		return nil, folderError(dir, err)
	}
	return newBundle(fsys, dir, intervals, failures, o), nil
}

// FolderError says that the folder of a run's record can't be written to.
type FolderError struct {
	Dir string
	Err error
}

func folderError(dir string, err error) error {
	return &FolderError{dir, FileCause(err)}
}

// Error says what to do on the command line.
func (e *FolderError) Error() string {
	hint := "name another folder with --results or --bundle"
	if errors.Is(e.Err, fs.ErrPermission) {
		hint = "make it writable or name another folder with --results or --bundle"
	}
	return fmt.Sprintf("the run's record can't be written to %s: %v; %s", e.Dir, e.Err, hint)
}

// Unwrap returns the reason.
func (e *FolderError) Unwrap() error { return e.Err }
