package wire

// IsHex lets a test try every byte at every place.
var IsHex = isHex
