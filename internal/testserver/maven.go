package testserver

import (
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
// class path.
func (s *Server) classPath(maven, project string) (string, error) {
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
	path, err := os.ReadFile(out)
	return strings.TrimSpace(string(path)), err
}
