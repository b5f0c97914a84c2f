package testserver

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// jmeterFetch fetches JMeter 5.6.3 from Maven. CI doesn't need it: the results of JMeter that tests compare with are
// files.
const jmeterFetch = "mvn -q -B -f test/testserver/maven/jmeter.xml " +
	"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath -Dmdep.outputFile=/dev/null"

// JMeter returns the arguments of java that run JMeter 5.6.3 from Maven's artifacts, before JMeter's own. If they
// aren't there, the test fails with the command that fetches them. home is an empty folder.
func JMeter(t TB, home string) []string {
	t.Helper()
	files, err := artifacts("jmeter")
	if err != nil {
		t.Fatalf("JMeter isn't there (%v); run: %s", err, jmeterFetch)
	}
	for _, dir := range []string{"bin", "lib/ext"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatalf("JMeter: %v", err)
		}
	}
	jar := filepath.Join(home, "bin", "ApacheJMeter.jar")
	for _, file := range files {
		name := filepath.Base(file)
		to := filepath.Join(home, "lib", name)
		place := os.Symlink
		switch {
		case strings.HasPrefix(name, "ApacheJMeter-"): // it finds its home by its own path
			to, place = jar, copyFile
		case strings.HasPrefix(name, "ApacheJMeter_"):
			to = filepath.Join(home, "lib", "ext", name)
		}
		if err := place(file, to); err != nil {
			t.Fatalf("JMeter: %v", err)
		}
		if strings.HasPrefix(name, "ApacheJMeter_config") {
			if err := settings(file, home); err != nil {
				t.Fatalf("JMeter: %v", err)
			}
		}
	}
	return []string{"-Xmx512m", "-XX:+UseSerialGC", "-Djava.awt.headless=true", "-Djmeter.home=" + home, "-jar", jar}
}

// settings unpacks JMeter's files of properties.
func settings(jar, home string) error {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if filepath.Dir(f.Name) != "bin" || f.FileInfo().IsDir() {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(in)
		in.Close()
		if err == nil {
			err = os.WriteFile(filepath.Join(home, "bin", filepath.Base(f.Name)), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}
