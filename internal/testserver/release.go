package testserver

import (
	"archive/zip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed maven/postgres.xml
var postgresProject string

// postgresReleases are the versions of PostgreSQL that Maven has beside Debian's, by their major numbers.
var postgresReleases = map[string]string{"13": "13.18.0", "14": "14.15.0", "16": "16.6.0", "17": "17.2.0", "18": "18.0.0"}

// postgresRelease unpacks the programs of a release into the server's folder, and returns their folder.
func (s *Server) postgresRelease(maven, major string) (string, error) {
	version, known := postgresReleases[major]
	if !known {
		return "", fmt.Errorf("there is no PostgreSQL %q among Maven's artifacts that are known here", major)
	}
	jar, err := s.classPath(maven, strings.Replace(postgresProject, "VERSION", version, 1))
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.Dir, "release")
	return filepath.Join(dir, "bin"), errors.Join(os.Mkdir(dir, 0o755), unpack(jar, dir))
}

// unpack unpacks the archive of programs in a jar.
func unpack(jar, dir string) error {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	defer z.Close()
	for _, f := range z.File {
		if filepath.Ext(f.Name) != ".txz" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return fmt.Errorf("unpack %s: %w", jar, err)
		}
		defer r.Close()
		tar := exec.Command("tar", "-xJ", "--no-same-owner", "-C", dir)
		tar.Stdin = io.Reader(r)
		if out, err := tar.CombinedOutput(); err != nil {
			return fmt.Errorf("unpack %s: %w: %s (xz is in Debian's xz-utils)", jar, err, out)
		}
		return nil
	}
	return fmt.Errorf("unpack %s: it holds no programs", jar)
}
