package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"brunt/internal/base/finite"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// File is the name of the file in a series' folder that holds its decisions and their reasons.
const File = "series.json"

// SchemaVersion is the version of File that this package writes.
const SchemaVersion = 1

// Report is the content of File: the kind of the series and its results.
type Report struct {
	Schema  int             `json:"schema"`
	Kind    string          `json:"kind"` // "search", "repeat" or "matrix"
	Name    string          `json:"name"` // of the plan
	Started time.Time       `json:"started"`
	Note    message.Message `json:"note,omitzero"` // restrictions, such as a time scale
	Search  *SearchLog      `json:"search,omitempty"`
	Matrix  *MatrixLog      `json:"matrix,omitempty"`
	Runs    []RunLog        `json:"runs,omitempty"`
	// Messages contains the messages of the texts above, by their English text.
	Messages message.Table `json:"messages,omitempty"`
}

// SearchLog is a search in a Report.
type SearchLog struct {
	Options SearchOptions     `json:"options"`
	Rules   []message.Message `json:"rules"` // what a trial had to meet
	Trials  []Result          `json:"results"`
	Bracket Bracket           `json:"bracket"`
	Curve   Curve             `json:"curve"`
}

// NewFolder creates the folder root/<name>-<UTC time> of a series, or dir if it is given. dir must be empty or new.
func NewFolder(root, dir, name string, now time.Time) (string, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", fmt.Errorf("folder of the series: %w", err)
		}
		entries, err := os.ReadDir(dir)
		if err == nil && len(entries) > 0 {
			err = fmt.Errorf("folder %s isn't empty; name an empty or new one", dir)
		}
		return dir, err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("folder of results: %w", err)
	}
	base := filepath.Join(root, record.FolderName(name, now))
	for n := 1; n < 1000; n++ {
		dir := base
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", base, n)
		}
		err := os.Mkdir(dir, 0o755)
		if !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
	return "", fmt.Errorf("%s and 998 more exist; choose another name or folder", base)
}

// Write writes the report to the series' folder atomically.
func (r *Report) Write(dir string) error {
	r.Schema = SchemaVersion
	r.Messages = message.TableOf(r)
	return WriteJSON(filepath.Join(dir, File), r)
}

// WriteJSON writes a value to a file as indented JSON, atomically.
func WriteJSON(path string, v any) error {
	data, err := finite.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return record.ReplaceFile(record.OS{}, path, append(data, '\n'))
}
