package main

import (
	"fmt"
	"runtime"
)

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(p *process) error {
	_, err := fmt.Fprintln(p.stdout, versionLine())
	return err
}

// versionLine is the version and what it was built with.
func versionLine() string {
	return fmt.Sprintf("fencepost %s (%s %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
