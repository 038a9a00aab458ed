//go:build !nopause

package pause

// Enabled reports whether this build can park at pause points.
const Enabled = true

// Hook is called at every pause point. A nil *Hook does nothing.
type Hook struct {
	park func(Point)
}

// NewHook returns a hook that calls park, in the goroutine that reached the
// point and without any lock of the relay held. park may block.
func NewHook(park func(Point)) *Hook { return &Hook{park: park} }

// At parks the caller if somebody waits for this point.
func (h *Hook) At(p Point) {
	if h != nil {
		h.park(p)
	}
}
