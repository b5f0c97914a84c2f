package testserver

import (
	"archive/zip"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mavenFiles lists, for each project in the folder maven, the files that it needs from Maven's repository, in the order
// of its class path. .ci/install fetches them.
//
//go:embed maven/*.files
var mavenFiles embed.FS

// artifacts returns the files of a project. It returns an error if one is missing or can't be read.
func artifacts(project string) (files []string, err error) {
	list, err := mavenFiles.ReadFile("maven/" + project + ".files")
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	for name := range strings.FieldsSeq(string(list)) {
		path := filepath.Join(home, ".m2", "repository", filepath.FromSlash(name))
		if err := readable(path); err != nil {
			return nil, fmt.Errorf("%w; remove that file if it is there, and run: .ci/install", err)
		}
		files = append(files, path)
	}
	return files, nil
}

// readable checks that a file isn't empty and, if it is an archive, that it is complete.
func readable(path string) error {
	if filepath.Ext(path) == ".jar" {
		z, err := zip.OpenReader(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return z.Close()
	}
	switch st, err := os.Stat(path); {
	case err != nil:
		return err
	case st.Size() == 0:
		return fmt.Errorf("%s is empty", path)
	}
	return nil
}

// postgresRelease unpacks the programs of a PostgreSQL release, given its major version, from Maven's artifact into the
// server's folder. It returns the programs' folder.
func (s *Server) postgresRelease(major string) (string, error) {
	files, err := artifacts("postgres")
	if err != nil {
		return "", err
	}
	for _, jar := range files {
		if strings.HasPrefix(filepath.Base(filepath.Dir(jar)), major+".") {
			dir := filepath.Join(s.Dir, "release")
			return filepath.Join(dir, "bin"), errors.Join(os.Mkdir(dir, 0o755), unpack(jar, dir))
		}
	}
	return "", fmt.Errorf("there is no PostgreSQL %q in maven/postgres.files", major)
}

// unpack unpacks the archive of programs that a jar contains.
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
