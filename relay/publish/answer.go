package publish

import (
	"errors"
	"net/http"
	"time"

	"fencepost/lifecycle/fence"
	"fencepost/relay/web/reply"
)

// claimed answers a change of a fence.
type claimed struct {
	Stream string `json:"stream"`
	Epoch  uint64 `json:"epoch"`
	Active bool   `json:"active"`
	Lease  int64  `json:"lease_seconds"`
}

// admitted answers a frame.
type admitted struct {
	Stream    string `json:"stream"`
	Duplicate bool   `json:"duplicate"`
	Position  uint64 `json:"position,omitempty"`
	Epoch     uint64 `json:"epoch,omitempty"`
	Number    uint64 `json:"number,omitempty"`
	Message   string `json:"message,omitempty"`
}

// shown answers a look at a fence.
type shown struct {
	Stream  string `json:"stream"`
	Epoch   uint64 `json:"epoch"`
	Active  bool   `json:"active"`
	Expired bool   `json:"expired"`
	Lease   int64  `json:"lease_seconds"`
	Left    int64  `json:"lease_left_ms"`
	Next    uint64 `json:"next_number"`
	Pending int    `json:"pending"`
}

func show(name string, v fence.View) shown {
	left := max(v.Until.Sub(v.Now), 0)
	return shown{
		Stream: name, Epoch: v.Epoch, Active: v.Active, Expired: v.Expired(v.Now), Lease: int64(v.Lease / time.Second),
		Left: left.Milliseconds(), Next: v.Next, Pending: v.Pending,
	}
}

// statuses are those of the refusals by a fence.
var statuses = map[fence.Code]int{
	fence.Aborted:            http.StatusConflict,
	fence.FailedPrecondition: http.StatusPreconditionFailed,
	fence.ResourceExhausted:  http.StatusTooManyRequests,
}

// fail answers err, which an engine returned.
func (h *handler) fail(w http.ResponseWriter, s fence.Stream, err error) {
	var refused *fence.Error
	if errors.As(err, &refused) {
		reply.Fenced(w, statuses[refused.Code], string(refused.Code), refused.Text, refused.Epoch)
		return
	}
	h.Logger.Error("publisher's call failed", "stream", s.Name, "err", err)
	reply.Refuse(w, http.StatusInternalServerError, "the call failed; whether it took effect is not known")
}
