package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"brunt/internal/loadtest"
	"brunt/internal/record"
	"brunt/internal/s3"
	"brunt/internal/verdict"
	"brunt/internal/verdict/exitcode"
)

func newMerge(s *streams) *cobra.Command {
	f := &outputFlags{}
	var dir string
	cmd := command("merge", func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && strings.HasPrefix(args[0], s3.Scheme) { // the prefix may contain several bundles
			return nil
		}
		return cobra.MinimumNArgs(2)(cmd, args)
	}, func(_ *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		if dir == "" {
			return exitcode.Usage(errors.New("name the folder of the merged run with --bundle"))
		}
		args, remove, err := fetched(args)
		defer remove()
		if err != nil {
			return err
		}
		if len(args) < 2 {
			return exitcode.Usage(fmt.Errorf("a load has at least 2 parts; found %d", len(args)))
		}
		var parts []*record.Recorded
		for _, path := range args {
			part, err := record.Open(record.OS{}, path)
			if err != nil {
				return exitcode.Usage(err)
			}
			if part.Live() {
				return exitcode.Usage(fmt.Errorf("%s is still under way; merge it when it has ended", path))
			}
			part.Run.DropDistributions()
			parts = append(parts, part)
		}
		run, err := loadtest.Join(dir, parts, func(*record.Run) {})
		if err != nil {
			return err
		}
		if err := f.report().Print(s.out, run, dir); err != nil {
			return err
		}
		return exitcode.With(verdict.ExitCode(run), nil)
	})
	f.bind(cmd, "text")
	cmd.Flags().StringVar(&dir, "bundle", "", "folder of the merged run: new or empty")
	return cmd
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
		more, err := loadtest.Fetch(ctx, b, dir)
		if err != nil {
			return nil, remove, err
		}
		folders = append(folders, more...)
	}
	return folders, remove, nil
}
