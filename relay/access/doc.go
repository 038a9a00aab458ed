// Package access is the one place that says who may write and who may read.
//
// It decides from the keys that authenticated on the connection (NIP-42) and
// from the policy of the configuration. It blocks nobody and holds no lock.
package access
