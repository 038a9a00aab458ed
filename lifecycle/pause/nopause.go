//go:build nopause

package pause

// Enabled reports whether this build can park at pause points.
const Enabled = false

// Hook does nothing in this build.
type Hook struct{}

// NewHook returns a hook that is never called.
func NewHook(func(Point)) *Hook { return nil }

// At does nothing.
func (h *Hook) At(Point) {}
