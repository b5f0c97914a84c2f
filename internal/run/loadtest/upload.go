package loadtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/run/s3"
)

// upload is a destination for bundles in an object store.
type upload struct {
	place s3.Place
	store *s3.Store
}

// kept is a bundle, with the contents of files that a full disk has not taken.
type kept struct {
	dir       string // "" for none
	unwritten map[string][]byte
}

// openUpload checks the address of an object store and finds its credentials. It returns nil for "". It sends nothing.
func openUpload(address string) (*upload, error) {
	if address == "" {
		return nil, nil
	}
	place, err := s3.Parse(address)
	if err != nil {
		return nil, exitcode.Usage(fmt.Errorf("--upload %w", err))
	}
	o, err := s3.FromEnvironment()
	if err != nil {
		return nil, exitcode.Usage(fmt.Errorf("--upload %s: %w", place, err))
	}
	return &upload{place, s3.New(o)}, nil
}

// bundle uploads a bundle under a name, and prints its address. If that fails, the local bundle is kept, and the error
// says how to try again. hard ends the attempt. It does nothing if u is nil or there is no bundle.
func (u *upload) bundle(hard <-chan struct{}, b kept, name string, stderr io.Writer) error {
	dir := b.dir
	if u == nil || dir == "" {
		return nil
	}
	ctx, cancel := protocol.Until(context.Background(), hard)
	defer cancel()
	to := u.place.In(name)
	if err := u.store.PutFolder(ctx, to, dir, record.RunFile, b.unwritten); err != nil {
		return fmt.Errorf("the bundle is not uploaded: %w; it stays in %s; to try again: aws s3 cp --recursive %s %s", err, dir,
			dir, to)
	}
	fmt.Fprintf(stderr, "brunt: the bundle is at %s\n", to)
	return nil
}

// nameFor returns the name of a run's bundle in an object store. It contains the run's ID, because bundles of other
// machines can be created in the same second.
func nameFor(dir string, run *record.Run) string { return filepath.Base(dir) + "-" + run.ID }

// homePatience is how long a worker that can upload its bundle tries to reach its coordinator.
const homePatience = 30 * time.Second

// Fetch downloads bundles from an object store into folders below dir, and returns these folders. An address that ends
// with * stands for all bundles below it.
func Fetch(ctx context.Context, address, dir string) (folders []string, err error) {
	all := strings.HasSuffix(address, "/*")
	place, err := s3.Parse(strings.TrimSuffix(address, "/*"))
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	o, err := s3.FromEnvironment()
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	store := s3.New(o)
	found, err := store.Folders(ctx, place, record.RunFile)
	if err != nil {
		return nil, exitcode.With(exitcode.Unreachable, err)
	}
	for _, name := range found {
		// Skip the parts of a merged bundle: the merged bundle contains them.
		if all == (name == "") || strings.Contains("/"+name, "/"+record.WorkersFolder+"/") {
			continue
		}
		if !all && strings.Contains(name, "/") {
			continue
		}
		to, err := os.MkdirTemp(dir, "part-")
		if err != nil {
			return nil, err
		}
		if err := store.GetFolder(ctx, place.In(name), to); err != nil {
			return nil, exitcode.With(exitcode.Unreachable, err)
		}
		folders = append(folders, to)
	}
	if len(folders) == 0 {
		return nil, exitcode.Usage(errors.New(address + ": there is no bundle; bundles have a " + record.RunFile))
	}
	return folders, nil
}
