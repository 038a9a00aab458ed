package publish

// DecodeChange and DecodeFrame read bodies.
var (
	DecodeChange = decodeChange
	DecodeFrame  = decodeFrame
)
