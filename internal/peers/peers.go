// Package peers builds other load generators, to measure brunt beside them: from a module of their
// own (module/go.mod), so that their versions are pinned and none of it is part of brunt.
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
)

// Build builds a peer into .cache/bin of the working directory, which must be in brunt's module, and
// says where it is. It needs the module proxy the first time.
func Build(ctx context.Context, peer string) (path string, err error) {
	source, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "brunt/internal/peers").Output()
	if err != nil {
		return "", fmt.Errorf("find where the peers' versions stand: %w", err)
	}
	name := filepath.Base(strings.TrimSuffix(peer, "/v12"))
	if path, err = filepath.Abs(filepath.Join(".cache", "bin", name)); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(strings.TrimSpace(string(source)), "module"), "-trimpath", "-o", path, peer)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", name, err, out)
	}
	return path, nil
}
