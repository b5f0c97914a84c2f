package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestGoroutinesAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		"func f() { go g() }":               true,
		"func f() { all.Go(g) }":            true,
		"func f() { time.AfterFunc(1, g) }": true,
		"func f() { g.Goes(); Go() }":       false,
	} {
		t.Run(text, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte("package p\n\n"+text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if got, err := concurrent(dir, []string{"x.go"}); err != nil || got != want {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		})
	}
}

func TestWhatRunsLoadsIsNotListed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.go": "package p\n", "go.go": "package p\n\nfunc f() { go f() }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	code, test := []string{"a.go"}, []string{"a.go"}
	got, err := single([]*listed{
		{ImportPath: "brunt/alone", Dir: dir, GoFiles: code, TestGoFiles: test},
		{ImportPath: "brunt/untested", Dir: dir, GoFiles: code},
		{ImportPath: "brunt/starts", Dir: dir, GoFiles: []string{"go.go"}, TestGoFiles: test},
		{ImportPath: "brunt/test-starts", Dir: dir, GoFiles: code, XTestGoFiles: []string{"go.go"}},
		{ImportPath: "brunt/runs", Dir: dir, GoFiles: code, TestGoFiles: test, TestImports: []string{"brunt/between"}},
		{ImportPath: "brunt/between", Dir: dir, GoFiles: code, Imports: []string{"brunt/internal/engine/pool"}},
		{ImportPath: "brunt/indirect", Dir: dir, GoFiles: code, TestGoFiles: test, Imports: []string{"brunt/starts", "os"}},
	})
	if want := []string{"brunt/alone", "brunt/indirect"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
