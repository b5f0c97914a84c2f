package testserver

import (
	"archive/zip"
	"crypto/sha256"
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

//go:embed maven/cassandra.xml
var cassandraProject string

//go:embed maven/dynamodb.xml
var dynamoDBProject string

// classPath fetches what a Maven project depends on, unless Maven has it already, and returns the
// class path. What Maven said lies in the user's cache folder: asking it again takes seconds of a core.
func (s *Server) classPath(maven, project string) (string, error) {
	kept, err := cached(fmt.Sprintf("classpath-%x", sha256.Sum256([]byte(project))))
	if err != nil {
		return "", err
	}
	if path, err := os.ReadFile(kept); err == nil && allThere(string(path)) {
		return string(path), nil
	}
	pom, err := s.write("pom.xml", project)
	if err != nil {
		return "", err
	}
	out := filepath.Join(s.Dir, "classpath")
	args := []string{"-q", "-B", "-f", pom, "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath", "-Dmdep.outputFile=" + out}
	if exec.Command(maven, append([]string{"-o"}, args...)...).Run() != nil {
		if text, err := exec.Command(maven, args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("mvn: %w: %s", err, text)
		}
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return "", err
	}
	path := strings.TrimSpace(string(text))
	whole := fmt.Sprint(kept, ".", os.Getpid()) // others may read what is kept at any time
	if err := os.WriteFile(whole, []byte(path), 0o644); err != nil {
		return "", err
	}
	return path, os.Rename(whole, kept)
}

// allThere reports whether a class path names files, and all of them are there.
func allThere(path string) bool {
	for _, file := range filepath.SplitList(path) {
		if _, err := os.Stat(file); err != nil {
			return false
		}
	}
	return path != ""
}
