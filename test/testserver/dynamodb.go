package testserver

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// DynamoDB starts DynamoDB Local, from Maven's artifacts, with its data in memory. It accepts any credentials.
func DynamoDB(t TB) *Server {
	t.Helper()
	var files []string
	return launch(t, &spec{
		name:   "DynamoDB Local",
		binary: binary(t, "java", "openjdk-17-jre-headless"),
		prepare: func(s *Server) (err error) {
			if files, err = artifacts("dynamodb"); err != nil {
				return err
			}
			return linkLibraries(files, s.Dir)
		},
		arguments: func(s *Server) []string {
			return []string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.library.path=" + s.Dir,
				"-Dsqlite4java.library.path=" + s.Dir,
				"-cp", strings.Join(files, ":"), "com.amazonaws.services.dynamodbv2.local.main.ServerRunner", "-inMemory", "-port",
				fmt.Sprint(s.Port), "-disableTelemetry"}
		},
		// It listens long before it responds. It rejects a request without a signature as a bad request.
		ready: httpReady("/", http.StatusBadRequest),
	}, &Server{User: "key", Password: "geheim"})
}

// linkLibraries links the native libraries among files into a folder, where they can be found.
func linkLibraries(files []string, dir string) error {
	for _, file := range files {
		if filepath.Ext(file) != ".so" {
			continue
		}
		if err := os.Symlink(file, filepath.Join(dir, filepath.Base(file))); err != nil {
			return fmt.Errorf("link a library: %w", err)
		}
	}
	return nil
}
