// Package pause names the places in the relay where another operation can get
// in between, so that a test can stop there and let it. A release build (-tags
// nopause) compiles every point to nothing.
//
// A point never lies inside a critical section: a goroutine that waits for a
// mutex is not durably blocked, and synctest.Wait would hang.
package pause
