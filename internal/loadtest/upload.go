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

	"brunt/internal/record"
	"brunt/internal/s3"
	"brunt/internal/verdict/exitcode"
)

// upload is a place in an object store that bundles go to.
type upload struct {
	place s3.Place
	store *s3.Store
}

// openUpload checks an address of an object store and finds the credentials for it; nil for "". It sends nothing.
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

// bundle stores a bundle under a name, and says where it is. If that fails, it stays where it was, and the error says
// how to try again. hard ends the attempt. Without a place, or a bundle, there is nothing to do.
func (u *upload) bundle(hard <-chan struct{}, dir, name string, stderr io.Writer) error {
	if u == nil || dir == "" {
		return nil
	}
	ctx, cancel := untilHard(hard)
	defer cancel()
	to := u.place.In(name)
	if err := u.store.PutFolder(ctx, to, dir, record.RunFile); err != nil {
		return fmt.Errorf("the bundle is not uploaded: %w; it stays in %s; to try again: aws s3 cp --recursive %s %s", err, dir,
			dir, to)
	}
	fmt.Fprintf(stderr, "brunt: the bundle is at %s\n", to)
	return nil
}

// nameFor is that of a run's bundle in an object store: bundles of other machines, made in the same second, have
// others.
func nameFor(dir string, run *record.Run) string { return filepath.Base(dir) + "-" + run.ID }

// untilHard is a context that ends with a second interrupt.
func untilHard(hard <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-hard:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// homePatience is how long a worker that has another place for its bundle tries to reach its coordinator.
const homePatience = 30 * time.Second

// Fetch copies bundles from an object store into folders below dir, and returns these. An address that ends with *
// means all bundles below it.
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
		// Parts that were merged are in the bundle of the whole.
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
