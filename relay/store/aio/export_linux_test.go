package aio

// FailureOf is the error of a Sync that the kernel has answered with result.
func FailureOf(result int64) error { return event{result: result}.failure() }
