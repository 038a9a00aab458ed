// Package trace checks what one connection sent and got against the promises
// that a client can see (G1, G2, G3, G5, G6, G8): a frame outside its
// generation, an event twice, out of order or missing, an answer too many.
//
// A Trace is told, in order, which messages the relay read, which frames it
// wrote and, by a caller who knows, which events were committed. It works with
// subscription ids only, as a client does, and so serves any relay.
//
// Of a changes feed it checks that positions rise, that what stands at a position is
// what was committed there, and that nothing below the last position that was told is
// missing, whatever became of the feed afterwards (R1).
//
// A REQ or CLOSE takes effect at one instant between Reading and Read. Frames
// that come in between may belong to the generation before or after, and what
// cannot be told apart counts for either. Sent is both at once: whatever comes
// later belongs to the newer one. A frame counts when the relay takes it out of
// its queue, so a caller who sees frames later must not call Read before it has
// passed on what was on its way.
//
// The package imports no test framework, so that commands can use it. A Trace
// may be used from any goroutine; it blocks nobody and starts nothing.
package trace
