package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Build compiles the program under test into dir and returns its path. It blocks for as
// long as the compiler takes.
func Build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "fencepost")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "fencepost/cmd/fencepost").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
}
