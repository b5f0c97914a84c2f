package selftest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"path/filepath"
	"time"

	"brunt/internal/record"
)

// Ceiling is the highest rate of a machine's generator, as measured: a closed load on a server that answers at once,
// one request an operation, one in flight a session, on the codec tier.
type Ceiling struct {
	Machine  string             `json:"machine"` // see Machine
	Brunt    string             `json:"brunt"`   // version that measured it
	Measured time.Time          `json:"measured"`
	PerS     map[string]float64 `json:"per_s"` // by protocol
}

// Machine returns a hash of the properties that affect the generator's speed. Host names don't, and are left out.
func Machine(e *record.Environment) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %q %q %d %q %d %q", e.OS, e.Kernel, e.Arch, e.CPU, e.Cores, e.CPUQuota, e.MemoryB, e.Governor)
	return fmt.Sprintf("%016x", h.Sum64())
}

// CeilingOf returns the highest rate of each protocol among the rows with closed loads.
func CeilingOf(all []Row, e *record.Environment, version string, now time.Time) Ceiling {
	c := Ceiling{Machine: Machine(e), Brunt: version, Measured: now.UTC(), PerS: make(map[string]float64)}
	for i := range all {
		if r := &all[i]; !r.Open() && r.Loops > 0 {
			c.PerS[r.Protocol] = max(c.PerS[r.Protocol], r.PerS)
		}
	}
	return c
}

// CeilingFile returns the path of the ceiling's file in the user's cache folder.
func CeilingFile(cacheDir string) string { return filepath.Join(cacheDir, "brunt", "ceiling.json") }

// Save writes c to path, and makes the folder if it doesn't exist.
func (c *Ceiling) Save(fsys record.FS, path string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = fsys.MkdirAll(filepath.Dir(path))
	}
	if err == nil {
		err = record.ReplaceFile(fsys, path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keep the ceiling: %w", err)
	}
	return nil
}

// longestFile is how much of a ceiling's file is read at most, in bytes.
const longestFile = 1 << 20

// Load reads the ceiling at path. ok is false if the file can't be read, or if the ceiling was measured on another
// machine.
func Load(fsys record.FS, path string, e *record.Environment) (c Ceiling, ok bool) {
	f, err := fsys.Open(path)
	if err != nil {
		return Ceiling{}, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, longestFile))
	if err != nil || json.Unmarshal(data, &c) != nil || c.Machine != Machine(e) {
		return Ceiling{}, false
	}
	return c, true
}
