//go:build libsecp256k1

package bench

const signatures = "libsecp256k1"
