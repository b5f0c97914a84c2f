// Package reader reads results: brunt's own bundles and JSON, and files in other programs' formats.
package reader

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"brunt/internal/judge/confidence"
	"brunt/internal/judge/failover"
	"brunt/internal/judge/result"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/record"
)

// ReadAll reads the results at several paths as Read does; that of a single path is read precisely. The error contains
// those of all paths.
func ReadAll(fsys record.FS, paths []string, formats []result.Format) (all []*result.Result, err error) {
	for _, p := range paths {
		r, readErr := Read(fsys, p, len(paths) == 1, formats)
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		all = append(all, r)
	}
	return all, err
}

// Read reads the result at path: the folder of a bundle, or a file of brunt's or in one of formats. If precise is set
// and the record of a bundle lacks the confidence intervals within the run, Read computes them from all of the bundle's
// intervals. Errors name the path and what is expected there.
func Read(fsys record.FS, path string, precise bool, formats []result.Format) (*result.Result, error) {
	bundle, err := record.Open(fsys, path)
	if err == nil {
		return ofBundle(bundle, precise)
	}
	if names, listErr := fsys.List(path); listErr == nil {
		isBundle := slices.Contains(names, record.RunFile) || slices.Contains(names, record.IntervalsFile)
		if len(names) > 0 && !isBundle {
			return nil, fmt.Errorf("%s holds no run; name the folder of a run or a file of results", path)
		}
		return nil, err
	}
	if base := filepath.Base(path); base == record.RunFile || base == record.IntervalsFile || base == record.PlanFile {
		return nil, err
	}
	data, err := record.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s doesn't exist; name the folder of a run or a file of results", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the result %s: %w", path, err)
	}
	text, err := plainText(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r, err := Decode(text, formats)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range r.Metrics {
		if m := &r.Metrics[i]; m.Value < 0 && m.Unit != "number" {
			return nil, fmt.Errorf("%s: damaged: %s is %g, which can't be negative", path,
				strings.TrimSpace(m.Operation+" "+m.Name), m.Value)
		}
	}
	if r.ID == "" {
		// The same content is the same run, wherever the file is kept.
		r.ID = fmt.Sprintf("sha256:%x", sha256.Sum256(bytes.TrimSpace(text)))
	}
	r.Path = path
	return r, nil
}

// plainText converts a file to UTF-8 without a byte order mark. Shells of Windows write UTF-16, or add the mark.
func plainText(data []byte) ([]byte, error) {
	text, err := io.ReadAll(transform.NewReader(bytes.NewReader(data), unicode.BOMOverride(encoding.Nop.NewDecoder())))
	if err != nil {
		return nil, fmt.Errorf("its text can't be read: %w", err)
	}
	return text, nil
}

// ofBundle reads a bundle. For a run that was killed, the result reaches up to its last complete interval.
func ofBundle(b *record.Recorded, precise bool) (*result.Result, error) {
	run, sums, err := b.Result()
	if err != nil {
		return nil, err
	}
	if sums != nil {
		if err := Judge(b, run, sums); err != nil {
			return nil, err
		}
	}
	if precise && run.Total.RateWithin == nil {
		if err := confidence.Fill(run, b.Intervals); err != nil {
			return nil, err
		}
		if run.Complete {
			run.Warnings = append(run.Warnings, b.Damage()...)
		}
	}
	r := result.Of(run)
	r.Path = b.Dir
	if r.Plan, err = b.Plan(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the plan of %s: %w", b.Dir, err)
	}
	return r, nil
}

// Judge sets the verdict of a run that was killed before it could do so. run and sums are those of the bundle's Result.
func Judge(b *record.Recorded, run *record.Run, sums *measure.Tally) error {
	if err := failover.Fill(run, b.Intervals); err != nil {
		return err
	}
	if err := verdict.FillWindows(run, b.Intervals); err != nil {
		return err
	}
	verdict.Judge(run, sums.Total())
	return nil
}

// unknown returns the error for a file in no known format. It lists the formats.
func unknown(formats []result.Format) error {
	text := "not a result: brunt reads bundles, its own --output json"
	for i, f := range formats {
		separator := ", "
		if i == len(formats)-1 {
			separator = " and "
		}
		text += separator + f.About
	}
	return errors.New(text)
}

// Decode recognises the format of a text by its content, and decodes it.
func Decode(data []byte, formats []result.Format) (*result.Result, error) {
	text := bytes.TrimSpace(data)
	if len(text) == 0 {
		return nil, errors.New("empty: there is no result in it")
	}
	var keys map[string]json.RawMessage
	if text[0] == '{' {
		if err := json.Unmarshal(text, &keys); err != nil {
			return nil, fmt.Errorf("damaged: %w", err)
		}
		if keys["schema"] != nil && keys["total"] != nil {
			run, err := record.DecodeRun(text)
			if err != nil {
				return nil, err
			}
			return result.Of(run), nil
		}
	}
	for _, f := range formats {
		if f.Is(text, keys) {
			return f.Parse(text)
		}
	}
	return nil, unknown(formats)
}
