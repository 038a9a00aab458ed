// Package arch keeps the house in order: which package may import which, what
// stands at the top level, how long files and functions are, and what is not
// written at all (a bare go statement, time.Sleep, init, context.Background).
// table.go holds the table of imports and the exceptions; its tests read every
// Go file of the module and hold it against them.
//
// Everything here works on parsed source, whatever its build tags, and runs no
// other program. Each rule has a test with a snippet that breaks it.
package arch
