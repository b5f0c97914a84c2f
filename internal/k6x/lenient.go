//go:build !nok6

package k6x

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"regexp"

	"github.com/spf13/afero"
	"go.k6.io/k6/v2/lib/fsext"
)

// lenientFS gives k6 scripts in which a threshold that compares with a single "=", as k6 took it until
// 2022, compares with two: the article on xk6-tarantool and what came after it have "rate = 1". The length
// of the text stays, so that lines and columns of messages do.
type lenientFS struct {
	fsext.Fs
	noted func(file string)
}

var singleEqual = regexp.MustCompile("([\"'`](?:rate|count|value|avg|min|max|med|p\\([0-9.]+\\))) = ?([0-9.]+[\"'`])")

// Open implements afero.Fs.
func (f *lenientFS) Open(name string) (afero.File, error) {
	file, err := f.Fs.Open(name)
	if ext := path.Ext(name); err != nil || ext != ".js" && ext != ".ts" {
		return file, err
	}
	data, err := io.ReadAll(file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil || !singleEqual.Match(data) {
		return file, err
	}
	text := singleEqual.ReplaceAllFunc(data, func(m []byte) []byte {
		out := bytes.Replace(m, []byte(" = "), []byte(" =="), 1)
		if len(out) == len(m) {
			return out
		}
		return m
	})
	f.noted(name)
	memory := fsext.NewMemMapFs()
	if err := fsext.WriteFile(memory, name, text, fs.ModePerm); err != nil {
		return file, nil
	}
	return memory.Open(name)
}
