package main

import (
	"fmt"
	"runtime"
)

type versionCommand struct{}

// Run prints the version and what it was built with.
func (versionCommand) Run(p *process) error {
	_, err := fmt.Fprintf(p.stdout, "fencepost %s (%s %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
