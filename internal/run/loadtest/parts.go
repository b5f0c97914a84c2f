package loadtest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/internal/run/s3"
)

// OpenParts opens the bundles of a load's parts, without the distributions of their records. Bundles in object stores
// are first copied to a temporary folder; see Fetch. remove deletes that folder.
func OpenParts(bundles []string) (parts []*record.Recorded, remove func(), err error) {
	folders, remove, err := fetched(bundles)
	if err != nil {
		return nil, remove, err
	}
	if len(folders) < 2 {
		return nil, remove, exitcode.Usage(fmt.Errorf("a load has at least 2 parts; found %d", len(folders)))
	}
	for _, path := range folders {
		part, err := record.Open(record.OS{}, path)
		if err != nil {
			return nil, remove, exitcode.Usage(err)
		}
		if part.Live() {
			return nil, remove, exitcode.Usage(fmt.Errorf("%s is still under way; merge it when it has ended", path))
		}
		part.Run.DropDistributions()
		parts = append(parts, part)
	}
	return parts, remove, nil
}

// fetched copies the bundles that are in an object store to a temporary folder, and returns the folders of all bundles.
// remove deletes the temporary folder.
func fetched(bundles []string) (folders []string, remove func(), err error) {
	remove = func() {}
	if !slices.ContainsFunc(bundles, func(b string) bool { return strings.HasPrefix(b, s3.Scheme) }) {
		return bundles, remove, nil
	}
	dir, err := os.MkdirTemp("", "brunt-merge-")
	if err != nil {
		return nil, remove, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for _, b := range bundles {
		if !strings.HasPrefix(b, s3.Scheme) {
			folders = append(folders, b)
			continue
		}
		more, err := Fetch(ctx, b, dir)
		if err != nil {
			return nil, remove, err
		}
		folders = append(folders, more...)
	}
	return folders, remove, nil
}
