// Package peers builds other load generators that brunt is compared with. They come from a separate module
// (module/go.mod), so that their versions are pinned and none of their code is part of brunt.
package peers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The peers that can be built.
const (
	Hey        = "github.com/rakyll/hey"
	Vegeta     = "github.com/tsenart/vegeta/v12"
	SlowCooker = "github.com/buoyantio/slow_cooker"
	Ghz        = "github.com/bojand/ghz/cmd/ghz"
)

// Build builds a peer into .cache/bin of the working directory, which must be in brunt's tree, and returns its path.
// The first build of a peer needs the Go module proxy.
func Build(ctx context.Context, peer string) (path string, err error) {
	root, err := Root()
	if err != nil {
		return "", fmt.Errorf("find the file with the peers' versions: %w", err)
	}
	name := filepath.Base(strings.TrimSuffix(peer, "/v12"))
	if path, err = filepath.Abs(filepath.Join(".cache", "bin", name)); err != nil {
		return "", err
	}
	return path, build(ctx, filepath.Join(root, "tools", "peers", "module"), path, peer)
}

// BuildBrunt builds brunt itself.
func BuildBrunt(ctx context.Context, path string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	return build(ctx, root, path, "./cmd/brunt")
}

// BuildOwn builds another program of brunt's module.
func BuildOwn(ctx context.Context, path, what string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	return build(ctx, root, path, what)
}

// BuildK6 builds the version of k6 that brunt requires.
func BuildK6(ctx context.Context, path string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	return build(ctx, root, path, "go.k6.io/k6/v2")
}

// BuildTool builds one of the programs in the folder tools. name is its path in this folder.
func BuildTool(ctx context.Context, path, name string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	return build(ctx, filepath.Join(root, "tools"), path, "./"+name)
}

// Root returns brunt's folder: the working directory, or the nearest folder above it that contains tools/go.mod.
func Root() (string, error) {
	working, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := working; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "tools", "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s isn't in brunt's tree: run this in a clone of its repository", working)
		}
	}
}

// build builds the package what of the module in dir into the file path.
func build(ctx context.Context, dir, path, what string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-C", dir, "-trimpath", "-o", path, what)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", what, err, out)
	}
	return nil
}
