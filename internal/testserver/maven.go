package testserver

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

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
