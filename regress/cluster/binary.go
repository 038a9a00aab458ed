package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build compiles the program under test into dir, as make build does, and returns its
// path. It blocks for as long as the compiler takes.
func Build(ctx context.Context, dir string) (string, error) {
	tags := "nopause"
	if hasC(ctx) {
		tags += ",libsecp256k1"
	}
	path := filepath.Join(dir, "fencepost")
	out, err := exec.CommandContext(ctx, "go", "build", "-tags", tags, "-o", path, "fencepost/cmd/fencepost").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
}

// hasC reports whether libsecp256k1 can be compiled.
func hasC(ctx context.Context) bool {
	out, err := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED").Output()
	if err != nil || strings.TrimSpace(string(out)) != "1" {
		return false
	}
	for _, compiler := range []string{os.Getenv("CC"), "gcc", "cc"} {
		if _, err := exec.LookPath(compiler); err == nil {
			return true
		}
	}
	return false
}
