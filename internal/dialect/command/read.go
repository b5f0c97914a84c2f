package command

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// mostRead is the size of the largest file that ReadFile reads, in MiB.
const mostRead = 64

// ReadFile reads a file that the user names as a test, or as part of one. It refuses files of more than 64 MiB, and
// thus also devices and pipes without an end. Its errors name the file.
func ReadFile(path string) ([]byte, error) { return ReadUpTo(path, mostRead) }

// ReadUpTo is ReadFile for files of at most so many MiB.
func ReadUpTo(path string, mib int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f, path, mib)
}

// ReadInput is ReadFile for standard input.
func ReadInput(in io.Reader) ([]byte, error) { return read(in, "standard input", mostRead) }

func read(in io.Reader, name string, mib int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, mib<<20+1))
	if err == nil && int64(len(data)) > mib<<20 {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("there are more than %d MiB", mib)}
	}
	return data, err
}
