package wire

import "unsafe"

// Size estimates how many bytes of memory the event's wire form and texts keep, not
// the headers of lists and strings. Most texts are parts of the wire form and take none
// of their own. One that had escapes does, and so do all when the event was not decoded:
// together they are not longer than the wire form.
func (e *Event) Size() int {
	n := maxWrapper + len(e.raw)
	if e.within(e.ID) && e.within(e.Content) && e.tagsWithin() {
		return n
	}
	return n + len(e.raw)
}

func (e *Event) tagsWithin() bool {
	for _, tag := range e.Tags {
		for _, s := range tag {
			if !e.within(s) {
				return false
			}
		}
	}
	return true
}

// within reports whether s is a part of the wire form.
func (e *Event) within(s string) bool {
	at, raw := uintptr(unsafe.Pointer(unsafe.StringData(s))), uintptr(unsafe.Pointer(unsafe.SliceData(e.raw)))
	return len(s) == 0 || at >= raw && at < raw+uintptr(len(e.raw))
}
