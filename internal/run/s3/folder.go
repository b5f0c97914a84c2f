package s3

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// PutFolder uploads the files of the folder dir below a place. The file named last, if it exists, is uploaded last, so
// that its presence shows that the folder is complete. changed has, by their names, the contents of files that are
// uploaded instead of what is in the folder.
func (s *Store) PutFolder(ctx context.Context, p Place, dir, last string, changed map[string][]byte) error {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return err
	}
	if i := slices.Index(names, last); i >= 0 {
		names = append(slices.Delete(names, i, i+1), last)
	}
	for _, name := range names {
		if text, ok := changed[name]; ok {
			if err := s.Put(ctx, p.In(name), bytes.NewReader(text), int64(len(text))); err != nil {
				return fmt.Errorf("%s: %w", p.In(name), err)
			}
			continue
		}
		if err := s.putFile(ctx, p.In(name), filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("%s: %w", p.In(name), err)
		}
	}
	return nil
}

func (s *Store) putFile(ctx context.Context, p Place, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return s.Put(ctx, p, file, info.Size())
}

// Folders returns the folders below a place that contain a file named has, relative to the place and sorted. "" is the
// place itself.
func (s *Store) Folders(ctx context.Context, p Place, has string) (folders []string, err error) {
	names, err := s.List(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	for _, name := range names {
		if folder, ok := strings.CutSuffix("/"+name, "/"+has); ok {
			folders = append(folders, strings.TrimPrefix(folder, "/"))
		}
	}
	slices.Sort(folders)
	return folders, nil
}

// GetFolder downloads the objects below a place into the folder dir.
func (s *Store) GetFolder(ctx context.Context, p Place, dir string) error {
	names, err := s.List(ctx, p)
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	for _, name := range names {
		if !filepath.IsLocal(filepath.FromSlash(name)) || strings.HasSuffix(name, "/") {
			continue // not the name of a file in a folder
		}
		if err := s.getFile(ctx, p.In(name), filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("%s: %w", p.In(name), err)
		}
	}
	return nil
}

func (s *Store) getFile(ctx context.Context, p Place, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return s.Get(ctx, p, func(from io.Reader) error {
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, from)
		return cmp.Or(err, file.Close())
	})
}
